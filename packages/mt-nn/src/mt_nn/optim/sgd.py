"""Stochastic gradient descent."""

from typing import Any

import mt_core as mt
from mt_core.api import _functions as ops

from .optimizer import ParamsT
from .per_parameter import (
    Group,
    PerParameterOptimizer,
    State,
    add_scaled_,
    check_fused,
    check_learning_rate,
    check_not_negative,
    learning_rate,
    number,
    with_weight_decay,
)

__all__ = ["SGD"]


class SGD(PerParameterOptimizer):
    """Stochastic gradient descent, with momentum and Nesterov's variant of it.

    Per element: ``buffer = momentum * buffer + (1 - dampening) * grad``, the first buffer being the gradient itself;
    then ``param -= lr * buffer``, or ``lr * (grad + momentum * buffer)`` for Nesterov. Sutskever et al., "On the
    importance of initialization and momentum in deep learning" (2013), has the learning rate inside the buffer;
    PyTorch does not.

    Parameters
    ----------
    params
        Tensors, groups, or named tensors.
    lr, momentum, dampening, weight_decay, nesterov, maximize
        Options of a group. ``lr`` and ``weight_decay`` may be tensors of one element.
    """

    # Every operation here is linear, so a complex parameter needs no detour over pairs of reals.
    _complex_as_pairs = False
    _options_added_later = ("differentiable", "foreach", "fused", "maximize", "nesterov")

    def __init__(
        self,
        params: ParamsT,
        lr: float | mt.Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | mt.Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_learning_rate(lr)
        check_not_negative("momentum value", momentum)
        check_not_negative("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults: dict[str, Any] = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)
        if fused:
            self._step_supports_amp_scaling = True

    def _gradient(self, parameter: mt.Tensor, group: Group) -> mt.Tensor:
        gradient = parameter.grad
        if gradient.is_sparse and group["fused"]:
            raise RuntimeError("`_fused_sgd` does not support sparse gradients")
        return gradient

    def _state(self, parameter: mt.Tensor, group: Group) -> State:
        # An entry without momentum stays out of the checkpoint.
        return self.state[parameter] if group["momentum"] != 0 else {}

    def _update(self, parameter: Any, gradient: Any, state: State, group: Group) -> None:
        gradient = with_weight_decay(gradient, parameter, group["weight_decay"])
        if group["momentum"] != 0:
            gradient = _with_momentum(gradient, state, group)
        add_scaled_(parameter, gradient, -learning_rate(group))

    def _fused_operator(
        self, parameters: list[Any], gradients: list[Any], states: list[State], group: Group, **scaling: Any
    ) -> None:
        has_momentum = group["momentum"] != 0
        options = {k: group[k] for k in ("lr", "momentum", "dampening", "nesterov", "maximize")}
        for is_first in (True, False):
            new = [has_momentum and state.get("momentum_buffer") is None for state in states]
            at = [i for i, one in enumerate(new) if one is is_first]
            if not at:
                continue
            if is_first:
                for i in at:
                    states[i]["momentum_buffer"] = mt.empty_like(gradients[i])
            buffers = [states[i]["momentum_buffer"] for i in at] if has_momentum else []
            ops._fused_sgd_(
                [parameters[i] for i in at], [gradients[i] for i in at], buffers, is_first_step=is_first,
                weight_decay=number(group["weight_decay"]), **options, **scaling,
            )  # fmt: skip
            if is_first:
                gradients, parameters, states = (
                    [one for i, one in enumerate(column) if not new[i]] for column in (gradients, parameters, states)
                )


def _with_momentum(gradient: Any, state: State, group: Group) -> Any:
    momentum = group["momentum"]
    buffer = state.get("momentum_buffer")
    if buffer is None:
        buffer = state["momentum_buffer"] = gradient.detach().clone()
    else:
        buffer.mul_(momentum).add_(gradient, alpha=1 - group["dampening"])
    return gradient.add(buffer, alpha=momentum) if group["nesterov"] else buffer
