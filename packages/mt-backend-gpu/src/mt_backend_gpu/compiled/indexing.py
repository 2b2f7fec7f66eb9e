"""Embedding, index_select, gather, scatter and advanced indexing; faults are found by the device."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from .element_types import c_name
from .elementwise import copy_into, strides_of
from .faults import GATHER_SITE, INDEX_SITE, ROWS_SITE, SCATTER_SITE
from .layout import broadcast_shape, broadcast_strides, collapse, packed, row_major
from .machine import Machine, pieces

__all__ = ["add_rows", "gather", "index_get", "index_put", "scatter", "scatter_value", "take_rows"]

THREADS = 256
#: The most index arrays of one call.
MAX_INDICES = 4


def take_rows(machine: Machine, table: Any, index: Any) -> Any:
    """table: (count, *), row-major; index: integers, row-major -> (*index.shape, *)."""
    columns = int(np.prod(table.shape[1:], dtype=np.int64))
    out = machine.empty((*index.shape, *table.shape[1:]), table.dtype)
    if not out.size:
        return out
    addresses = machine.address(table), machine.address(index), machine.address(out)
    length = 16 // table.dtype.itemsize
    while columns % length or addresses[0] % (length * table.dtype.itemsize):
        length //= 2
    form = f"take_rows<{c_name(table.dtype)}, {c_name(index.dtype)}, {length}>"
    launch = machine.launcher("indexing", form, "qqqPQPPP")
    launch(
        pieces(out.size // length, THREADS),
        1,
        1,
        THREADS,
        1,
        0,
        index.size,
        columns,
        table.shape[0],
        machine.faults(),
        ROWS_SITE,
        *addresses,
    )
    return out


def add_rows(machine: Machine, grad: Any, index: Any, table: Any, padding: int = -1) -> Any:
    """table[index] += grad, in place; table: (count, *), row-major, rows at `padding` left out.

    Additions are atomic: their order, and so the last bits of a sum, is not fixed.
    """
    columns = int(np.prod(table.shape[1:], dtype=np.int64))
    form = f"add_rows<{c_name(grad.dtype)}, {c_name(table.dtype)}, {c_name(index.dtype)}>"
    launch = machine.launcher("indexing", form, "qqqqPQPPP")
    if grad.size:
        launch(
            pieces(grad.size, THREADS),
            1,
            1,
            THREADS,
            1,
            0,
            index.size,
            columns,
            table.shape[0],
            padding,
            machine.faults(),
            ROWS_SITE,
            machine.address(grad),
            machine.address(index),
            machine.address(table),
        )
    return table


def without(strides: Sequence[int], dim: int) -> tuple[int, ...]:
    """Strides that stay where they are along a dimension."""
    return tuple(0 if d == dim else stride for d, stride in enumerate(strides))


def along(array: Any, dim: int) -> tuple[int, int, tuple[int, ...]]:
    """Size and stride of a dimension, and the strides without it; a 0-dim array has one element along it."""
    strides = strides_of(array)
    if not array.shape:
        return 1, 0, strides
    dim %= len(array.shape)
    return array.shape[dim], strides[dim], without(strides, dim)


def gather(machine: Machine, array: Any, dim: int, index: Any) -> Any:
    """out[i][j] = array[index[i][j]][j] for dim 0, and so on; strides are free."""
    out = machine.empty(index.shape, array.dtype)
    if not out.size:
        return out
    size, stride, others = along(array, dim)
    layout = packed(collapse(index.shape, row_major(index.shape), strides_of(index), others))
    form = f"gather<{c_name(array.dtype)}, {c_name(index.dtype)}>"
    launch = machine.launcher("indexing", form, f"{len(layout)}sqqqPQPPP")
    launch(
        pieces(out.size, THREADS),
        1,
        1,
        THREADS,
        1,
        0,
        layout,
        out.size,
        size,
        stride,
        machine.faults(),
        GATHER_SITE,
        machine.address(array),
        machine.address(index),
        machine.address(out),
    )
    return out


def scatter(
    machine: Machine, out: Any, dim: int, index: Any, source: Any, *, add: bool = False, site: int = SCATTER_SITE
) -> Any:
    """out[index[i][j]][j] = source[i][j] for dim 0, and so on, in place; with `add`, +=.

    `site` names in errors what the index is one of.
    """
    if not index.size:
        return out
    size, stride, others = along(out, dim)
    layout = packed(collapse(index.shape, others, strides_of(index), strides_of(source), reorder=False))
    form = f"scatter<{c_name(out.dtype)}, {c_name(index.dtype)}, {str(add).lower()}>"
    launch = machine.launcher("indexing", form, f"{len(layout)}sqqqPQPPP")
    launch(
        pieces(index.size, THREADS),
        1,
        1,
        THREADS,
        1,
        0,
        layout,
        index.size,
        size,
        stride,
        machine.faults(),
        site,
        machine.address(out),
        machine.address(index),
        machine.address(source),
    )
    return out


def scatter_value(machine: Machine, out: Any, dim: int, index: Any, value: float) -> Any:
    """As `scatter`, of a number."""
    if not index.size:
        return out
    size, stride, others = along(out, dim)
    layout = packed(collapse(index.shape, others, strides_of(index), reorder=False))
    form = f"scatter_value<{c_name(out.dtype)}, {c_name(index.dtype)}>"
    launch = machine.launcher("indexing", form, f"{len(layout)}sqqqPQdPP")
    launch(
        pieces(index.size, THREADS),
        1,
        1,
        THREADS,
        1,
        0,
        layout,
        index.size,
        size,
        stride,
        machine.faults(),
        SCATTER_SITE,
        value,
        machine.address(out),
        machine.address(index),
    )
    return out


def indexed(machine: Machine, array: Any, indices: Sequence[Any]) -> tuple[Any, tuple[int, ...], bytes, Any]:
    """What reading and writing share: layout of result, array and indices; the result's shape; the struct; the indices.

    indices: int64 arrays or None, by dimension. The indexed dimensions stand where the first index does when they are
    neighbours, else in front, as NumPy and PyTorch have it.
    """
    places = [d for d, index in enumerate(indices) if index is not None]
    if not 1 <= len(places) <= MAX_INDICES:
        raise ValueError(f"{len(places)} index arrays; CUDA kernels take 1 to {MAX_INDICES}")
    shape = broadcast_shape(*(indices[d].shape for d in places))
    made = [contiguous_index(machine, indices[d], shape) for d in places]
    strides, at = strides_of(array), places[0] if places[-1] - places[0] + 1 == len(places) else 0
    before = [d for d in range(len(array.shape)) if d not in places and d < (places[0] if at else 0)]
    after = [d for d in range(len(array.shape)) if d not in places and d not in before]
    full = (*(array.shape[d] for d in before), *shape, *(array.shape[d] for d in after))
    of_array = (*(strides[d] for d in before), *(0,) * len(shape), *(strides[d] for d in after))
    of_index = (*(0,) * len(before), *row_major(shape), *(0,) * len(after))
    rest = [0] * (MAX_INDICES - len(places))
    data = struct.pack(
        "q4q4q4Q",
        len(places),
        *(array.shape[d] for d in places),
        *rest,
        *(strides[d] for d in places),
        *rest,
        *(machine.address(one) for one in made),
        *rest,
    )
    return (of_array, of_index), full, data, made


def contiguous_index(machine: Machine, index: Any, shape: tuple[int, ...]) -> Any:
    """An index array of exactly this shape, row-major, of int64."""
    if tuple(index.shape) == shape and strides_of(index) == row_major(shape) and index.dtype.name == "int64":
        return index
    out = machine.empty(shape, np.dtype("int64"))
    return copy_into(machine, out, index)


def index_get(machine: Machine, array: Any, indices: Sequence[Any]) -> Any:
    """array[indices]: an int64 array, or None for a whole dimension, for each of the first dimensions."""
    (of_array, of_index), shape, data, _kept = indexed(machine, array, indices)
    out = machine.empty(shape, array.dtype)
    if not out.size:
        return out
    layout = packed(collapse(shape, row_major(shape), of_array, of_index))
    launch = machine.launcher("indexing", f"index_get<{c_name(array.dtype)}>", f"{len(layout)}s{len(data)}sqPQPP")
    launch(
        pieces(out.size, THREADS),
        1,
        1,
        THREADS,
        1,
        0,
        layout,
        data,
        out.size,
        machine.faults(),
        INDEX_SITE,
        machine.address(array),
        machine.address(out),
    )
    return out


def index_put(machine: Machine, out: Any, indices: Sequence[Any], values: Any, *, add: bool = False) -> Any:
    """out[indices] = values, broadcast, in place; with `add`, += for each occurrence of an index."""
    (of_array, of_index), shape, data, _kept = indexed(machine, out, indices)
    count = int(np.prod(shape, dtype=np.int64))
    if not count:
        return out
    layout = packed(
        collapse(shape, broadcast_strides(values.shape, strides_of(values), shape), of_array, of_index, reorder=False)
    )
    form = f"index_put<{c_name(out.dtype)}, {str(add).lower()}>"
    launch = machine.launcher("indexing", form, f"{len(layout)}s{len(data)}sqPQPP")
    launch(
        pieces(count, THREADS),
        1,
        1,
        THREADS,
        1,
        0,
        layout,
        data,
        count,
        machine.faults(),
        INDEX_SITE,
        machine.address(out),
        machine.address(values),
    )
    return out
