"""Elementwise operators: one launch for broadcasting, strides, casts and arithmetic."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .element_types import STRUCT_CODES, c_name, compute_name
from .layout import broadcast_shape, broadcast_strides, collapse, divided, packed, row_major
from .machine import Launcher, Machine, pieces

__all__ = ["copy_into", "fill", "pointwise", "row_major_copy", "strides_of"]

THREADS = 256
#: Bytes of the widest access.
ACCESS = 16


def strides_of(array: Any) -> tuple[int, ...]:
    """Strides in elements."""
    size = array.dtype.itemsize
    return tuple(stride // size for stride in array.strides)


def pack_length(*dtypes: Any) -> int:
    """How many elements a thread takes in one access."""
    return int(ACCESS // max(dtype.itemsize for dtype in dtypes))


class Plan:
    """One call's kernel, for operands of given dtypes, shapes and strides."""

    def __init__(
        self,
        machine: Machine,
        name: str,
        common: Any,
        result: Any,
        shape: Sequence[int],
        operands: Sequence[tuple[Any, tuple[int, ...]]],
    ) -> None:
        """operands: dtype and strides in elements of the output and of each input, all of `shape`."""
        self.count = int(np.prod(shape, dtype=np.int64))
        kind, types = c_name(common), [c_name(dtype) for dtype, _ in operands]
        codes = STRUCT_CODES[compute_name(kind)]
        pointers = "P" * len(operands)
        dims = collapse(shape, *(strides for _, strides in operands))
        self.whole: Launcher | None = None
        self.aligned = ACCESS - 1
        if dims[0] == () or (len(dims[0]) == 1 and all(step == (1,) for step in dims[1])):
            length = pack_length(*(dtype for dtype, _ in operands), common)
            form = f"pointwise<{name}, {kind}, %d, {', '.join(types)}>"
            signature = f"q4{codes}{pointers}"
            self.whole = machine.launcher("elementwise", form % length, signature)
            self.per_block = THREADS * 2 * length
            self.single = functools.partial(machine.launcher, "elementwise", form % 1, signature)
        else:
            sizes = [dtype.itemsize for dtype, _ in operands]
            self.parts = [
                (packed(part), count, tuple(map(operator.mul, begins, sizes))) for part, count, begins in divided(dims)
            ]
            signature = f"{len(self.parts[0][0])}sq4{codes}{pointers}"
            self.strided = machine.launcher(
                "elementwise", f"pointwise_strided<{name}, {kind}, {', '.join(types)}>", signature
            )

    def run(self, numbers: Sequence[Any], addresses: Sequence[int]) -> None:
        """Launch; addresses: of the output and of each input."""
        count = self.count
        if not count:
            return
        if self.whole is None:
            for layout, count, begins in self.parts:
                blocks, at = -(-count // (4 * THREADS)), map(operator.add, addresses, begins)
                self.strided(blocks, 1, 1, THREADS, 1, 0, layout, count, *numbers, *at)
            return
        together = 0
        for address in addresses:
            together |= address
        if together & self.aligned:
            self.single()(-(-count // (2 * THREADS)), 1, 1, THREADS, 1, 0, count, *numbers, *addresses)
        else:
            self.whole(-(-count // self.per_block), 1, 1, THREADS, 1, 0, count, *numbers, *addresses)


_plans: dict[tuple[Any, ...], tuple[Plan, tuple[int, ...], Any]] = {}


def pointwise(
    machine: Machine, name: str, *arrays: Any, numbers: Sequence[float] = (), common: Any = None, result: Any = None,
    out: Any = None,
) -> Any:  # fmt: skip
    """Run a functor of ``cuda/elementwise.cu`` over arrays of one or several dtypes, broadcast against each other.

    Parameters
    ----------
    name
        The functor, ``"number_right<mul>"`` where its last operand is the fourth of `numbers`.
    numbers
        At most four, handed over in the compute type.
    common
        The dtype in which operands meet; the first one's where not given.
    result
        The dtype of a fresh result; `common` where not given.
    out
        An array of any strides to write to, to whose shape operands broadcast.
    """
    keys = tuple([(array.dtype, array.shape, array.strides) for array in arrays])
    target = None if out is None else (out.dtype, out.shape, out.strides)
    key = (machine, name, common, result, target, keys)
    found = _plans.get(key)
    if found is None:
        found = _plans[key] = plan(machine, name, arrays, common, result, out)
    made, shape, dtype = found
    if out is None:
        out = machine.empty(shape, dtype)
    address = machine.address
    given = (*numbers, 0, 0, 0, 0)[:4] if len(numbers) < 4 else numbers
    made.run(given, [address(out), *map(address, arrays)])
    return out


def plan(
    machine: Machine, name: str, arrays: Sequence[Any], common: Any, result: Any, out: Any
) -> tuple[Plan, tuple[int, ...], Any]:
    """The plan of a call, with shape and dtype of its result."""
    common = np.dtype(arrays[0].dtype if common is None else common)
    shape = broadcast_shape(*(array.shape for array in arrays)) if out is None else tuple(out.shape)
    if out is None:
        dtype, strides = np.dtype(common if result is None else result), row_major(shape)
    else:
        if broadcast_shape(shape, *(array.shape for array in arrays)) != shape:
            raise ValueError(f"operands do not broadcast to the output's shape {shape}")
        dtype, strides = out.dtype, strides_of(out)
    operands = [(dtype, strides)]
    operands += [(array.dtype, broadcast_strides(array.shape, strides_of(array), shape)) for array in arrays]
    return Plan(machine, name, common, dtype, shape, operands), shape, dtype


def copy_into(machine: Machine, out: Any, source: Any) -> Any:
    """Write `source`, broadcast and cast, into an array of any strides."""
    return pointwise(machine, "copy", source, out=out)


def row_major_copy(machine: Machine, source: Any, dtype: Any = None) -> Any:
    """A fresh row-major array of the same elements, cast where a dtype is given."""
    return pointwise(machine, "copy", source, result=source.dtype if dtype is None else dtype)


def fill(machine: Machine, out: Any, value: float, common: Any = None) -> Any:
    """A number in every element of an array of any strides."""
    kind = c_name(np.dtype(out.dtype if common is None else common))
    codes = STRUCT_CODES[compute_name(kind)]
    for dims, count, (begin,) in divided(collapse(out.shape, strides_of(out))):
        layout, address = packed(dims), machine.address(out) + begin * out.dtype.itemsize
        launch = machine.launcher("elementwise", f"fill<{c_name(out.dtype)}, {kind}>", f"{len(layout)}sq4{codes}P")
        if count:
            launch(pieces(count, 4 * THREADS), 1, 1, THREADS, 1, 0, layout, count, value, 0, 0, 0, address)
    return out
