"""RMSprop."""

from typing import Any

import mt_core as mt

from .optimizer import ParamsT
from .per_parameter import (
    Group,
    PerParameterOptimizer,
    State,
    add_quotient_,
    add_scaled_,
    advance,
    average_square_,
    check_learning_rate,
    check_not_negative,
    learning_rate,
    new_step,
    with_weight_decay,
)

__all__ = ["RMSprop"]


class RMSprop(PerParameterOptimizer):
    """RMSprop: gradients divided by their running root mean square, or standard deviation where ``centered``.

    Hinton's lectures (2012); centered as in Graves, "Generating Sequences With Recurrent Neural Networks" (2013).

    Parameters
    ----------
    params
        Tensors, groups, or named tensors.
    lr, alpha, eps, weight_decay, momentum, centered, maximize
        Options of a group; ``alpha`` is the decay of the running averages.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | mt.Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        check_not_negative("epsilon value", eps)
        check_not_negative("momentum value", momentum)
        check_not_negative("weight_decay value", weight_decay)
        check_not_negative("alpha value", alpha)
        defaults: dict[str, Any] = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, parameter: mt.Tensor, group: Group) -> State:
        names = ["square_avg"]
        names += ["momentum_buffer"] if group["momentum"] > 0 else []
        names += ["grad_avg"] if group["centered"] else []
        averages = {name: mt.zeros_like(parameter, memory_format=mt.preserve_format) for name in names}
        return {"step": new_step(parameter, group), **averages}

    def _update(self, parameter: Any, gradient: Any, state: State, group: Group) -> None:
        advance(state, group)
        gradient = with_weight_decay(gradient, parameter, group["weight_decay"])
        average_square_(state["square_avg"], gradient, group["alpha"])
        denominator = _spread(gradient, state, group) + group["eps"]
        rate = -learning_rate(group)
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"]
            buffer.mul_(group["momentum"]).addcdiv_(gradient, denominator)
            add_scaled_(parameter, buffer, rate)
        else:
            add_quotient_(parameter, gradient, denominator, rate)


def _spread(gradient: Any, state: State, group: Group) -> Any:
    """The running root mean square of the gradient, about its running mean where centered."""
    if not group["centered"]:
        return state["square_avg"].sqrt()
    mean = state["grad_avg"]
    mean.lerp_(gradient, 1 - group["alpha"])
    if group["differentiable"]:
        mean = mean.clone()  # the graph keeps it while the next step changes the state
    return state["square_avg"].addcmul(mean, mean, value=-1).sqrt_()
