"""RAdam."""

import math
from typing import Any

import mt_core as mt

from .optimizer import ParamsT
from .per_parameter import (
    Group,
    PerParameterOptimizer,
    State,
    add_scaled_,
    advance,
    average_square_,
    check_betas,
    check_learning_rate,
    check_not_negative,
    decay_weights_,
    learning_rate,
    new_step,
    with_weight_decay,
)

__all__ = ["RAdam"]


class RAdam(PerParameterOptimizer):
    """RAdam: Adam that starts as plain momentum while its average of squares rests on too few steps.

    Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond" (2019).

    Parameters
    ----------
    params
        Tensors, groups, or named tensors.
    lr, betas, eps, weight_decay, decoupled_weight_decay, maximize
        Options of a group.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | mt.Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        check_not_negative("epsilon value", eps)
        check_betas(betas)
        check_not_negative("weight_decay value", weight_decay)
        defaults: dict[str, Any] = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, parameter: mt.Tensor, group: Group) -> State:
        return {
            "step": new_step(parameter, group),
            "exp_avg": mt.zeros_like(parameter, memory_format=mt.preserve_format),
            "exp_avg_sq": mt.zeros_like(parameter, memory_format=mt.preserve_format),
        }

    def _update(self, parameter: Any, gradient: Any, state: State, group: Group) -> None:
        beta1, beta2 = group["betas"]
        step = advance(state, group)
        if group["decoupled_weight_decay"]:
            decay_weights_(parameter, group)
        else:
            gradient = with_weight_decay(gradient, parameter, group["weight_decay"])
        exp_avg, exp_avg_sq = state["exp_avg"], state["exp_avg_sq"]
        exp_avg.lerp_(gradient, 1 - beta1)
        average_square_(exp_avg_sq, gradient, beta2)
        direction = exp_avg / (1 - beta1**step)
        if group["capturable"]:
            add_scaled_(
                parameter, direction * _captured_rate(exp_avg_sq, beta2, step, group["eps"]), -learning_rate(group)
            )
            return
        rectification = _rectification(beta2, step)
        if rectification is not None:
            adaptive = math.sqrt(1 - beta2**step) / (exp_avg_sq.sqrt() + group["eps"])
            direction = direction * adaptive * rectification
        add_scaled_(parameter, direction, -learning_rate(group))


def _captured_rate(exp_avg_sq: mt.Tensor, beta2: float, step: mt.Tensor, eps: float) -> mt.Tensor:
    """What the direction is multiplied by, without asking whether the average of squares is to be trusted yet."""
    greatest = 2 / (1 - beta2) - 1
    length = greatest - 2 * step * beta2**step / (1 - beta2**step)
    rectification = ((length - 4) * (length - 2) * greatest / ((greatest - 4) * (greatest - 2) * length)).sqrt()
    adaptive = (1 - beta2**step).sqrt() / (exp_avg_sq.sqrt() + eps)
    return mt.where(length > 5.0, rectification * adaptive, 1.0)


def _rectification(beta2: float, step: float) -> float | None:
    """The variance rectification term, or None while the average of squares is not yet to be trusted.

    ``length`` is the length of the simple moving average that the exponential one approximates.
    """
    greatest = 2 / (1 - beta2) - 1
    length = greatest - 2 * step * beta2**step / (1 - beta2**step)
    if length <= 5.0:
        return None
    return math.sqrt((length - 4) * (length - 2) * greatest / ((greatest - 4) * (greatest - 2) * length))
