"""Adadelta."""

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
    check_learning_rate,
    check_not_negative,
    learning_rate,
    new_step,
    with_weight_decay,
)

__all__ = ["Adadelta"]


class Adadelta(PerParameterOptimizer):
    """Adadelta: steps in proportion to the root mean square of the steps before.

    Zeiler, "ADADELTA: An Adaptive Learning Rate Method" (2012).

    Parameters
    ----------
    params
        Tensors, groups, or named tensors.
    lr, rho, eps, weight_decay, maximize
        Options of a group; ``rho`` is the decay of both running averages.
    """

    _capturable_devices = ["cuda", "xpu", "hpu", "privateuseone"]

    def __init__(
        self,
        params: ParamsT,
        lr: float | mt.Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative("epsilon value", eps)
        check_not_negative("weight_decay value", weight_decay)
        defaults: dict[str, Any] = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, parameter: mt.Tensor, group: Group) -> State:
        return {
            "step": new_step(parameter, group),
            "square_avg": mt.zeros_like(parameter, memory_format=mt.preserve_format),
            "acc_delta": mt.zeros_like(parameter, memory_format=mt.preserve_format),
        }

    def _update(self, parameter: Any, gradient: Any, state: State, group: Group) -> None:
        rho, eps = group["rho"], group["eps"]
        advance(state, group)
        gradient = with_weight_decay(gradient, parameter, group["weight_decay"])
        average_square_(state["square_avg"], gradient, rho)
        gradient_scale = state["square_avg"].add(eps).sqrt_()
        step_scale = state["acc_delta"].add(eps).sqrt_()
        delta = step_scale / gradient_scale * gradient
        average_square_(state["acc_delta"], delta, rho)
        add_scaled_(parameter, delta, -learning_rate(group))
