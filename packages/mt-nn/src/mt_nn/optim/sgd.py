"""Stochastic gradient descent."""

from typing import Any

import mt_core as mt

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

    def _gradient(self, parameter: mt.Tensor, group: Group) -> mt.Tensor:
        gradient = parameter.grad
        if gradient.is_sparse and group["fused"]:
            raise RuntimeError("`_fused_sgd` does not support sparse gradients")
        return gradient

    def _state(self, parameter: mt.Tensor, group: Group) -> State:
        # An entry without momentum stays out of the checkpoint.
        return self.state[parameter] if group["momentum"] != 0 else {}

    def _update(self, parameter: mt.Tensor, gradient: mt.Tensor, state: State, group: Group) -> None:
        gradient = with_weight_decay(gradient, parameter, group["weight_decay"])
        if group["momentum"] != 0:
            gradient = _with_momentum(gradient, state, group)
        add_scaled_(parameter, gradient, -learning_rate(group))


def _with_momentum(gradient: mt.Tensor, state: State, group: Group) -> mt.Tensor:
    momentum = group["momentum"]
    buffer = state.get("momentum_buffer")
    if buffer is None:
        buffer = state["momentum_buffer"] = gradient.detach().clone()
    else:
        buffer.mul_(momentum).add_(gradient, alpha=1 - group["dampening"])
    return gradient.add(buffer, alpha=momentum) if group["nesterov"] else buffer
