"""Products over NumPy and its BLAS."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..registry import kernel


def _short_mm(self: np.ndarray, mat2: np.ndarray) -> Any:
    if self.ndim != 2 or mat2.ndim != 2 or self.shape[1] != mat2.shape[0]:
        return None
    return self.dot(mat2)


@kernel("mm", short=_short_mm)
def mm(self: np.ndarray, mat2: np.ndarray) -> np.ndarray:
    return np.dot(self, mat2)


@kernel("bmm")
def bmm(self: np.ndarray, mat2: np.ndarray) -> np.ndarray:
    return np.matmul(self, mat2)


@kernel("mv", "dot")
def mv(self: np.ndarray, vec: np.ndarray) -> Any:
    return np.dot(self, vec)


@kernel("vdot")
def vdot(self: np.ndarray, other: np.ndarray) -> Any:
    return np.vdot(self, other)


def _scaled_sum(self: np.ndarray, product: Any, beta: Any, alpha: Any) -> np.ndarray:
    """beta * self + alpha * product in the arrays' own type; a beta of 0 ignores even NaN in self."""
    if alpha != 1:
        product = product * product.dtype.type(alpha)
    if beta == 0:
        return product
    return product + (self if beta == 1 else self * self.dtype.type(beta))


@kernel("addmm", "addmv")
def addmm(self: np.ndarray, mat1: np.ndarray, mat2: np.ndarray, beta: Any, alpha: Any) -> np.ndarray:
    return _scaled_sum(self, np.dot(mat1, mat2), beta, alpha)


@kernel("baddbmm")
def baddbmm(self: np.ndarray, batch1: np.ndarray, batch2: np.ndarray, beta: Any, alpha: Any) -> np.ndarray:
    return _scaled_sum(self, np.matmul(batch1, batch2), beta, alpha)


def _short_linear(input: np.ndarray, weight: np.ndarray, bias: Any) -> Any:
    if weight.ndim != 2 or input.ndim < 1 or input.shape[-1] != weight.shape[1]:
        return None
    if bias is not None and bias.shape != (weight.shape[0],):
        return None
    if input.ndim == 2:
        out = input.dot(weight.T)
    elif not input.size:
        return None
    else:
        out = input.reshape(-1, weight.shape[1]).dot(weight.T).reshape(*input.shape[:-1], weight.shape[0])
    return out if bias is None else np.add(out, bias, out)


@kernel("linear", short=_short_linear)
def linear(input: np.ndarray, weight: np.ndarray, bias: Any) -> np.ndarray:
    out = np.dot(input, weight.T)
    out = out.reshape(*input.shape[:-1], *weight.shape[:-1])
    return out if bias is None else out + bias
