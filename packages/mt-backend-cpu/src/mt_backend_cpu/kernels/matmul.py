"""Products over NumPy and its BLAS."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..registry import kernel, kernels

kernels({"mm": np.dot})


@kernel("bmm")
def bmm(self: np.ndarray, mat2: np.ndarray) -> np.ndarray:
    """self (B, M, K), mat2 (B, K, N) -> (B, M, N)."""
    return np.matmul(self, mat2)


@kernel("mv", "dot")
def mv(self: np.ndarray, vec: np.ndarray) -> Any:
    """self (M, K) or (K,), vec (K,) -> (M,) or ()."""
    return np.dot(self, vec)


@kernel("vdot")
def vdot(self: np.ndarray, other: np.ndarray) -> Any:
    """self (K,), other (K,) -> ()."""
    return np.vdot(self, other)


def _scaled_sum(self: np.ndarray, product: Any, beta: Any, alpha: Any) -> np.ndarray:
    """beta * self + alpha * product, a fresh array, in the arrays' own type; a beta of 0 ignores even NaN in self."""
    if alpha != 1:
        product = product * _number(alpha, product.dtype)
    if beta == 0:
        return product
    return np.add(product, self if beta == 1 else self * _number(beta, self.dtype), out=product)


def _number(value: Any, d: np.dtype) -> Any:
    """A number that the dtype holds, in the dtype; unsigned ones wrap around."""
    if d.kind in "iu":
        return np.asarray(int(value), np.int64).astype(d)
    return d.type(value.real if isinstance(value, complex) and d.kind != "c" else value)


@kernel("addmv")
def addmv(self: np.ndarray, mat: np.ndarray, vec: np.ndarray, beta: Any, alpha: Any) -> np.ndarray:
    """self broadcast to (M,), mat (M, K), vec (K,) -> (M,); where the product adds nothing, beta * self."""
    if not mat.size and beta != 0:
        return self * _number(beta, self.dtype)
    return _scaled_sum(self, np.dot(mat, vec), beta, alpha)


@kernel("addmm")
def addmm(self: np.ndarray, mat1: np.ndarray, mat2: np.ndarray, beta: Any, alpha: Any) -> np.ndarray:
    """self broadcast to (M, N), mat1 (M, K), mat2 (K, N) -> (M, N)."""
    return _scaled_sum(self, np.dot(mat1, mat2), beta, alpha)


@kernel("baddbmm")
def baddbmm(self: np.ndarray, batch1: np.ndarray, batch2: np.ndarray, beta: Any, alpha: Any) -> np.ndarray:
    """self broadcast to (B, M, N), batch1 (B, M, K), batch2 (B, K, N) -> (B, M, N)."""
    return _scaled_sum(self, np.matmul(batch1, batch2), beta, alpha)


@kernel("_linear_of_rows")
def linear_of_rows(bias: np.ndarray, input: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """bias (N,), input (M, K), weight (N, K) -> (M, N); the bias is added in place."""
    out = input.dot(weight.T)
    return np.add(out, bias, out)


@kernel("_int_mm")
def int_mm(self: np.ndarray, mat2: np.ndarray) -> np.ndarray:
    """self (M, K), mat2 (K, N) of bytes -> (M, N) of int32."""
    return np.matmul(self.astype(np.int32), mat2.astype(np.int32))
