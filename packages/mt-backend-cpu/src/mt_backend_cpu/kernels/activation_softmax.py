"""Softmax and its relatives over NumPy."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mt_core.dispatch.kernel import Accepts

from ..blocks import BLOCK
from ..registry import FLOATS, fused, kernel

# The short forms call these with all arguments by position: reading keywords is a tenth of a small reduction.
_max_reduce, _add_reduce, _subtract, _exp = np.maximum.reduce, np.add.reduce, np.subtract, np.exp

#: Below this many elements each row's own maximum is found sooner than the block's is checked.
FEW = 1024
#: What a row's sum of exponentials, relative to the largest element of its block, must exceed: below it, the difference
#: to that element would cost precision.
LEAST_SUM = 1e-2


@functools.cache
def ones(count: int, element_type: np.dtype) -> np.ndarray:
    """A vector of ones: the product with it sums rows several times faster than a reduction does."""
    return np.ones(count, element_type)


def exponentials_of_block(block: Any, shifted: Any, exponentials: Any, sums: Any) -> Any:
    """Rows less a common number, their exponentials and their sums.

    One number serves all rows of a block, the block's largest element, because finding each row's own takes longer
    than everything else. Returns the indices of the rows for which it does not serve.
    """
    np.subtract(block, np.maximum.reduce(block, None), shifted)
    np.exp(shifted, exponentials)
    np.dot(exponentials, ones(block.shape[1], block.dtype), sums)
    if np.minimum.reduce(sums) > LEAST_SUM:  # false where one is NaN, too
        return ()
    return np.flatnonzero(~(sums > LEAST_SUM))


def softmax_of_rows(rows: Any) -> Any:
    """Softmax along the second of two dimensions."""
    if rows.size < FEW:
        result = _subtract(rows, _max_reduce(rows, 1, None, None, True))
        _exp(result, result)
        return np.divide(result, _add_reduce(result, 1, None, None, True), result)
    result = np.empty(rows.shape, rows.dtype)
    sums = np.empty(rows.shape[0], rows.dtype)
    step = max(1, BLOCK // rows.shape[1])
    for start in range(0, rows.shape[0], step):
        at = slice(start, start + step)
        block, target, total = rows[at], result[at], sums[at]
        others = exponentials_of_block(block, target, target, total)
        target /= total[:, None]
        if len(others):
            target[others] = softmax_along(block[others], 1)
    return result


def log_softmax_of_rows(rows: Any) -> Any:
    """The logarithm of softmax along the second of two dimensions."""
    if rows.size < FEW:
        result = _subtract(rows, _max_reduce(rows, 1, None, None, True))
        sums = _add_reduce(_exp(result), 1, None, None, True)
        return _subtract(result, np.log(sums, sums), result)
    result = np.empty(rows.shape, rows.dtype)
    step = max(1, BLOCK // rows.shape[1])
    exponentials, sums = np.empty((min(step, rows.shape[0]), rows.shape[1]), rows.dtype), np.empty(step, rows.dtype)
    for start in range(0, rows.shape[0], step):
        block, target = rows[start : start + step], result[start : start + step]
        total = sums[: len(block)]
        others = exponentials_of_block(block, target, exponentials[: len(block)], total)
        target -= np.log(total, total)[:, None]
        if len(others):
            target[others] = log_softmax_along(block[others], 1)
    return result


def softmax_along(self: Any, dim: int) -> Any:
    """Softmax along any dimension, each slice shifted by its own maximum."""
    result = self - np.maximum.reduce(self, dim, keepdims=True)
    np.exp(result, out=result)
    result /= np.add.reduce(result, dim, keepdims=True)
    return result


def log_softmax_along(self: Any, dim: int) -> Any:
    """The logarithm of softmax along any dimension."""
    result = self - np.maximum.reduce(self, dim, keepdims=True)
    result -= np.log(np.add.reduce(np.exp(result), dim, keepdims=True))
    return result


def along_last(of_rows: Any, along: Any, self: Any, dim: int) -> Any:
    """By rows where `dim` is the last dimension, else along it."""
    ndim = self.ndim
    if not self.size:
        return np.empty(self.shape, self.dtype)
    if not ndim:
        return along(self.reshape(1), 0).reshape(())
    if dim != -1 and dim != ndim - 1:
        return along(self, dim)
    if ndim == 2:
        return of_rows(self)
    return of_rows(self.reshape(-1, self.shape[-1])).reshape(self.shape)


@kernel("_softmax")
def softmax(self: Any, dim: int, half_to_float: bool) -> Any:
    """self (*) -> (*), normalized along `dim`."""
    return along_last(softmax_of_rows, softmax_along, self, dim)


@kernel("_log_softmax")
def log_softmax(self: Any, dim: int, half_to_float: bool) -> Any:
    """self (*) -> (*), normalized along `dim`."""
    return along_last(log_softmax_of_rows, log_softmax_along, self, dim)


_IN_ITS_DTYPE = Accepts(dtypes=FLOATS, defaults=("dtype",))


@fused("softmax.int", _IN_ITS_DTYPE)
def softmax_whole(self: Any, dim: int) -> Any:
    """self (*) -> (*), normalized along `dim`."""
    return along_last(softmax_of_rows, softmax_along, self, dim)


@fused("log_softmax.int", _IN_ITS_DTYPE)
def log_softmax_whole(self: Any, dim: int) -> Any:
    """self (*) -> (*), normalized along `dim`."""
    return along_last(log_softmax_of_rows, log_softmax_along, self, dim)


# Derivatives


@kernel("_softmax_backward_data")
def softmax_backward(grad: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    """grad (*), output (*) -> (*)."""
    if not output.ndim:
        return (grad - grad * output) * output
    result = grad * output
    return _subtract(result, output * _add_reduce(result, dim, None, None, True), result)


@kernel("_log_softmax_backward_data")
def log_softmax_backward(grad: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    """grad (*), output (*) -> (*)."""
    if not output.ndim:
        return grad - np.exp(output) * grad
    raised = _exp(output)
    return _subtract(grad, np.multiply(raised, _add_reduce(grad, dim, None, None, True), raised), raised)


# With a mask


def expanded(mask: Any, shape: tuple[int, ...], mask_type: int | None) -> Any:
    """The mask of each element: of its shape, (L, L) for all batches and heads, or (B, L) for all heads and queries."""
    if mask_type == 1 and mask.shape != shape:
        mask = mask[:, None, None, :]
    return np.broadcast_to(mask, shape)


@kernel("_masked_softmax")
def masked_softmax(self: Any, mask: Any, dim: int | None, mask_type: int | None) -> Any:
    """self (*), mask (*) of bool -> (*); for self (B, H, L, L) mask may be (L, L) or (B, L), as `mask_type` says."""
    masked = np.atleast_1d(expanded(mask, self.shape, mask_type))
    at = -1 if dim is None else dim
    result = softmax_along(np.where(masked, -np.inf, self).astype(self.dtype), at)
    return np.where(masked & ~np.logical_and.reduce(masked, at, keepdims=True), 0, result).reshape(self.shape)


@kernel("_masked_softmax_backward")
def masked_softmax_backward(grad: Any, output: Any, mask: Any, dim: int | None) -> Any:
    """grad (*), output (*), mask -> (*)."""
    return np.where(mask, 0, softmax_backward(grad, output, -1 if dim is None else dim, None))
