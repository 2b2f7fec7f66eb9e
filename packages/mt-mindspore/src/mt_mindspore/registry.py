"""Kernels over MindSpore's tensors, as tables: overload name -> function."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from mt_core.dispatch.registry import register_kernel

from .array import MindSporeArray

__all__ = ["Entry", "Refused", "Table", "enter", "tables_of"]

Callee = Callable[..., Any]


class Refused(Exception):
    """Carries what an operator raises for its elements, past what translates MindSpore's own errors."""


class Entry:
    """A kernel, as a table has it.

    Attributes
    ----------
    function
        Takes MindSpore's tensors in place of arrays, and the rest of the arguments as kernels do; returns tensors that
        share no memory with its arguments.
    takes
        NumPy's letters of the element types that it calculates rightly in, of the first array; all where empty. Others
        are refused by name.
    half
        As in `mt_core.dispatch.kernel.Kernel`.
    numbers
        Whether Python's numbers among the arguments are operands: they become 0-dim tensors of the dtype of the first
        array.
    """

    __slots__ = ("function", "takes", "half", "numbers")

    def __init__(self, function: Callee, takes: str = "", half: str | None = None, numbers: bool = False) -> None:
        self.function = function
        self.takes = takes
        self.half = half
        self.numbers = numbers


class Table(dict[str, Entry]):
    """Overload name -> its kernel on one target."""

    def kernel(self, *names: str, takes: str = "", half: str | None = None, numbers: bool = False) -> Callee:
        """Decorator: the function is the kernel of these overloads."""

        def enter(function: Callee) -> Callee:
            for name in names:
                self[name] = Entry(function, takes, half, numbers)
            return function

        return enter

    def functions(
        self, functions: dict[str, Callee], takes: str = "", half: str | None = None, numbers: bool = False
    ) -> None:
        """Enter functions of MindSpore's as they are."""
        for name, function in functions.items():
            self[name] = Entry(function, takes, half, numbers)


def tables_of(target: str) -> list[Table]:
    """The tables of a device target; what a later one has stands before what an earlier one has."""
    names = ("common", "windows", *(("cpu", "cpu_ordered") if target == "CPU" else ("ascend",)))
    return [importlib.import_module(f"{__package__}.kernels.{name}").TABLE for name in names]


def enter(backend: Any, key: int) -> None:
    """Register the kernels of a backend's target."""
    merged: dict[str, Entry] = {}
    for table in tables_of(backend.target):
        merged.update(table)
    for name, entry in merged.items():
        register_kernel(key, (name,), _over_arrays(backend, name, entry), half=entry.half)


def _over_arrays(backend: Any, name: str, entry: Entry) -> Callee:
    """A kernel of the core's: it opens arrays, and makes arrays of what MindSpore gives."""
    function, takes, fresh, opened = entry.function, entry.takes, backend.memory.fresh, backend.memory.opened
    number = backend.memory.number
    target = backend.target

    # Some kernels of the CPU target misread strides, without an error; those of Ascend take them.
    row_major = target == "CPU"

    def open_one(value: Any) -> Any:
        if value.__class__ is MindSporeArray:
            tensor = value.tensor if value.tensor is not None else opened(value)
            return tensor if not row_major or tensor.is_contiguous() else tensor.contiguous()
        if value.__class__ is list or value.__class__ is tuple:
            return value.__class__([open_one(item) for item in value])
        return value

    def run(*args: Any) -> Any:
        if takes or entry.numbers:
            first = first_array(args)
            if first is not None:
                if takes and first.char not in takes:
                    raise NotImplementedError(f"{name}: MindSpore has no kernel for {first} on its target {target}")
                if entry.numbers:
                    args = tuple([number(a, first) if a.__class__ in _NUMBERS else a for a in args])
        given = [open_one(a) for a in args]
        try:
            result = function(*given)
        except Refused as refused:
            raise refused.args[0] from None
        except (RuntimeError, TypeError, ValueError) as error:
            # What the operator may refuse has been refused before: MindSpore lacks a kernel for this.
            raise NotImplementedError(f"{name}: {_first_line(error)}") from error
        return close(result)

    def close(result: Any) -> Any:
        if isinstance(result, (tuple, list)):
            return tuple([close(part) for part in result])
        return result if result is None or result.__class__ is MindSporeArray else fresh(result)

    return run


_NUMBERS = frozenset((bool, int, float, complex))


def first_array(args: Any) -> Any:
    """The NumPy dtype of the first array among arguments, also within lists; None where there is none."""
    for value in args:
        if value.__class__ is MindSporeArray:
            return value.dtype
        if value.__class__ is list or value.__class__ is tuple:
            found = first_array(value)
            if found is not None:
                return found
    return None


def _first_line(error: Exception) -> str:
    text = next((line for line in str(error).splitlines() if line.strip()), error.__class__.__name__)
    return f"MindSpore says: {text.strip()}"
