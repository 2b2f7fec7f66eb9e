"""Registering CPU kernels: one constructor for each recurring kind of `mt_core.dispatch.kernel.Kernel`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from mt_core.dispatch.kernel import Accepts
from mt_core.dispatch.registry import register_kernel
from mt_core.dtypes import float32, float64
from mt_core.keys import CPU

__all__ = ["FLOATS", "fused", "into_first", "kernel", "kernels", "short_view"]

F = TypeVar("F", bound=Callable[..., Any])

#: The real floating dtypes that NumPy computes in.
FLOATS = frozenset((float32, float64))


def kernel(
    *names: str, half: str | None = None, accepts: Accepts | None = None, fills: bool = False
) -> Callable[[F], F]:
    """Decorator: the function is the CPU kernel of these overloads.

    Parameters
    ----------
    half
        ``"native"`` where it takes half types as they are stored; else it gets them as float32.
    accepts
        What it takes, where that is not everything. A later registration of an operator is asked before an earlier one.
    fills
        Whether it takes ``out=``, an array for its result.
    """

    def enter(function: F) -> F:
        register_kernel(CPU, names, function, accepts=accepts, out="fills" if fills else "fresh", half=half)
        return function

    return enter


def kernels(
    table: dict[str, Any], *, half: str | None = None, fills: bool = True, accepts: Accepts | None = None
) -> None:
    """Enter a table of overload name -> function; by default NumPy ufuncs, which take ``out=``."""
    for name, function in table.items():
        register_kernel(CPU, (name,), function, accepts=accepts, out="fills" if fills else "fresh", half=half)


def fused(name: str, accepts: Accepts) -> Callable[[F], F]:
    """Decorator: the function is a composite in one piece, used where no gradient is recorded."""

    def enter(function: F) -> F:
        register_kernel(CPU, (name,), function, accepts=accepts, recorded=False)
        return function

    return enter


def into_first(table: dict[str, Any], *, also: Callable[..., bool] | None = None) -> None:
    """Enter in-place overload -> function that writes its result into the first of several arrays alike.

    The arrays have one shape and one real floating dtype, lie row by row on memory of their own, and the numbers after
    them are real. `also` is a further condition on the arguments of the schema.
    """
    for name, function in table.items():
        register_kernel(CPU, (name,), function, accepts=Accepts(dtypes=FLOATS, alike=True, also=also), out="first")


def short_view(*names: str, row_major: bool = False) -> Callable[[F], F]:
    """Decorator: the function makes the view of an array that NumPy has a word for, or returns None.

    `row_major`: it is for row-major arrays only, and its result is one.
    """

    def enter(function: F) -> F:
        layout = "row_major" if row_major else "any"
        register_kernel(CPU, names, function, accepts=Accepts(layout=layout), half="native")
        return function

    return enter
