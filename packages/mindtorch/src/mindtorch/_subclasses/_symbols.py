"""Symbolic numbers under a `FakeTensorMode` with a `ShapeEnv`: as arguments, and as results that depend on elements."""

from __future__ import annotations

from typing import Any

from mt_core import Tensor, dtypes
from mt_core.keys import META
from mt_core.meta_array import MetaArray
from mt_core.symbolic import SYMBOLIC, SymBool, SymFloat
from mt_core.tensor import new_tensor

from ._fake import fake_over

__all__ = ["from_elements", "without_symbolic_values"]

#: Operators whose shapes follow from their numbers.
_COUNTING = frozenset("arange range".split())


def without_symbolic_values(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Arguments with an ordinary number in place of each symbolic one from which no shape follows.

    Those are the operands: numbers beside tensors, that elements are set to, or that are a factor. Only their type
    counts, for dtypes; so no guard is needed.
    """
    if func._opname in _COUNTING:
        return args, kwargs
    given, named = list(args), dict(kwargs)
    for i, argument in enumerate(func._schema.parsed.arguments):
        if argument.is_list or argument.type not in ("Scalar", "Tensor", "float"):
            continue
        if i < len(given) and isinstance(given[i], SYMBOLIC):
            given[i] = _like(given[i])
        elif isinstance(named.get(argument.name), SYMBOLIC):
            named[argument.name] = _like(named[argument.name])
    return tuple(given), named


def _like(value: Any) -> Any:
    hint = value.node.hint
    if hint is not None:
        return hint
    return True if isinstance(value, SymBool) else 0.5 if isinstance(value, SymFloat) else 2


def from_elements(mode: Any, env: Any, func: Any, args: tuple[Any, ...], place: Any) -> Any:
    """What an operator gives that reads elements, as symbols without a hint; None of any other operator."""
    if func._opname == "_local_scalar_dense" and env.allow_scalar_outputs:
        return _number(env, args[0]._dtype)
    if func._opname == "nonzero" and env.allow_dynamic_output_shape_ops:
        return _indices(mode, env, args[0], place)
    return None


def _number(env: Any, d: Any) -> Any:
    if d is dtypes.bool:
        return env.create_unbacked_symbool()
    if d.is_floating_point:
        return env.create_unbacked_symfloat()
    return env.create_unbacked_symint() if d.is_integral else None


def _indices(mode: Any, env: Any, fake: Tensor, place: Any) -> Any:
    """The places of ones: their number is a symbol."""
    count, size = env.new_size(), dtypes.int64.itemsize
    shape = (count, fake._array.ndim)
    array = MetaArray(shape, dtypes.int64.numpy_dtype, (size, count * size), 0, shape[0] * shape[1] * size)
    with env.sizes_are_large():
        return fake_over(new_tensor(array, dtypes.int64, META), mode, place)
