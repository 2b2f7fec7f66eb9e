"""Type promotion of operator arguments.

Three kinds of argument count differently: tensors with dimensions, tensors without, and Python numbers. A kind
contributes only where no stronger kind is of its category (bool < integer < floating < complex) or above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from . import dtypes
from .dtypes import dtype, promote_types
from .symbolic import SYMBOLIC, SymBool, SymFloat, SymInt

__all__ = [
    "ARITHMETIC", "BOOL", "COMPLEX_OF_REAL", "DIVISION", "FLOAT", "FLOAT_REAL", "KEEP", "Promotion", "REAL",
    "dtype_of_number", "result_type_of",
]  # fmt: skip


_OF_SYMBOLS: dict[type, dtype] = {SymInt: dtypes.int64, SymBool: dtypes.bool}


def dtype_of_number(value: Any) -> dtype:
    """The dtype that a Python number stands for in promotion."""
    if isinstance(value, bool):
        return dtypes.bool
    if isinstance(value, int):
        return dtypes.int64
    if isinstance(value, float):
        return dtypes.get_default_dtype()
    if isinstance(value, complex):
        return (
            dtypes.get_default_dtype().to_complex()
            if dtypes.get_default_dtype() is not dtypes.bfloat16
            else dtypes.complex64
        )
    if isinstance(value, SYMBOLIC):
        return dtypes.get_default_dtype() if isinstance(value, SymFloat) else _OF_SYMBOLS[type(value)]
    raise TypeError(f"expected a number, got {type(value).__name__}")


def _of_number(value: Any) -> dtype:
    """The dtype that a number counts as beside others: integers that int64 does not hold are of uint64."""
    return dtypes.uint64 if value.__class__ is int and value >= 1 << 63 else dtype_of_number(value)


def _of_numbers(first: dtype, second: dtype, beside: tuple[dtype | None, ...]) -> dtype:
    """What two numbers count as: beside floating tensors, integers that do not go together are any of the two."""
    integers = first.category < 2 and second.category < 2
    if integers and any(d is not None and d.category >= 2 for d in beside):
        return second
    return promote_types(first, second)


def _combine(higher: dtype | None, lower: dtype | None) -> dtype | None:
    if higher is None or lower is None:
        return higher or lower
    if higher.is_complex:
        return higher
    if higher.is_floating_point:
        return higher.to_complex() if lower.is_complex else higher
    if lower.is_complex:
        return lower  # beside unsigned integers, too, which promote to no complex dtype by `promote_types`
    if higher is dtypes.bool or lower.category >= 2:
        return promote_types(higher, lower)
    return higher


def result_type_of(arguments: Iterable[Any]) -> dtype:
    """The dtype that tensors and Python numbers promote to together; None entries are skipped."""
    with_dims: dtype | None = None
    without_dims: dtype | None = None
    numbers: dtype | None = None
    for argument in arguments:
        if argument is None:
            continue
        array = getattr(argument, "_array", None)
        if array is None:
            found = _of_number(argument)
            numbers = found if numbers is None else _of_numbers(numbers, found, (with_dims, without_dims))
        elif array.ndim:
            found = argument._dtype
            with_dims = found if with_dims is None else promote_types(with_dims, found)
        else:
            found = argument._dtype
            without_dims = found if without_dims is None else promote_types(without_dims, found)
    result = _combine(with_dims, _combine(without_dims, numbers))
    if result is None:
        raise ValueError("no argument to take a dtype from")
    return result


#: Kinds of dtype: categories are 0 bool, 1 integer, 2 floating, 3 complex.
_CATEGORIES = {"any": (0, 1, 2, 3), "real": (0, 1, 2), "float": (2, 3), "real_float": (2,)}


class Promotion:
    """How an elementwise operator goes from the common dtype of its arguments to those of computation and result.

    `direct` names the kinds of dtype (`_CATEGORIES`) that need no conversion where all operands have one.
    """

    __slots__ = ("name", "compute", "result", "direct", "fixed_result")

    def __init__(
        self, name: str, compute: Callable[[dtype], dtype], result: Callable[[dtype], dtype], direct: str,
        fixed_result: dtype | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.compute = compute
        self.result = result
        self.direct = direct
        self.fixed_result = fixed_result

    def __repr__(self) -> str:
        return f"Promotion({self.name})"

    def is_direct(self, d: dtype) -> bool:
        """Whether operands that all have a dtype need no conversion, on a backend that computes in it."""
        return d.category in _CATEGORIES[self.direct]

    def chosen(self, args: tuple[Any, ...]) -> Promotion:
        """The promotion for a call with these arguments: itself, unless a parameter decides."""
        return self


class ChosenPromotion(Promotion):
    """A promotion that a parameter decides: `choose` gets the call's arguments.

    The inherited rules are those of real floats.
    """

    __slots__ = ("choose",)

    def __init__(self, name: str, choose: Callable[[tuple[Any, ...]], Promotion]) -> None:
        super().__init__(name, _same, _same, "real_float")
        self.choose = choose

    def chosen(self, args: tuple[Any, ...]) -> Promotion:
        return self.choose(args)


def _same(common: dtype) -> dtype:
    return common


def _to_float(common: dtype) -> dtype:
    return common if common.category >= 2 else dtypes.get_default_dtype()


#: Result and computation in the common type: add, mul, maximum.
ARITHMETIC = Promotion("arithmetic", _same, _same, "any")
#: Integers become the default float: exp, true division.
FLOAT = Promotion("float", _to_float, _to_float, "float")
#: As `FLOAT`, and complex becomes its real type: angle.
FLOAT_REAL = Promotion("float_real", _to_float, lambda common: _to_float(common).to_real(), "real_float")
#: Computed in the common, real floating type, with a result of the complex type that has such parts: polar.
COMPLEX_OF_REAL = Promotion("complex_of_real", _same, lambda common: common.to_complex(), "real_float")
#: Computed in the common type, and complex becomes its real type: abs.
REAL = Promotion("real", _same, lambda common: common.to_real(), "real")
#: Computed in the common type with a boolean result: comparisons, isnan.
BOOL = Promotion("bool", _same, lambda common: dtypes.bool, "any", dtypes.bool)
#: No promotion: the result has the dtype of the first argument.
KEEP = Promotion("keep", _same, _same, "any")
#: Division with a rounding mode, the third argument: only without one do integers become floating point.
DIVISION = ChosenPromotion("division", lambda args: FLOAT if args[2] is None else ARITHMETIC)
