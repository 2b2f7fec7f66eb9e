"""Rprop."""

from typing import Any

import mt_core as mt

from .optimizer import ParamsT
from .per_parameter import Group, PerParameterOptimizer, State, advance, check_learning_rate, new_step, number

__all__ = ["Rprop"]


class Rprop(PerParameterOptimizer):
    """Resilient backpropagation: each element has a step size of its own, and only the gradient's sign counts.

    A step size grows while the sign stays, and shrinks when it changes; that step is then left out. Riedmiller and
    Braun, "A Direct Adaptive Method for Faster Backpropagation Learning: The RPROP Algorithm" (1993). Made for full
    batches.

    Parameters
    ----------
    params
        Tensors, groups, or named tensors.
    lr, etas, step_sizes, maximize
        Options of a group: the first step size; the factors by which it shrinks and grows; its least and greatest
        value.
    """

    _takes_lists = False

    def __init__(
        self,
        params: ParamsT,
        lr: float | mt.Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults: dict[str, Any] = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _new_state(self, parameter: mt.Tensor, group: Group) -> State:
        lr = number(group["lr"])
        return {
            "step": new_step(parameter, group),
            "prev": mt.zeros_like(parameter, memory_format=mt.preserve_format),
            "step_size": mt.full_like(parameter.grad, complex(lr, lr) if parameter.is_complex() else lr),
        }

    def _update(self, parameter: mt.Tensor, gradient: mt.Tensor, state: State, group: Group) -> None:
        shrink, grow = group["etas"]
        least, greatest = group["step_sizes"]
        advance(state, group)
        agreement = gradient.mul(state["prev"]).sign_()
        factor = mt.ones_like(agreement).masked_fill_(agreement > 0, grow).masked_fill_(agreement < 0, shrink)
        step_size = state["step_size"]
        step_size.mul_(factor).clamp_(least, greatest)
        gradient = gradient.masked_fill(agreement < 0, 0)
        if group["differentiable"]:
            step_size = step_size.clone()  # the graph keeps it while the next step changes the state
        parameter.addcmul_(gradient.sign(), step_size, value=-1)
        state["prev"].copy_(gradient)
