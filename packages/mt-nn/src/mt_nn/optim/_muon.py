"""Muon."""

import math
from typing import Any

import mt_core as mt

from .optimizer import ParamsT
from .per_parameter import Group, PerParameterOptimizer, State, decay_weights_, learning_rate

__all__ = ["Muon"]

#: Coefficients of the quintic iteration; steep at zero, so that small singular values grow fast.
_COEFFICIENTS = (3.4445, -4.7750, 2.0315)
_MOST_STEPS = 100


class Muon(PerParameterOptimizer):
    """Muon: momentum whose update of a matrix is made nearly orthogonal by Newton-Schulz iteration.

    Jordan et al., "Muon: An optimizer for hidden layers in neural networks" (2024). For the matrices of hidden layers;
    embeddings, biases and the last layer belong to another optimizer.

    Parameters
    ----------
    params
        Tensors, groups, or named tensors, each with two dimensions.
    lr, weight_decay, momentum, nesterov
        Options of a group; weight decay is decoupled.
    ns_coefficients, eps, ns_steps
        Of the Newton-Schulz iteration, which computes in bfloat16.
    adjust_lr_fn
        ``"original"`` (also None) scales the rate by ``sqrt(max(1, rows / columns))``; ``"match_rms_adamw"`` by
        ``0.2 * sqrt(max(rows, columns))``, so that rates tuned for AdamW fit.
    """

    _options_added_later = ()

    _takes_lists = False

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = _COEFFICIENTS,
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, mt.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for name, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not value >= 0.0:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn is not None and adjust_lr_fn not in _RATE_SCALES:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults: dict[str, Any] = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        self._check_matrices()

    def _check_matrices(self) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.dim() != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {parameter.size()}"
                    )

    def _gradient(self, parameter: mt.Tensor, group: Group) -> mt.Tensor:
        if parameter.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        return super()._gradient(parameter, group)

    def _new_state(self, parameter: mt.Tensor, group: Group) -> State:
        return {"momentum_buffer": mt.zeros_like(parameter.grad, memory_format=mt.preserve_format)}

    def _update(self, parameter: mt.Tensor, gradient: mt.Tensor, state: State, group: Group) -> None:
        buffer = state["momentum_buffer"].lerp_(gradient, 1 - group["momentum"])
        update = gradient.lerp(buffer, group["momentum"]) if group["nesterov"] else buffer
        update = _orthogonalized(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        scale = _RATE_SCALES[group["adjust_lr_fn"] or "original"](*parameter.shape[:2])
        decay_weights_(parameter, group)
        parameter.add_(update, alpha=-float(learning_rate(group) * scale))


def _original_scale(rows: int, columns: int) -> float:
    return math.sqrt(max(1, rows / columns))


def _adamw_scale(rows: int, columns: int) -> float:
    return 0.2 * math.sqrt(max(rows, columns))


_RATE_SCALES = {"original": _original_scale, "match_rms_adamw": _adamw_scale}


def _orthogonalized(matrix: mt.Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> mt.Tensor:
    """A bfloat16 matrix of the same singular vectors with singular values near 1.

    Each step applies ``a X + b (X X') X + c (X X')**2 X``, a quintic of every singular value.
    """
    if steps >= _MOST_STEPS:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    result = matrix.to(mt.bfloat16)
    tall = matrix.size(0) > matrix.size(1)
    if tall:
        result = result.T  # the Gram matrix is then the smaller of the two
    # The iteration converges for singular values up to 1, and none exceeds the Frobenius norm.
    result = result.div(result.norm().clamp(min=eps))
    for _ in range(steps):
        gram = result @ result.T
        polynomial = mt.addmm(gram, gram, gram, beta=b, alpha=c)
        result = mt.addmm(result, polynomial, result, beta=a)
    return result.T if tall else result
