"""Sizes of arguments that vary from call to call: which they are, their symbols, and what a graph asks of them.

A size that varies is a symbol while the program is captured, and an integer that its graph is given. What the program
relied on of it (`ShapeEnv.guards`) is asked of each call, together with the sizes that are numbers.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from mt_core import Tensor, formats, symbolic
from mt_core.symbolic import SymInt, has_symbols

from .._capturing import is_compiling, is_exporting, is_library
from .._sources import ConstantSource, Source
from ..fx.experimental._symbolic_contexts import (
    DimDynamic,
    RelaxedUnspecConstraint,
    StatelessSymbolicContext,
    StrictMinMaxConstraint,
)
from . import config

if TYPE_CHECKING:
    from .convert_frame import Arguments

__all__ = ["SizeHistory", "Symbols", "free_sizes", "marks_of"]


def _class_asked(kind: type) -> type:
    """What a program that is captured takes a symbolic number for: the number that it was written for."""
    if is_compiling() and not is_exporting():
        frame = sys._getframe(2)
        if not is_library(frame.f_globals.get("__name__")):
            return _PLAIN[kind]
    return kind


_PLAIN: dict[type, type] = {symbolic.SymInt: int, symbolic.SymFloat: float, symbolic.SymBool: bool}


def marks_of(tensor: Tensor) -> tuple[Any, ...] | None:
    """What is said of a tensor's sizes by `mark_dynamic` and kin; None for nothing."""
    held = tensor.__dict__
    if "_has_dynamo_dim_marking" not in held:
        return None
    names = ("_dynamo_dynamic_indices", "_dynamo_weak_dynamic_indices", "_dynamo_static_indices")
    return *(frozenset(held.get(name, ())) for name in names), frozenset(held.get("_dynamo_dynamic_range", ()))


class SizeHistory:
    """The sizes with which a program was captured: those that differed are taken to vary."""

    def __init__(self) -> None:
        self._sizes: dict[int, tuple[int | None, ...]] = {}

    def note(self, tensors: list[Tensor]) -> None:
        """Note the sizes of a capture."""
        for number, tensor in enumerate(tensors):
            sizes: tuple[int | None, ...] = tuple(tensor.shape)
            before = self._sizes.get(number, sizes)
            if len(before) == len(sizes):
                sizes = tuple(a if a == b else None for a, b in zip(before, sizes, strict=True))
            self._sizes[number] = sizes

    def varies(self, number: int, dim: int) -> bool:
        """Whether a size of an argument has differed."""
        return self._sizes[number][dim] is None


def free_sizes(arguments: Arguments, dynamic: bool | None, history: SizeHistory) -> Symbols | None:
    """The sizes of a call that are to be symbols; None where all are numbers.

    Parameters
    ----------
    dynamic
        All sizes (True), those that were marked (False), or also those that have differed between captures (None).

    Raises
    ------
    ImportError
        Where sympy is needed and not there.
    """
    contexts = [_wanted(tensor, number, dynamic, history) for number, tensor in enumerate(arguments.tensors)]
    numbers = {i for i, value in enumerate(arguments.integers) if dynamic and value not in (0, 1)}
    if not numbers and not any(contexts):
        return None
    asked = dynamic or any(marks is not None and (marks[0] or marks[1]) for marks in map(marks_of, arguments.tensors))
    if not asked and importlib.util.find_spec("sympy") is None:
        return None  # a graph for each size: nobody has asked for more
    return Symbols(contexts, numbers, bool(asked))


#: What is wanted of each size: "duck", "own", a range with "own", or None for a number.
_Wish = tuple[str, Any]


def _wanted(tensor: Tensor, number: int, dynamic: bool | None, history: SizeHistory) -> list[_Wish | None] | None:
    """What is wanted of the sizes of an argument; None where all are numbers."""
    if type(tensor) is not Tensor or tensor.layout is not formats.strided or tensor.is_leaf and tensor.grad is not None:
        return None
    marks = marks_of(tensor)
    marked, weak, fixed, ranges = marks if marks is not None else (frozenset(),) * 4
    automatic = dynamic is None and config.automatic_dynamic_shapes and config.assume_static_by_default
    everything = dynamic or dynamic is None and not config.assume_static_by_default
    found: list[_Wish | None] = []
    for dim in range(tensor.dim()):
        if dim in marked:
            found.append(("marked", next(((low, high) for d, low, high in ranges if d == dim), (None, None))))
        elif dim in weak or automatic and dim not in fixed and history.varies(number, dim):
            found.append(("own", None))
        else:
            found.append(("duck", None) if everything and dim not in fixed else None)
    return found if any(found) else None


class Symbols:
    """The symbols of a call's sizes and integers, while it is captured; afterwards, what the graph asks of a call.

    Parameters
    ----------
    wanted
        What is wanted of the sizes of each tensor.
    numbers
        Which of the integers are symbols.
    is_asked_for
        Whether the caller has asked for them; else they are a guess, and a graph without will do.
    """

    def __init__(self, wanted: list[list[_Wish | None] | None], numbers: set[int], is_asked_for: bool) -> None:
        from ..fx.experimental.symbolic_shapes import ShapeEnv  # late: it needs sympy

        symbolic.class_asked = _class_asked
        self.env = ShapeEnv(allow_scalar_outputs=False, allow_dynamic_output_shape_ops=False)
        self.is_asked_for = is_asked_for
        self._wanted, self._numbers = wanted, numbers
        #: (where it is, what it is called, what stands for it, its context), of arguments with symbols
        self._placed: list[tuple[str, str, Any, Any]] = []
        #: symbol -> (where it is read, the number of the argument if that is a tensor)
        self.readers: dict[Any, tuple[str, int | None]] = {}
        self._fixed: list[tuple[int, tuple[Any, ...], tuple[Any, ...]]] = []
        self._integers: list[int] = []
        self._marks: list[Any] = []
        self._holds: Callable[[list[Tensor], list[int]], bool] = _always

    # Before the program runs

    def fake(self, mode: Any, number: int, tensor: Tensor, source: str) -> Any:
        """The fake tensor of an argument."""
        wanted = self._wanted[number]
        if wanted is None:
            made = mode.from_tensor(tensor, static_shapes=True)
        else:
            context = _context(wanted)
            made = mode.from_tensor(tensor, source=ConstantSource(source), symbolic_context=context)
            self._placed.append((f"t[{number}]", source, made, context))
            for text, value in _layout(made):
                if isinstance(value, SymInt) and value.node._expr.is_Symbol:
                    self.readers.setdefault(value.node._expr, (f"t[{number}].{text}", number))
        return made

    def integer(self, number: int, value: int, source: str) -> Any:
        """What the program is given for an integer among the arguments."""
        if number not in self._numbers:
            return value
        made = self.env.create_unspecified_symint_and_symbol(value, ConstantSource(source), DimDynamic.DYNAMIC)
        self._placed.append((f"n[{number}]", source, made, None))
        self.readers.setdefault(made.node._expr, (f"n[{number}]", None))
        return made

    def symbols_of(self, fake: Any) -> list[Any]:
        """The symbols of an argument, in the order of its sizes, strides and offset."""
        found: dict[Any, None] = {}
        for _, value in _layout(fake) if isinstance(fake, Tensor) else [("", fake)]:
            if isinstance(value, SymInt):
                found.update(dict.fromkeys(sorted(value.node._expr.free_symbols & self.readers.keys(), key=str)))
        return list(found)

    # Afterwards

    def settle(self, arguments: Arguments) -> None:
        """Take down what the program relied on.

        Raises
        ------
        torch.fx.experimental.symbolic_shapes.ConstraintViolationError
            For a size that was marked to vary and may not.
        """
        self.env.watcher = None
        values = [value for _, _, value, _ in self._placed]
        contexts = [context for _, _, _, context in self._placed]
        named = [ConstantSource(source) for _, source, _, _ in self._placed]
        placed = [ConstantSource(place) for place, _, _, _ in self._placed]
        self.env.produce_guards(values, named, input_contexts=contexts)
        found = dict.fromkeys(self.env.produce_guards(values, placed, self._place_of))
        text = " and ".join(f"({part})" for part in found) or "True"
        names = {"math": math, "max": max, "min": min}
        self._holds = eval(f"lambda t, n: {text}", names)  # noqa: S307 - the text of our own printer
        fakes = {place: value for place, _, value, _ in self._placed}
        for number, tensor in enumerate(arguments.tensors):
            fake = fakes.get(f"t[{number}]", tensor)
            self._fixed.append((number, _numbers(fake.shape, tensor.shape), _numbers(fake.stride(), tensor.stride())))
        self._integers = list(arguments.integers)
        self._marks = [marks_of(tensor) for tensor in arguments.tensors]

    def _place_of(self, source: Source) -> str:
        """What reads a number off the arguments of a call, also one that is no size, as that of the bytes of memory."""
        for place, name, _, _ in self._placed:
            if source.name.startswith(name):
                return place + source.name.removeprefix(name)
        return source.name

    def serves(self, arguments: Arguments) -> bool:
        """Whether what the program relied on holds for another call with arguments of the same structure."""
        tensors, integers = arguments.tensors, arguments.integers
        for number, sizes, strides in self._fixed:
            tensor = tensors[number]
            if not _fits(tensor.shape, sizes) or not _fits(tensor.stride(), strides):
                return False
        for number, value in enumerate(integers):
            if number not in self._numbers and value != self._integers[number]:
                return False
        if not all(map(_covers, self._marks, map(marks_of, tensors))):
            return False
        return bool(self._holds(tensors, integers))

    def read(self, symbol: Any) -> Callable[[list[Tensor], list[int]], int]:
        """What reads the value of a symbol off the arguments of a call."""
        return eval(f"lambda t, n: {self.readers[symbol][0]}", {})  # type: ignore[no-any-return] # noqa: S307


def _always(tensors: list[Tensor], integers: list[int]) -> bool:
    raise AssertionError("the sizes of a capture are asked before it has ended")


def _layout(tensor: Any) -> Iterator[tuple[str, Any]]:
    yield from ((f"size()[{i}]", size) for i, size in enumerate(tensor.shape))
    yield from ((f"stride()[{i}]", step) for i, step in enumerate(tensor.stride()))
    yield "storage_offset()", tensor.storage_offset()


def _numbers(values: Any, given: Any) -> tuple[Any, ...]:
    """Of a layout, the numbers of the example where it has numbers; None elsewhere."""
    if not has_symbols(values):
        return tuple(given)
    return tuple(None if isinstance(a, SymInt) and a.node._expr.free_symbols else b for a, b in zip(values, given, strict=True))  # fmt: skip # noqa: E501


def _fits(values: Any, wanted: tuple[Any, ...]) -> bool:
    return all(b is None or a == b for a, b in zip(values, wanted, strict=True))


def _covers(captured: Any, given: Any) -> bool:
    """Whether a graph for a tensor with marks serves one with others: what is marked to vary must have been so."""
    if given is None or given == captured:
        return True
    if captured is None:
        return not given[0] and not given[1]
    return given[0] <= captured[0] and given[1] <= captured[0] | captured[1]


def _context(wanted: list[_Wish | None]) -> Any:
    from ..fx.experimental.symbolic_shapes import ValueRanges, int_oo  # late: they need sympy

    how: list[DimDynamic] = []
    constraints: list[Any] = []
    for wish in wanted:
        kind, bounds = wish or ("fixed", (None, None))
        how.append(
            DimDynamic.STATIC if wish is None else DimDynamic.DUCK if kind == "duck" else DimDynamic.DYNAMIC
        )  # fmt: skip
        if kind != "marked":
            constraints.append(None)
        elif bounds == (None, None):
            constraints.append(RelaxedUnspecConstraint(warn_only=False))
        else:
            low, high = bounds
            values = ValueRanges(0 if low is None else low, int_oo if high is None else high)
            constraints.append(StrictMinMaxConstraint(warn_only=False, vr=values))
    return StatelessSymbolicContext(dynamic_sizes=how, constraint_sizes=constraints)
