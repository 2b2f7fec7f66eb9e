"""Adam for sparse gradients."""

import math
from typing import Any

import mt_core as mt

from .optimizer import ParamsT
from .per_parameter import (
    Group,
    PerParameterOptimizer,
    State,
    check_betas,
    check_learning_rate,
    learning_rate,
    number,
)

__all__ = ["SparseAdam"]


class SparseAdam(PerParameterOptimizer):
    """Adam that touches, in parameter and state, only the entries which a sparse gradient names.

    Made for embeddings with ``sparse=True``. The count of steps is one for the whole parameter, so rows that are seldom
    looked up have their averages corrected as if they had been seen each time.

    Parameters
    ----------
    params
        Dense, real tensors, groups, or named tensors, whose gradients are sparse (COO).
    lr, betas, eps, maximize
        Options of a group.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | mt.Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_learning_rate(lr)
        for name, value in (("learning rate", lr), ("epsilon value", eps)):
            if not 0.0 < value:
                raise ValueError(f"Invalid {name}: {value}")
        check_betas(betas)
        defaults: dict[str, Any] = {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize}
        super().__init__(params, defaults)
        self._check_layouts()

    def _check_layouts(self) -> None:
        entries = [
            (parameter, [g, i])
            for g, group in enumerate(self.param_groups)
            for i, parameter in enumerate(group["params"])
        ]
        sparse = [position for parameter, position in entries if parameter.is_sparse]
        if sparse:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")
        complex_ones = [position for parameter, position in entries if parameter.is_complex()]
        if complex_ones:
            raise ValueError(
                f"Complex params at indices {complex_ones}: SparseAdam does not support complex parameters"
            )

    def _gradient(self, parameter: mt.Tensor, group: Group) -> mt.Tensor:
        if not parameter.grad.is_sparse:
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        return parameter.grad

    def _new_state(self, parameter: mt.Tensor, group: Group) -> State:
        return {
            "step": 0,
            "exp_avg": mt.zeros_like(parameter, memory_format=mt.preserve_format),
            "exp_avg_sq": mt.zeros_like(parameter, memory_format=mt.preserve_format),
        }

    def _update(self, parameter: mt.Tensor, gradient: Any, state: State, group: Group) -> None:
        state["step"] += 1
        gradient = gradient.coalesce()  # averages are not linear: each entry must come once
        where, values = tuple(gradient.indices()), gradient.values()
        if values.numel() == 0:
            return
        step, (beta1, beta2) = state["step"], group["betas"]
        exp_avg = state["exp_avg"][where].lerp_(values, 1 - beta1)
        exp_avg_sq = state["exp_avg_sq"][where].lerp_(values.square(), 1 - beta2)
        state["exp_avg"][where] = exp_avg
        state["exp_avg_sq"][where] = exp_avg_sq
        rate = number(learning_rate(group)) * math.sqrt(1 - beta2**step) / (1 - beta1**step)
        parameter.index_put_(where, exp_avg.div(exp_avg_sq.sqrt_().add_(group["eps"])).mul_(-rate), accumulate=True)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Here a count of steps is a Python number for good: no conversion of what looks like an older checkpoint.
        super(PerParameterOptimizer, self).__setstate__(state)
