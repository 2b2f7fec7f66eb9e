"""Comparisons, logic, and choices between elements."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from ..calls import Call, Value, convert, jax_dtype
from .table import elementwise, lower

__all__: list[str] = []

_COMPARISONS = {
    "eq": jnp.equal, "ne": jnp.not_equal, "lt": jnp.less, "le": jnp.less_equal, "gt": jnp.greater,
    "ge": jnp.greater_equal,
}  # fmt: skip
elementwise(
    {f"{name}.{form}": function for name, function in _COMPARISONS.items() for form in ("Tensor", "Scalar")},
    operands=2,
    of_common=True,
)
elementwise(
    {
        "logical_and": lambda a, b: (a != 0) & (b != 0), "logical_or": lambda a, b: (a != 0) | (b != 0),
        "logical_xor": lambda a, b: (a != 0) ^ (b != 0),
    },
    operands=2,
    of_common=True,
)  # fmt: skip


@lower("isin.Tensor_Tensor")
def _isin(call: Call, elements: Value, tests: Value, assume_unique: bool, invert: bool) -> Value:
    return call.result(jnp.isin(elements, tests, invert=invert))


@lower("where.self")
def _where(call: Call, condition: Value, self: Value, other: Value) -> Value:
    dtype = jax_dtype(call.dtype)
    return call.result(jnp.where(convert(condition, jnp.bool_), convert(self, dtype), convert(other, dtype)))


@lower("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(call: Call, self: Value, mask: Value, value: Any) -> Value:
    return call.result(jnp.where(mask, convert(value, self.dtype), self))
