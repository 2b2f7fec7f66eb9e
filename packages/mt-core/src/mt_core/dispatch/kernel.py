"""The record of a backend's kernel: a function, what it accepts, and where its result goes.

An operator has a list of them on each backend; the first that accepts a call carries it out. That is how a native
kernel for float32, one over a whole array library, and a fused form for the plainest case stand side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from ..keys import STRIDED
from ..schema import Schema
from ..state import DirectRunner, QuietRunner, nested, tls
from ..tensor_types import TENSORS

__all__ = ["ANYTHING", "Accepts", "Kernel", "are_alike", "quiet", "runner_for"]


class Accepts:
    """What a kernel takes as it is. Every condition speaks of the arguments' description alone, never of elements.

    Parameters
    ----------
    dtypes
        The dtype that all tensor arguments share must be one of these; a mapping gives the dtypes of each named
        argument instead, and says nothing of the others.
    layout : {"any", "row_major"}
        What every tensor must be laid out like.
    ranks
        Argument name -> the numbers of dimensions it may have.
    defaults
        Arguments that must have the schema's default.
    alike : bool
        For kernels that write into their first array: all tensors must have one shape, lie row by row, and each be the
        first itself or on other memory; numbers must be real. Of an operator over lists the same holds for each row of
        items, and no written item shares memory with another row (`mt_core.dispatch.lists`).
    also
        A further condition on all arguments of the schema, tensors as tensors; it reads no elements.
    """

    __slots__ = ("dtypes", "layout", "ranks", "defaults", "alike", "also")

    def __init__(
        self, *, dtypes: Collection[Any] | Mapping[str, Collection[Any]] | None = None, layout: str = "any",
        ranks: Mapping[str, Collection[int]] | None = None, defaults: Iterable[str] = (), alike: bool = False,
        also: Callable[..., bool] | None = None,
    ) -> None:  # fmt: skip
        if layout not in ("any", "row_major"):
            raise ValueError(f"a kernel's layout is 'any' or 'row_major', not {layout!r}")
        self.dtypes = dtypes
        self.layout = layout
        self.ranks = dict(ranks or {})
        self.defaults = frozenset(defaults)
        self.alike = alike
        self.also = also

    def everything(self) -> bool:
        """Whether there is no condition."""
        return (
            self.dtypes is None and self.layout == "any" and not self.ranks and not self.defaults
            and not self.alike and self.also is None
        )  # fmt: skip

    def check_names(self, schema: Schema) -> None:
        """Refuse names that the schema does not have.

        Raises
        ------
        ValueError
            Naming them.
        """
        named = {*self.ranks, *self.defaults, *(self.dtypes if isinstance(self.dtypes, Mapping) else ())}
        unknown = sorted(named - {a.name for a in schema.arguments})
        if unknown:
            raise ValueError(f"{schema.full_name} has no argument {', '.join(unknown)}")

    def takes(self, schema: Schema, args: tuple[Any, ...]) -> bool:
        """Whether the kernel takes these arguments, which are bound to the schema."""
        for argument, value in zip(schema.arguments, args, strict=True):
            if argument.name in self.defaults and not is_default(value, argument.default):
                return False
            if argument.name in self.ranks and not self._has_rank(argument.name, value):
                return False
        if self.alike and not are_alike(args):
            return False
        return self._takes_tensors(schema, args) and (self.also is None or bool(self.also(*args)))

    def _has_rank(self, name: str, value: Any) -> bool:
        return value.__class__ not in TENSORS or value._array.ndim in self.ranks[name]

    def _takes_tensors(self, schema: Schema, args: tuple[Any, ...]) -> bool:
        named = self.dtypes if isinstance(self.dtypes, Mapping) else None
        shared = set()
        for argument, value in zip(schema.arguments, args, strict=True):
            for tensor in value if isinstance(value, (list, tuple)) else (value,):
                if tensor.__class__ not in TENSORS:
                    continue
                if self.layout == "row_major" and tensor._keys & STRIDED:
                    return False
                if named is None:
                    shared.add(tensor._dtype)
                elif argument.name in named and tensor._dtype not in named[argument.name]:
                    return False
        if self.dtypes is None or named is not None:
            return True
        return len(shared) == 1 and shared.pop() in self.dtypes


def are_alike(args: tuple[Any, ...]) -> bool:
    """Whether tensors have one dtype and shape, lie row by row, and each is the first or on other memory.

    What is no tensor must be a real number. Rows of lists are asked after elsewhere (`mt_core.dispatch.lists`), and not
    at all where an operator over lists has several kernels.
    """
    first = args[0]
    if first.__class__ not in TENSORS:
        return False
    d, shape, cell = first._dtype, first._array.shape, first._cell
    if first._keys & STRIDED:
        return False
    for value in args[1:]:
        if value.__class__ not in TENSORS:
            if value.__class__ is not float and value.__class__ is not int:
                return False
        elif value is not first:
            if value._dtype is not d or value._array.shape != shape or value._keys & STRIDED:
                return False
            other = value._cell
            if (
                cell is not None
                and other is not None
                and (cell is other or cell.block is not None and cell.block is other.block)
            ):
                return False
    return True


def is_default(value: Any, default: Any) -> bool:
    """Whether an argument is the default, of its class: True is not 1."""
    return value is default or value.__class__ is default.__class__ and bool(value == default)


ANYTHING = Accepts()


class Kernel:
    """A backend's implementation of an operator.

    Attributes
    ----------
    function
        Takes the schema's arguments in order, but for those that it accepts at their default only: backend arrays in
        place of tensors, the rest as the shape rule normalized it (`mt_core.spec.Spec.arguments`).
    accepts
        What it takes; other calls go to the next kernel of the operator.
    out : {"fresh", "fills", "first"}
        Where the result goes: into fresh arrays that are returned; into a given array, the keyword ``out=`` (it also
        returns fresh ones where none is given, and broadcasts its inputs); or, of an in-place operator, into the
        arrays of the arguments that the schema says are written.
    half : {None, "float32", "native"}
        How dtypes that the backend does not compute in (`Backend.native`) reach it: half and 8-bit floats as float32,
        the result rounded once; "native", as they are stored (kernels that only move data); "float32", widened even
        where the backend could compute in them.
    recorded : bool
        False for the fused form of a composite: it is used where no gradient is recorded; elsewhere the composite's
        parts are.
    own
        Whether the backend itself registered it, while loading; it then stands behind what others register.
    """

    __slots__ = ("function", "accepts", "out", "half", "recorded", "own")

    def __init__(
        self, function: Callable[..., Any], accepts: Accepts = ANYTHING, out: str = "fresh", half: str | None = None,
        recorded: bool = True, own: bool = False,
    ) -> None:  # fmt: skip
        if out not in ("fresh", "fills", "first"):
            raise ValueError(
                f"a kernel's result is 'fresh', 'fills' what is given, or goes into the 'first', not {out!r}"
            )
        if half not in (None, "float32", "native"):
            raise ValueError(f"half types reach a kernel as 'float32' or 'native', not {half!r}")
        self.function = function
        self.accepts = accepts
        self.out = out
        self.half = half
        self.recorded = recorded
        self.own = own

    def __repr__(self) -> str:
        return (
            f"<Kernel {getattr(self.function, '__module__', '')}.{getattr(self.function, '__name__', self.function)}>"
        )


def runner_for(kernel: Kernel, backend: Any) -> Any:
    """What runs a kernel by ``run_kernel(function, *args)``, without floating-point warnings of NumPy's."""
    if not getattr(backend, "numpy_errors", True):
        return DirectRunner
    return tls if kernel.own else QuietRunner


def quiet(kernel: Kernel, backend: Any) -> Callable[..., Any]:
    """A kernel's function as executors call it; see `runner_for`."""
    function, runner = kernel.function, runner_for(kernel, backend)
    if runner is DirectRunner:
        return function

    def run(*args: Any, **out: Any) -> Any:
        try:
            return runner.run_kernel(function, *args, **out)
        except (RuntimeError, MemoryError) as error:
            return nested(error, function, *args, **out)

    return run
