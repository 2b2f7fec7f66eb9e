"""Adafactor."""

import math
from typing import Any

import mt_core as mt

from .optimizer import ParamsT
from .per_parameter import (
    Group,
    PerParameterOptimizer,
    State,
    advance,
    decay_weights_,
    learning_rate,
    number,
    scalar_dtype,
)

__all__ = ["Adafactor"]


class Adafactor(PerParameterOptimizer):
    """Adafactor: Adam without momentum whose average of squares is kept as row and column means.

    Memory for a matrix is the sum of its sides in place of their product. Shazeer and Stern, "Adafactor: Adaptive
    Learning Rates with Sublinear Memory Cost" (2018).

    Parameters
    ----------
    params
        Tensors, groups, or named tensors; no complex ones.
    lr, beta2_decay, eps, d, weight_decay, maximize
        Options of a group. ``eps`` is the floor of the squared gradient, None for the square of the dtype's epsilon,
        and the floor of a parameter's root mean square; ``d`` bounds the root mean square of an update.
    """

    _options_added_later = ("foreach",)

    _takes_lists = False

    def __init__(
        self,
        params: ParamsT,
        lr: float | mt.Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, mt.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        _check(lr >= 0.0, "Learning rate should be >= 0", lr)
        _check(beta2_decay <= 0.0, "beta2_decay should be <= 0", beta2_decay)
        _check(eps[0] is None or eps[0] >= 0.0, "epsilon1 should be >= 0", eps[0])
        _check(eps[1] >= 0.0, "epsilon2 should be >= 0", eps[1])
        _check(d >= 1.0, "Clipping threshold d should be >= 1", d)
        _check(weight_decay >= 0.0, "weight_decay should be >= 0", weight_decay)
        defaults: dict[str, Any] = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _gradient(self, parameter: mt.Tensor, group: Group) -> mt.Tensor:
        if parameter.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        return super()._gradient(parameter, group)

    def _new_state(self, parameter: mt.Tensor, group: Group) -> State:
        gradient = parameter.grad
        step = {"step": mt.tensor(0.0, dtype=scalar_dtype())}
        if gradient.dim() < 2:
            return {**step, "variance": mt.zeros_like(gradient, memory_format=mt.preserve_format)}
        *batch, rows, columns = gradient.shape
        return {
            **step,
            "row_var": gradient.new_zeros((*batch, rows, 1)),
            "col_var": gradient.new_zeros((*batch, 1, columns)),
        }

    def _update(self, parameter: mt.Tensor, gradient: mt.Tensor, state: State, group: Group) -> None:
        step = advance(state, group)
        squared_floor, scale_floor = group["eps"]
        if squared_floor is None:
            squared_floor = mt.finfo(parameter.dtype).eps
        rate = min(number(learning_rate(group)), 1 / math.sqrt(step))
        rate *= max(scale_floor, _root_mean_square(parameter))
        decay_weights_(parameter, group)
        variance = _average_square(gradient, state, step ** group["beta2_decay"], squared_floor)
        update = variance.clamp_(min=squared_floor * squared_floor).rsqrt_().mul_(gradient)
        parameter.add_(update, alpha=-rate / max(1.0, _root_mean_square(update) / group["d"]))


def _root_mean_square(tensor: mt.Tensor) -> float:
    return tensor.norm(2).item() / math.sqrt(tensor.numel())


def _average_square(gradient: mt.Tensor, state: State, weight: float, floor: float) -> mt.Tensor:
    """Average the squared gradient into the state; return the estimate of its running mean, a fresh tensor."""
    if gradient.dim() < 2:
        return state["variance"].lerp_(gradient.square(), weight).clone()
    rows = state["row_var"].lerp_(_mean_square(gradient, -1), weight)
    columns = state["col_var"].lerp_(_mean_square(gradient, -2), weight)
    return rows.matmul(columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=floor))


def _mean_square(gradient: mt.Tensor, dim: int) -> mt.Tensor:
    return gradient.norm(dim=dim, keepdim=True).square_().div_(gradient.size(dim))


def _check(holds: bool, rule: str, value: Any) -> None:
    if not holds:
        raise ValueError(f"{rule} but is: {value}")
