"""Kernels over MindSpore's tensors, as tables: overload name -> function."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from mt_core.dispatch.kernel import Accepts
from mt_core.dispatch.registry import find_overload, register_kernel

from .array import MindSporeArray
from .calls import NUMBERS, first_array, opener, unavailable
from .quick import quick_kernel, quick_product, quick_sum

__all__ = ["Entry", "Primitive", "Refused", "Single", "Table", "enter", "tables_of"]

Callee = Callable[..., Any]


class Refused(Exception):
    """Carries what an operator raises for its elements, past what translates MindSpore's own errors."""


class Single:
    """What a kernel gives for a 0-dim result that it calculated as a tensor with dimensions, of one element."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


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
    accepts
        For which arguments it stands before what an earlier table, or else a composite, does; None: for all.
    """

    __slots__ = ("function", "takes", "half", "numbers", "accepts")

    def __init__(
        self, function: Callee, takes: str = "", half: str | None = None, numbers: bool = False,
        accepts: Accepts | None = None,
    ) -> None:  # fmt: skip
        self.function = function
        self.takes = takes
        self.half = half
        self.numbers = numbers
        self.accepts = accepts


class Primitive:
    """A primitive that is a whole kernel, for operands of the dtypes of these letters of NumPy's.

    Parameters that are no operands are at their defaults.
    """

    __slots__ = ("function", "takes")

    def __init__(self, function: Callee, takes: str) -> None:
        self.function = function
        self.takes = takes


class Table(dict[str, Entry]):
    """Overload name -> its kernel on one target.

    Attributes
    ----------
    primitives
        Overload name -> the primitive that serves the plainest calls: of elementwise operators of one or two operands,
        products of matrices, and ``sum``.
    inplace
        Overload name -> what writes the result into the first operand, of an elementwise operator; it gives False
        where it has written nothing.
    """

    def __init__(self) -> None:
        super().__init__()
        self.primitives: dict[str, Primitive] = {}
        self.inplace: dict[str, Callable[..., bool]] = {}

    def kernel(self, *names: str, takes: str = "", half: str | None = None, numbers: bool = False) -> Callee:
        """Decorator: the function is the kernel of these overloads."""

        def enter(function: Callee) -> Callee:
            for name in names:
                self[name] = Entry(function, takes, half, numbers)
            return function

        return enter

    def functions(
        self, functions: dict[str, Callee], takes: str = "", half: str | None = None, numbers: bool = False,
        accepts: Accepts | None = None,
    ) -> None:  # fmt: skip
        """Enter functions of MindSpore's as they are."""
        for name, function in functions.items():
            self[name] = Entry(function, takes, half, numbers, accepts)


def tables_of(target: str) -> list[Table]:
    """The tables of a device target; what a later one has stands before what an earlier one has."""
    own = ("cpu", "cpu_ordered", "cpu_arithmetic") if target == "CPU" else ("ascend",)
    names = ("common", "windows", "rows", *own)
    return [importlib.import_module(f"{__package__}.kernels.{name}").TABLE for name in names]


def enter(backend: Any, key: int) -> None:
    """Register the kernels of a backend's target."""
    served: dict[str, list[Entry]] = {}
    primitives: dict[str, Primitive] = {}
    inplace: dict[str, Callable[..., bool]] = {}
    for table in tables_of(backend.target):
        for name, entry in table.items():
            served[name] = [*served.get(name, ()), entry] if entry.accepts is not None else [entry]
        primitives.update(table.primitives)
        inplace.update(table.inplace)
    for name, entries in served.items():
        for entry in entries:  # registered last, so asked first
            run = _over_arrays(backend, name, entry)
            if _fills(name):
                filled = filling(backend, run, inplace.get(name))
                register_kernel(key, (name,), filled, accepts=entry.accepts, out="fills", half=entry.half)
                continue
            if name in primitives:
                make = quick_sum if name == "sum" else quick_product
                run = make(backend, name, primitives[name].function, primitives[name].takes, run)
            register_kernel(key, (name,), run, accepts=entry.accepts, half=entry.half)
        if name in primitives and _fills(name):
            primitive = primitives[name]
            quick = quick_kernel(backend, name, primitive.function, primitive.takes, run)
            accepts = Accepts(defaults=quick.left_out) if quick.left_out else None
            register_kernel(key, (name,), quick.function, accepts=accepts, out="fills", half=entries[-1].half)


def _fills(name: str) -> bool:
    overload = find_overload(name)
    return overload.declaration.kind == "elementwise" and len(overload.schema.returns) == 1


def _over_arrays(backend: Any, name: str, entry: Entry) -> Callee:
    """A kernel of the core's: it opens arrays, and makes arrays of what MindSpore gives."""
    function, takes = entry.function, entry.takes
    fresh, single = backend.memory.fresh, backend.memory.single
    open_one, number = opener(backend), backend.memory.number
    target = backend.target

    def run(*args: Any) -> Any:
        if takes or entry.numbers:
            first = first_array(args)
            if first is not None:
                if takes and first.char not in takes:
                    raise NotImplementedError(f"{name}: MindSpore has no kernel for {first} on its target {target}")
                if entry.numbers:
                    args = tuple([number(a, first) if a.__class__ in NUMBERS else a for a in args])
        given = [open_one(a) for a in args]
        try:
            result = function(*given)
        except Refused as refused:
            raise refused.args[0] from None
        except (RuntimeError, TypeError, ValueError) as error:
            raise unavailable(name, error) from error
        return close(result)

    def close(result: Any) -> Any:
        if isinstance(result, (tuple, list)):
            return tuple([close(part) for part in result])
        if result.__class__ is Single:
            return single(result.tensor)
        return result if result is None or result.__class__ is MindSporeArray else fresh(result)

    return run


def filling(backend: Any, run: Callable[..., Any], write: Callable[..., bool] | None = None) -> Callable[..., Any]:
    """A kernel that also writes its result into a given array: by `write` where that is the first operand."""
    copy = backend.copy
    open_one = opener(backend)

    def fill(*args: Any, out: Any = None) -> Any:
        if out is not None and write is not None and args[0] is out and write(*[open_one(a) for a in args]):
            return out
        made = run(*args)
        if out is None:
            return made
        copy(out, made)
        return out

    return fill
