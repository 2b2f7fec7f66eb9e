"""NAdam."""

from typing import Any

import mt_core as mt

from .optimizer import ParamsT
from .per_parameter import (
    Group,
    PerParameterOptimizer,
    State,
    add_quotient_,
    advance,
    average_square_,
    check_betas,
    check_learning_rate,
    check_not_negative,
    decay_weights_,
    learning_rate,
    new_step,
    scalar_dtype,
    with_weight_decay,
)

__all__ = ["NAdam"]


class NAdam(PerParameterOptimizer):
    """NAdam: Adam with Nesterov's look-ahead momentum, on a schedule of its own.

    Dozat, "Incorporating Nesterov Momentum into Adam" (2016).

    Parameters
    ----------
    params
        Tensors, groups, or named tensors.
    lr, betas, eps, weight_decay, momentum_decay, decoupled_weight_decay, maximize
        Options of a group.
    """

    _numbers = ("step", "mu_product")
    _capturable_tensors = "params, mu_products and state_steps"

    def __init__(
        self,
        params: ParamsT,
        lr: float | mt.Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        check_not_negative("momentum_decay value", momentum_decay)
        defaults: dict[str, Any] = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, parameter: mt.Tensor, group: Group) -> State:
        device = parameter.device if group["capturable"] else None
        return {
            "step": new_step(parameter, group),
            "mu_product": mt.ones((), dtype=scalar_dtype(), device=device),
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
        momentum, next_momentum = (_momentum(beta1, count, group["momentum_decay"]) for count in (step, step + 1))
        product = state["mu_product"].mul_(momentum)
        if group["differentiable"]:
            product = product.clone()
        elif not group["capturable"]:
            product = product.item()
        exp_avg, exp_avg_sq = state["exp_avg"], state["exp_avg_sq"]
        exp_avg.lerp_(gradient, 1 - beta1)
        average_square_(exp_avg_sq, gradient, beta2)
        denominator = exp_avg_sq.div(1 - beta2**step).sqrt() + group["eps"]
        if group["differentiable"]:
            exp_avg = exp_avg.clone()  # the graph keeps it while the next step changes the state
        lr = learning_rate(group)
        add_quotient_(parameter, gradient, denominator, -lr * (1.0 - momentum) / (1.0 - product))
        add_quotient_(parameter, exp_avg, denominator, -lr * next_momentum / (1.0 - product * next_momentum))


def _momentum(beta1: float, step: Any, decay: float) -> Any:
    """The momentum of a step: rises towards beta1."""
    return beta1 * (1.0 - 0.5 * 0.96 ** (step * decay))
