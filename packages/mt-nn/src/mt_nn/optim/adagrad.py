"""Adagrad."""

from typing import Any

import mt_core as mt
from mt_core.api import _functions as ops

from .optimizer import ParamsT
from .per_parameter import (
    Group,
    PerParameterOptimizer,
    State,
    add_quotient_,
    advance,
    check_fused,
    check_learning_rate,
    check_not_negative,
    learning_rate,
    new_step,
    with_weight_decay,
)

__all__ = ["Adagrad"]


class Adagrad(PerParameterOptimizer):
    """Adagrad: each element's rate falls with the square root of the sum of its squared gradients.

    Duchi et al., "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization" (2011). The state
    exists from the start, so that :meth:`share_memory` can hand it to other processes before training.

    Parameters
    ----------
    params
        Tensors, groups, or named tensors.
    lr, lr_decay, weight_decay, initial_accumulator_value, eps, maximize
        Options of a group.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | mt.Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_learning_rate(lr)
        check_not_negative("lr_decay value", lr_decay)
        check_not_negative("weight_decay value", weight_decay)
        check_not_negative("initial_accumulator_value value", initial_accumulator_value)
        check_not_negative("epsilon value", eps)
        defaults: dict[str, Any] = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)
        if fused:
            self._step_supports_amp_scaling = True
        for group in self.param_groups:
            for parameter in group["params"]:
                self.state[parameter] = self._new_state(parameter, group)

    def share_memory(self) -> None:
        """Move the state to shared memory."""
        for state in self.state.values():
            state["step"].share_memory_()
            state["sum"].share_memory_()

    def _new_state(self, parameter: mt.Tensor, group: Group) -> State:
        start = group["initial_accumulator_value"]
        if parameter.is_complex():
            start = complex(start, start)
        return {
            "step": new_step(parameter, group),
            "sum": mt.full_like(parameter, start, memory_format=mt.preserve_format),
        }

    def _update(self, parameter: Any, gradient: Any, state: State, group: Group) -> None:
        step = advance(state, group)
        if gradient.is_sparse:
            self._update_rows(parameter, gradient, state, group, step)
            return
        gradient = with_weight_decay(gradient, parameter, group["weight_decay"])
        rate = learning_rate(group) / (1 + (step - 1) * group["lr_decay"])
        state["sum"].addcmul_(gradient, gradient, value=1)
        add_quotient_(parameter, gradient, state["sum"].sqrt() + group["eps"], -rate)

    def _gradient(self, parameter: mt.Tensor, group: Group) -> mt.Tensor:
        gradient = parameter.grad
        if gradient.is_sparse and group["fused"]:
            raise RuntimeError("`fused` does not support sparse grad or complex param")
        return gradient

    def _fused_operator(
        self, parameters: list[Any], gradients: list[Any], states: list[State], group: Group, **scaling: Any
    ) -> None:
        sums, steps = ([state[name] for state in states] for name in ("sum", "step"))
        options = {k: group[k] for k in ("lr", "lr_decay", "weight_decay", "eps", "maximize")}
        ops._fused_adagrad_(parameters, gradients, sums, steps, **options, **scaling)

    def _update_rows(self, parameter: mt.Tensor, gradient: Any, state: State, group: Group, step: Any) -> None:
        """Of a sparse gradient: only what it names is touched, in parameter and state.

        Raises
        ------
        RuntimeError
            With weight decay, which would touch everything.
        """
        if group["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        rate = learning_rate(group) / (1 + (step - 1) * group["lr_decay"])
        gradient = gradient.coalesce()  # squares are not linear: each entry must come once
        where, values = tuple(gradient.indices()), gradient.values()
        sums = state["sum"]
        sums.index_put_(where, values.square(), accumulate=True)
        parameter.index_put_(where, values / sums[where].sqrt_().add_(group["eps"]) * -rate, accumulate=True)
