"""Reductions over any dimensions of arrays with any strides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .element_types import c_name, sum_name
from .elementwise import strides_of
from .layout import collapse, packed, row_major
from .machine import Machine, pieces

__all__ = ["reduce"]

#: Bytes of an operator's state, by the type that sums are kept in, where it is not that type alone.
WIDE = {"amax": 16, "amin": 16, "argmax": 16, "argmin": 16}
MOMENTS = ("variance", "deviation")
#: Blocks that fill a device, for a multiprocessor.
BLOCKS_PER_PROCESSOR = 8


def state_size(name: str, kind: str) -> int:
    """Bytes of the state in which an operator keeps a part."""
    if name in WIDE:
        return WIDE[name]
    width = 8 if sum_name(kind) in ("i64", "double") else 4
    if name in MOMENTS:
        return 3 * width
    return 4 if name in ("all_of", "any_of") else width


def parts_of(machine: Machine, blocks: int, count: int, least: int) -> int:
    """Into how many parts each output's elements are split, so that few outputs fill the device as well."""
    wanted = max(1, machine.processors * BLOCKS_PER_PROCESSOR // max(blocks, 1))
    return max(1, min(wanted, count // least, 1024))


def reduce(
    machine: Machine, name: str, array: Any, dims: Sequence[int], *, result: Any = None, correction: float = 0.0,
    keepdim: bool = False,
) -> Any:  # fmt: skip
    """Reduce an array over dimensions.

    Parameters
    ----------
    name
        A reduction of ``cuda/reduction.cu``.
    dims
        Different dimensions of the array, none of size 0 for extremes.
    result
        The result's dtype; the array's where not given.
    correction
        What `variance` and `deviation` take from the count.
    """
    shape, strides = array.shape, strides_of(array)
    gone = sorted({dim % len(shape) for dim in dims}) if shape else []
    kept = [d for d in range(len(shape)) if d not in gone]
    out_shape = tuple(1 if d in gone else shape[d] for d in range(len(shape)) if keepdim or d not in gone)
    out = machine.empty(out_shape, array.dtype if result is None else result)
    if not out.size:
        return out
    kept_shape = [shape[d] for d in kept]
    kept_dims = collapse(kept_shape, row_major(kept_shape), [strides[d] for d in kept], reorder=False)
    reduced = collapse([shape[d] for d in gone], [strides[d] for d in gone], reorder=False)
    count = int(np.prod([shape[d] for d in gone], dtype=np.int64))
    launch_parts(machine, name, array, out, kept_dims, reduced, count, correction)
    return out


def launch_parts(
    machine: Machine, name: str, array: Any, out: Any, kept: Any, reduced: Any, count: int, correction: float
) -> None:
    """Launch by rows or by columns, then join the parts where there are several."""
    kind, to, outputs = c_name(array.dtype), c_name(out.dtype), out.size
    columns = bool(kept[0]) and kept[1][1][0] == 1 and not (reduced[0] and reduced[1][0][0] == 1) and outputs >= 32
    blocks = pieces(outputs, 32) if columns else outputs
    parts = parts_of(machine, blocks, count, 64 if columns else 2048)
    partial = machine.empty((outputs * parts * state_size(name, kind),), np.dtype("uint8")) if parts > 1 else None
    address, result = machine.address(array), machine.address(out)
    room = 0 if partial is None else machine.address(partial)
    layouts = packed(kept), packed(reduced)
    head = f"{len(layouts[0])}s{len(layouts[1])}s"
    if columns:
        launch = machine.launcher("reduction", f"reduce_columns<{name}, {kind}, {to}>", head + "qqqqdPPP")
        step = reduced[1][0][0] if len(reduced[0]) == 1 else 0
        launch(blocks, parts, 1, 32, 8, 0, *layouts, outputs, count, step, parts, correction, address, result, room)
    else:
        whole = len(reduced[0]) <= 1 and all(step == (1,) for step in reduced[1] if step)
        starts = kept[1][1]
        length = 16 // array.dtype.itemsize
        if not whole or address % 16 or any(step % length for step in starts):
            length = 1
        threads = min(256, max(32, -(-count // (parts * length * 2) // 32) * 32))
        launch = machine.launcher("reduction", f"reduce<{name}, {kind}, {to}, {length}>", head + "qqqdPPP")
        launch(outputs, parts, 1, threads, 1, 0, *layouts, count, int(whole), parts, correction, address, result, room)
    if parts > 1:
        launch = machine.launcher("reduction", f"join_parts<{name}, {kind}, {to}>", f"{len(layouts[0])}sqqqdPP")
        launch(pieces(outputs, 4), 1, 1, 128, 1, 0, layouts[0], outputs, count, parts, correction, result, room)
