"""Scaled dot product attention of halves, forward and backward, without the matrix of weights."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from .element_types import c_name
from .elementwise import strides_of
from .machine import Machine, pieces

__all__ = ["TILE", "accepts", "attention", "attention_backward", "padded_width"]

#: As in ``cuda/attention.cu``: rows of a block and, in the backward kernels, rows of a step.
TILE, STEP, THREADS = 64, 32, 128
WIDTHS = (32, 64, 128)


def padded_width(width: int) -> int:
    """The width that a kernel is made for."""
    return next(w for w in WIDTHS if width <= w)


def accepts(*arrays: Any) -> bool:
    """Whether arrays (batch, heads, rows, width) can be taken: halves, aligned rows side by side, width up to 128."""
    for array in arrays:
        strides = strides_of(array)
        if array.dtype.name not in ("float16", "bfloat16") or len(array.shape) != 4 or array.shape[3] > WIDTHS[-1]:
            return False
        if array.shape[3] % 8 or strides[3] != 1 or any(stride % 8 for stride in strides[:3]):
            return False
    return True


def view(array: Any) -> tuple[int, int, int]:
    """Strides of batch, heads and rows."""
    return strides_of(array)[:3]  # type: ignore[return-value]  # four dimensions


def shape_of(query: Any, key: Any, scale: float, causal: bool) -> bytes:
    """The struct ``Shape``."""
    _, heads, queries, width = query.shape
    return struct.pack("5qfi", heads, key.shape[1], queries, key.shape[2], width, scale, int(causal))


def mask_of(machine: Machine, mask: Any) -> tuple[tuple[int, ...], int]:
    """The struct ``MaskView`` and the address of an additive mask of float32 and four dimensions, or of none."""
    return ((0, 0, 0, 0), 0) if mask is None else (strides_of(mask), machine.address(mask))


def attention(
    machine: Machine, query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float
) -> tuple[Any, Any]:
    """softmax(scale * query key^T + mask) value, and the log-sums of the weights by row.

    Parameters
    ----------
    query
        (batch, heads, queries, width); see `accepts`.
    key, value
        (batch, heads of keys, keys, width); heads of queries are a multiple of theirs.
    mask
        float32, expanded to (batch, heads, queries, keys), or None.
    causal
        Row i takes part in keys up to i.
    """
    batch, heads, queries, width = query.shape
    out = machine.empty(query.shape, query.dtype)
    log_sums = machine.empty((batch, heads, queries), np.dtype("float32"))
    if not out.size:
        return out, log_sums
    padded = padded_width(width)
    strides, at = mask_of(machine, mask)
    launch = machine.launcher("attention", f"attention_forward<{c_name(query.dtype)}, {padded}>", "48s16qPPPPPP")
    views = (*view(query), *view(key), *view(value), *view(out))
    launch(
        pieces(queries, TILE),
        heads,
        batch,
        THREADS,
        1,
        2 * TILE * (padded + 8) * 2,
        shape_of(query, key, scale, causal),
        *views,
        *strides,
        *map(machine.address, (query, key, value)),
        at,
        machine.address(out),
        machine.address(log_sums),
    )
    return out, log_sums


def attention_backward(
    machine: Machine, grad: Any, query: Any, key: Any, value: Any, out: Any, log_sums: Any, mask: Any, causal: bool,
    scale: float,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Gradients of query, key and value; the same every time."""
    batch, heads, queries, width = query.shape
    kind, padded = c_name(query.dtype), padded_width(width)
    results = [machine.empty(array.shape, array.dtype) for array in (query, key, value)]
    if not out.size or not key.size:
        return tuple(results)  # type: ignore[return-value]  # three
    delta = machine.empty(log_sums.shape, log_sums.dtype)
    shape = shape_of(query, key, scale, causal)
    launch = machine.launcher("attention", f"attention_delta<{kind}>", "48s6qPPP")
    launch(
        pieces(queries, 4),
        heads,
        batch,
        128,
        1,
        0,
        shape,
        *view(out),
        *view(grad),
        machine.address(out),
        machine.address(grad),
        machine.address(delta),
    )
    strides, at = mask_of(machine, mask)
    views = (*view(query), *view(key), *view(value), *view(grad))
    inputs = [machine.address(array) for array in (query, key, value, grad)]
    kept = machine.address(log_sums), machine.address(delta)
    shared = (2 * TILE + 2 * STEP) * (padded + 8) * 2
    launch = machine.launcher("attention", f"attention_backward_keys<{kind}, {padded}>", "48s22qPPPPPPPPP")
    launch(
        pieces(key.shape[2], TILE),
        key.shape[1],
        batch,
        THREADS,
        1,
        shared,
        shape,
        *views,
        *view(results[1]),
        *view(results[2]),
        *strides,
        *inputs,
        at,
        *kept,
        machine.address(results[1]),
        machine.address(results[2]),
    )
    launch = machine.launcher("attention", f"attention_backward_queries<{kind}, {padded}>", "48s19qPPPPPPPP")
    launch(
        pieces(queries, TILE),
        heads,
        batch,
        THREADS,
        1,
        shared,
        shape,
        *views,
        *view(results[0]),
        *strides,
        *inputs,
        at,
        *kept,
        machine.address(results[0]),
    )
    return results[0], results[1], results[2]
