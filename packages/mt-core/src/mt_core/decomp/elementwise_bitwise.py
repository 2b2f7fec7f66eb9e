"""Logic on bits for backends that have arithmetic alone: inverted integers, and all of bool."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..dispatch.registry import register_composite as composite
from ._stand_ins import not_for


@composite("bitwise_not", explicit=True)
def bitwise_not(self: Any) -> Any:
    """-1 - x, which wraps around for unsigned integers."""
    return ops.logical_not(self) if self.dtype is dtypes.bool else ops.rsub(self, -1)


def _of_bools(name: str) -> None:
    @composite(f"bitwise_{name}.Tensor", explicit=True)
    def bitwise(self: Any, other: Any) -> Any:
        not_for(f"bitwise_{name}", self.dtype, self.dtype is not dtypes.bool)
        return getattr(ops, f"logical_{name}")(self, other)


for _name in ("and", "or", "xor"):
    _of_bools(_name)
