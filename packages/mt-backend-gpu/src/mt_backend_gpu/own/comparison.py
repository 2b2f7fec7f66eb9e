"""Comparisons and choices of floating arrays in one launch each."""

from __future__ import annotations

from typing import Any

import numpy

from mt_core.dispatch.kernel import Accepts

from ..compiled.elementwise import pointwise
from ..compiled.on_cupy import FLOATING, compiled, machine
from ..compiled.operands import combine

_BOOL = numpy.dtype(bool)


def comparison(name: str, functor: str) -> None:
    """Enter an operator of two operands whose result is bool."""

    @compiled(name, accepts=Accepts(dtypes=FLOATING), fills=True)
    def run(self: Any, other: Any, out: Any = None) -> Any:
        return combine(functor, self, other, out, result=_BOOL)


def extreme(name: str, functor: str) -> None:
    """Enter an operator that chooses the one or the other of two operands; NaN is chosen before all else."""

    @compiled(name, accepts=Accepts(dtypes=FLOATING), fills=True)
    def run(self: Any, other: Any, out: Any = None) -> Any:
        return combine(functor, self, other, out)


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    comparison(f"{_name}.Tensor", _name)
for _name in ("maximum", "minimum"):
    extreme(_name, _name)


@compiled("where.self", accepts=Accepts(dtypes={"self": FLOATING, "other": FLOATING}))
def where(condition: Any, self: Any, other: Any) -> Any:
    """condition (*), self (*), other (*), broadcast -> the common shape."""
    return pointwise(machine(), "where", condition, self, other, common=self.dtype)
