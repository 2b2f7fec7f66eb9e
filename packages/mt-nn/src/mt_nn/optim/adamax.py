"""Adamax."""

from typing import Any

import mt_core as mt

from .optimizer import ParamsT
from .per_parameter import (
    Group,
    PerParameterOptimizer,
    State,
    add_quotient_,
    advance,
    check_betas,
    check_learning_rate,
    check_not_negative,
    learning_rate,
    new_step,
    with_weight_decay,
)

__all__ = ["Adamax"]


class Adamax(PerParameterOptimizer):
    """Adamax: Adam with the decayed greatest absolute gradient in place of the average of squares.

    Kingma and Ba, "Adam: A Method for Stochastic Optimization" (2014), section 7.

    Parameters
    ----------
    params
        Tensors, groups, or named tensors.
    lr, betas, eps, weight_decay, maximize
        Options of a group.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | mt.Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
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
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _new_state(self, parameter: mt.Tensor, group: Group) -> State:
        return {
            "step": new_step(parameter, group),
            "exp_avg": mt.zeros_like(parameter, memory_format=mt.preserve_format),
            "exp_inf": mt.zeros_like(parameter, memory_format=mt.preserve_format),
        }

    def _update(self, parameter: Any, gradient: Any, state: State, group: Group) -> None:
        beta1, beta2 = group["betas"]
        step = advance(state, group)
        gradient = with_weight_decay(gradient, parameter, group["weight_decay"])
        exp_avg, exp_inf = state["exp_avg"], state["exp_inf"]
        exp_avg.lerp_(gradient, 1 - beta1)
        exp_inf.copy_((exp_inf * beta2).maximum(gradient.abs().add_(group["eps"])))
        if group["differentiable"]:
            exp_avg, exp_inf = exp_avg.clone(), exp_inf.clone()  # the graph keeps them while the next step changes both
        add_quotient_(parameter, exp_avg, exp_inf, -(learning_rate(group) / (1 - beta1**step)))
