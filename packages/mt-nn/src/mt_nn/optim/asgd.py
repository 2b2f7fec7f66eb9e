"""Averaged stochastic gradient descent."""

from typing import Any

import mt_core as mt

from .optimizer import ParamsT
from .per_parameter import (
    Group,
    PerParameterOptimizer,
    State,
    advance,
    check_learning_rate,
    check_not_negative,
    learning_rate,
    new_step,
    number,
    scalar_dtype,
    with_weight_decay,
)

__all__ = ["ASGD"]


class ASGD(PerParameterOptimizer):
    """Averaged stochastic gradient descent: the state ``ax`` is the mean of the parameters since step ``t0``.

    Polyak and Juditsky, "Acceleration of Stochastic Approximation by Averaging" (1992).

    Parameters
    ----------
    params
        Tensors, groups, or named tensors.
    lr, lambd, alpha, t0, weight_decay, maximize
        Options of a group: the rate falls as ``lr / (1 + lambd * lr * step)**alpha``.
    """

    _capturable_tensors = "params, mus, etas, and state_steps"

    _takes_lists = False

    def __init__(
        self,
        params: ParamsT,
        lr: float | mt.Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        check_not_negative("weight_decay value", weight_decay)
        defaults: dict[str, Any] = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _new_state(self, parameter: mt.Tensor, group: Group) -> State:
        lr = number(group["lr"])
        return {
            "step": new_step(parameter, {**group, "capturable": True}),
            "eta": mt.full((), lr, dtype=scalar_dtype(), device=parameter.device),
            "mu": mt.ones((), dtype=scalar_dtype(), device=parameter.device),
            "ax": mt.zeros_like(parameter, memory_format=mt.preserve_format),
        }

    def _update(self, parameter: mt.Tensor, gradient: mt.Tensor, state: State, group: Group) -> None:
        gradient = with_weight_decay(gradient, parameter, group["weight_decay"])
        if group["capturable"]:
            _update_captured(parameter, gradient, state, group)
            return
        step, eta, mu = advance(state, group), state["eta"].item(), state["mu"].item()
        parameter.mul_(1 - group["lambd"] * eta)
        parameter.add_(gradient, alpha=-eta)
        mean = state["ax"]
        if mu == 1:
            mean.copy_(parameter)
        else:
            mean.add_(parameter.sub(mean).mul_(mu))
        lr = number(learning_rate(group))
        state["eta"].fill_(lr / (1 + group["lambd"] * lr * step) ** group["alpha"])
        state["mu"].fill_(1 / max(1, step - group["t0"]))


def _update_captured(parameter: mt.Tensor, gradient: mt.Tensor, state: State, group: Group) -> None:
    """`ASGD._update` with the counters left on their device."""
    step, eta, mean = advance(state, group), state["eta"], state["ax"]
    parameter.mul_(1 - group["lambd"] * eta)
    parameter.sub_(gradient * eta)
    mean.add_(parameter.sub(mean).mul_(state["mu"]))
    lr = learning_rate(group)
    eta.copy_(lr / (1 + group["lambd"] * lr * step) ** group["alpha"])
    state["mu"].copy_(1 / (step - group["t0"]).clamp(min=1))
