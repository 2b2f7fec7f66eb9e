"""Softmax and its logarithm, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np

from .element_types import c_name
from .machine import Machine, pieces
from .rows import block_of, rows_of

__all__ = ["softmax", "softmax_backward"]

THREADS = 128
#: The most threads of a block that keeps two arrays in registers.
BACKWARD_THREADS = 512


def split(shape: tuple[int, ...], dim: int) -> tuple[int, int, int]:
    """Elements outside, along and inside a dimension; a 0-dim array counts as one element."""
    if not shape:
        return 1, 1, 1
    dim %= len(shape)
    outer, inner = int(np.prod(shape[:dim], dtype=np.int64)), int(np.prod(shape[dim + 1 :], dtype=np.int64))
    return outer, shape[dim], inner


def softmax(machine: Machine, array: Any, dim: int, *, log: bool, result: Any = None) -> Any:
    """array: row-major, floating -> the same shape, normalized along `dim`, in dtype `result`."""
    out = machine.empty(array.shape, array.dtype if result is None else result)
    if not array.size:
        return out
    outer, columns, inner = split(array.shape, dim)
    types = f"{c_name(array.dtype)}, {c_name(out.dtype)}, {str(log).lower()}"
    address, to = machine.address(array), machine.address(out)
    if inner != 1:
        launch = machine.launcher("softmax", f"softmax_inner<{types}>", "qqqPP")
        slices = outer * inner
        launch(pieces(slices, THREADS), 1, 1, THREADS, 1, 0, slices, columns, inner, address, to)
        return out
    length, count, threads, per_block = rows_of(columns, max(array.dtype.itemsize, out.dtype.itemsize), address | to)
    if not count:
        launch = machine.launcher("softmax", f"softmax_long_rows<{types}, {length}>", "qPP")
        launch(outer, 1, 1, threads, 1, 0, columns, address, to)
        return out
    launch = machine.launcher("softmax", f"softmax_rows<{types}, {length}, {count}>", "qqPP")
    launch(-(-outer // per_block), 1, 1, threads, per_block, 0, outer, columns, address, to)
    return out


def softmax_backward(machine: Machine, grad: Any, output: Any, dim: int, *, log: bool, result: Any = None) -> Any:
    """The gradient of softmax's input. grad, output: row-major, of one dtype; the result is of dtype `result`."""
    out = machine.empty(grad.shape, grad.dtype if result is None else result)
    if not grad.size:
        return out
    outer, columns, inner = split(grad.shape, dim)
    types = f"{c_name(grad.dtype)}, {c_name(out.dtype)}, {str(log).lower()}"
    addresses = machine.address(grad), machine.address(output), machine.address(out)
    if inner != 1:
        launch = machine.launcher("softmax", f"softmax_backward_inner<{types}>", "qqqPPP")
        slices = outer * inner
        launch(pieces(slices, THREADS), 1, 1, THREADS, 1, 0, slices, columns, inner, *addresses)
        return out
    together = addresses[0] | addresses[1] | addresses[2]
    itemsize = max(grad.dtype.itemsize, out.dtype.itemsize)
    length, count, threads, per_block = rows_of(columns, itemsize, together, BACKWARD_THREADS)
    if not count:
        launch = machine.launcher("softmax", f"softmax_backward_rows<{types}>", "qPPP")
        launch(outer, 1, 1, block_of(columns), 1, 0, columns, *addresses)
        return out
    launch = machine.launcher("softmax", f"softmax_backward_packs<{types}, {length}, {count}>", "qqPPP")
    launch(-(-outer // per_block), 1, 1, threads, per_block, 0, outer, columns, *addresses)
    return out
