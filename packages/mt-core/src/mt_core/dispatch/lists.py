"""Kernels of operators over lists that take rows of tensors alike, many at a time.

Such a kernel (`Accepts.alike`, of an operator whose first argument is a list) gets lists of arrays and may work on them
in any order: row by row, or all rows at each step. That is sound where no written tensor shares memory with another
row's, which is asked here in one pass; all other calls go the ordinary way, item by item.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..cell import Cell
from ..keys import STRIDED
from ..state import nested
from ..tensor import new_tensor
from ..tensor_types import TENSORS
from .kernel import Kernel, runner_for

__all__ = ["fresh", "into"]

Callee = Callable[..., Any]

#: Numbers beyond are refused by some dtypes.
_HELD = 3.4e38


def into(kernel: Kernel, otherwise: Callee, backend: Any) -> Callee:
    """A kernel that writes into the tensors of its first argument; returns nothing."""
    function, runner = kernel.function, runner_for(kernel, backend)

    def run(*args: Any) -> None:
        given = _arrays(args, kernel, backend)
        if given is None or not _are_apart(args):
            otherwise(*args)
            return
        try:
            runner.run_kernel(function, *given)
        except RuntimeError as error:
            nested(error, function, *given)
        for tensor in args[0]:
            cell = tensor._cell
            if cell is None:
                cell = tensor._cell = Cell(tensor)
            cell.version += 1

    return run


def fresh(kernel: Kernel, otherwise: Callee, backend: Any, keys: int) -> Callee:
    """A kernel that makes arrays of the dtype and shapes of its first argument's."""
    function, runner = kernel.function, runner_for(kernel, backend)

    def run(*args: Any) -> Any:
        given = _arrays(args, kernel, backend)
        if given is None:
            return otherwise(*args)
        try:
            made = runner.run_kernel(function, *given)
        except RuntimeError as error:
            made = nested(error, function, *given)
        d, as_array = args[0][0]._dtype, backend.as_array
        return tuple([new_tensor(as_array(array), d, keys) for array in made])

    return run


def _arrays(args: tuple[Any, ...], kernel: Kernel, backend: Any) -> list[Any] | None:
    """The arguments with arrays in place of tensors; None unless the tensors of each row are alike.

    Alike: of the list's one dtype, on the backend, row-major, and of one shape. Numbers must be real and within the
    range of all floating-point dtypes that kernels compute in.
    """
    first = args[0]
    if not first or first[0].__class__ not in TENSORS:
        return None
    d, count, array_type = first[0]._dtype, len(first), backend.array_type
    if kernel.accepts.dtypes is not None and d not in kernel.accepts.dtypes:
        return None
    given: list[Any] = []
    shapes = None
    value: Any
    for value in args:
        if value.__class__ is not list and value.__class__ is not tuple:
            if value.__class__ not in _NUMBERS or not -_HELD < value < _HELD:
                return None
            given.append(value)
        elif len(value) != count:
            return None
        elif value[0].__class__ in TENSORS:
            arrays = []
            for t in value:
                array = t._array
                if t._dtype is not d or t._keys & STRIDED or array.__class__ is not array_type:
                    return None
                arrays.append(array)
            own = [array.shape for array in arrays]
            if shapes is None:
                shapes = own
            elif own != shapes:
                return None
            given.append(arrays)
        else:
            for n in value:
                if n.__class__ not in _NUMBERS or not -_HELD < n < _HELD:
                    return None
            given.append(value)
    return given


_NUMBERS: frozenset[Any] = frozenset((float, int))


def _are_apart(args: tuple[Any, ...]) -> bool:
    """Whether no written tensor shares memory with another row's."""
    first = args[0]
    written = {_memory(t) for t in first}
    if len(written) != len(first):
        return False
    for value in args[1:]:
        if (value.__class__ is list or value.__class__ is tuple) and value[0].__class__ in TENSORS:
            for t, target in zip(value, first, strict=True):
                if t is not target and _memory(t) in written:
                    return False
    return True


def _memory(tensor: Any) -> int:
    """What tensors on one storage have in common (`mt_core.dispatch.memory.share_memory`)."""
    cell = tensor._cell
    if cell is None:
        return id(tensor)
    block = cell.block
    return id(cell) if block is None else id(block)
