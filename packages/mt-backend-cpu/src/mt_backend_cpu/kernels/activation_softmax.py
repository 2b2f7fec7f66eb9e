"""Softmax and its relatives over NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..registry import kernel


def softmax_short(self: Any, dim: int, half_to_float: bool) -> Any:
    ndim = self.ndim
    return softmax(self, dim, False) if not half_to_float and -ndim <= dim < ndim else None


@kernel("_softmax", short=softmax_short)
def softmax(self: Any, dim: int, half_to_float: bool) -> Any:
    if not self.size or not self.ndim:
        return np.exp(self - self)
    result = self - np.maximum.reduce(self, dim, keepdims=True)
    np.exp(result, out=result)
    result /= np.add.reduce(result, dim, keepdims=True)
    return result


def log_softmax_short(self: Any, dim: int, half_to_float: bool) -> Any:
    ndim = self.ndim
    return log_softmax(self, dim, False) if not half_to_float and -ndim <= dim < ndim else None


@kernel("_log_softmax", short=log_softmax_short)
def log_softmax(self: Any, dim: int, half_to_float: bool) -> Any:
    if not self.size or not self.ndim:
        return self - self
    result = self - np.maximum.reduce(self, dim, keepdims=True)
    result -= np.log(np.add.reduce(np.exp(result), dim, keepdims=True))
    return result


@kernel("_softmax_backward_data")
def softmax_backward(grad: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    if not output.ndim:
        return (grad - grad * output) * output
    result = grad * output
    result -= output * np.add.reduce(result, dim, keepdims=True)
    return result


@kernel("_log_softmax_backward_data")
def log_softmax_backward(grad: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    if not output.ndim:
        return grad - np.exp(output) * grad
    return grad - np.exp(output) * np.add.reduce(grad, dim, keepdims=True)


# With a mask


def expanded(mask: Any, shape: tuple[int, ...], mask_type: int | None) -> Any:
    """The mask of each element: (L, L) for all batches and heads, or (B, L) for all heads and queries."""
    if mask_type == 1:
        mask = mask[:, None, None, :]
    return np.broadcast_to(mask, shape)


@kernel("_masked_softmax")
def masked_softmax(self: Any, mask: Any, dim: int | None, mask_type: int | None) -> Any:
    masked = expanded(mask, self.shape, mask_type)
    at = -1 if dim is None else dim
    result = softmax(np.where(masked, -np.inf, self).astype(self.dtype), at, False)
    return np.where(masked & ~np.logical_and.reduce(masked, at, keepdims=True), 0, result)


@kernel("_masked_softmax_backward")
def masked_softmax_backward(grad: Any, output: Any, mask: Any, dim: int | None) -> Any:
    if mask.shape != output.shape:
        mask = expanded(mask, output.shape, 1 if mask.shape[0] == output.shape[0] and mask.ndim == 2 else 0)
    return np.where(mask, 0, softmax_backward(grad, output, -1 if dim is None else dim, None))
