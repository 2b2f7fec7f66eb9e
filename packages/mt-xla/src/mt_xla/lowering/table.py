"""The table of lowerings, and how entries are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from ..calls import Call, Value, convert, jax_dtype, opmath

__all__ = ["LOWERINGS", "dimension", "dimensions", "elementwise", "lower", "operands_of"]

#: Operator, with its overload -> what gives its value, of the call and all arguments in the order of the schema.
LOWERINGS: dict[str, Callable[..., Value]] = {}

Function = Callable[..., Value]


def lower(*names: str) -> Callable[[Function], Function]:
    """Decorator: enter the lowering of operators."""

    def enter(function: Function) -> Function:
        for name in names:
            LOWERINGS[name] = function
        return function

    return enter


def elementwise(functions: dict[str, Function], operands: int, of_common: bool = False) -> None:
    """Enter functions of elements.

    Parameters
    ----------
    operands
        How many of the arguments are operands, the first ones; the others are handed on as they are.
    of_common
        Operands are computed with in the dtype that they promote to, rather than in that of the result.
    """

    def enter(name: str, function: Function) -> None:
        @lower(name)
        def lowered(call: Call, *args: Any) -> Value:
            values = operands_of(call, args[:operands], call.common if of_common else call.dtype)
            return call.result(function(*values, *args[operands:]))

    for name, function in functions.items():
        enter(name, function)


def operands_of(call: Call, values: Any, dtype: Any = None) -> list[Value]:
    """Operands as they are computed with, broadcast to one shape.

    Parameters
    ----------
    dtype
        What they are rounded to; the dtype of the result by default. Numbers among narrow floats are rounded as well,
        but for those that are multiplied by.
    """
    narrow = jax_dtype(call.dtype if dtype is None else dtype)
    wide = jax_dtype(opmath(call.dtype if dtype is None else dtype))
    rounds = narrow != wide and not call.name.startswith(("mul", "div"))
    found = [convert(convert(value, narrow) if rounds else value, wide) for value in values]
    return list(jnp.broadcast_arrays(*found))


def dimension(dim: int, rank: int) -> int:
    """A dimension counted from the first; of a tensor without dimensions there is the first."""
    return dim % max(rank, 1)


def dimensions(dims: Any, rank: int) -> tuple[int, ...]:
    """Dimensions counted from the first; all of them where none is given."""
    if dims is None or (isinstance(dims, (list, tuple)) and not dims):
        return tuple(range(rank))
    chosen = dims if isinstance(dims, (list, tuple)) else [dims]
    return tuple([dimension(d, rank) for d in chosen]) if rank else ()
