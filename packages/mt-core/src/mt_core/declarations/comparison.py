"""Comparisons, tests of numbers, logic, limits and choices: declarations."""

from __future__ import annotations

import warnings
from typing import Any

from .. import dtypes
from ..dtypes import can_cast, cpp_type_name, scalar_type_name
from ..number_range import check_fill, check_number
from ..promotion import ARITHMETIC, BOOL
from ._checks import (
    COMPLEX,
    COMPLEX_HALF,
    EXACT_OUT,
    FLOATS,
    INTEGERS,
    REAL,
    UNSIGNED,
    OutOf,
    Refusal,
    Supported,
    has_float8,
)
from ._declare import Family

family = Family("comparison")

_ANY_COMPLEX = COMPLEX | COMPLEX_HALF
_NUMBER_ON_THE_RIGHT: dict[str, Any] = {"numbers": "other", "number_signatures": {"other": True}}

for _name, _alias, _sign in (
    ("eq", "eq", "=="), ("ne", "not_equal", "!="), ("lt", "less", "<"), ("le", "less_equal", "<="), ("gt", "greater", ">"),
    ("ge", "greater_equal", ">="),
):  # fmt: skip
    _check = None if _name in ("eq", "ne") else Supported(f"{_name}_cpu", REAL)
    family.binary(f"{_name}.Tensor", promotion=BOOL, out="Tensor_out", check=_check, **_NUMBER_ON_THE_RIGHT,
               doc=f"self {_sign} other, broadcast; bool.")  # fmt: skip
    if _alias != _name:
        family.alias(f"{_alias}.Tensor", f"{_name}.Tensor")

for _name, _doc in (("isnan", "Where elements are NaN."), ("isreal", "Where the imaginary part is zero.")):
    family.unary(_name, promotion=BOOL, inplace=False, out=False, doc=_doc)
_SMALL_FLOATS = {"isinf": {dtypes.float8_e5m2}, "isfinite": {dtypes.float8_e5m2, dtypes.float8_e8m0fnu}}
for _name, _doc in (
    ("isinf", "Where elements are infinite."),
    ("isfinite", "Where elements are neither infinite nor NaN."),
):
    family.unary(
        _name,
        promotion=BOOL,
        inplace=False,
        out=False,
        check=Supported(_name, REAL | UNSIGNED | _ANY_COMPLEX | _SMALL_FLOATS[_name]),
        doc=_doc,
    )
for _name, _doc in (("isposinf", "Where elements are infinity."), ("isneginf", "Where elements are minus infinity.")):
    family.unary(_name, promotion=BOOL, inplace=False, doc=_doc, check=Supported(
        f"{_name}_cpu", REAL | UNSIGNED, Refusal(_ANY_COMPLEX, f"{_name} does not support complex inputs.")),
        exact_out=f"{_name} does not support non-boolean outputs.")  # fmt: skip
family.unary("signbit", promotion=BOOL, inplace=False, exact_out="signbit does not support non-boolean outputs.",
          doc="Where the sign is negative, that of a zero included.", check=Supported(
    "signbit_cpu", REAL | UNSIGNED, Refusal(_ANY_COMPLEX, "signbit is not implemented for complex tensors.", NotImplementedError),
))  # fmt: skip

family.unary(
    "logical_not", promotion=BOOL, check=Supported("logical_not_cpu", REAL | COMPLEX), doc="Where elements are zero."
)
for _name, _doc in (("and", "both are nonzero"), ("or", "either is nonzero"), ("xor", "exactly one is nonzero")):
    family.binary(
        f"logical_{_name}",
        promotion=BOOL,
        check=Supported(f"logical_{_name}_cpu", REAL | COMPLEX),
        doc=f"Where {_doc}.",
    )


def _larger_or_smaller(name: str, kernel: str, doc: str) -> None:
    complex_ = Refusal(_ANY_COMPLEX, f"{name} not implemented for complex tensors.")

    def named(args: tuple[Any, ...]) -> str:
        return f"{name}_cpu" if has_float8(args) else kernel

    family.binary(name, inplace=False, check=Supported(named, REAL, complex_), doc=doc)


_larger_or_smaller("maximum", "maximum_cpu", "The larger of two elements; NaN where either is NaN.")
_larger_or_smaller("minimum", "minimum_cpu", "The smaller of two elements; NaN where either is NaN.")
_larger_or_smaller("fmax", "maximum_cpu", "The larger of two elements; where one is NaN, the other.")
_larger_or_smaller("fmin", "minimum_cpu", "The smaller of two elements; where one is NaN, the other.")


# Limits

_ORDERED = INTEGERS | FLOATS
_NO_COMPLEX = Refusal(_ANY_COMPLEX, "clamp is not supported for complex types", NotImplementedError)


def _check_limits(args: tuple[Any, ...], common: Any) -> None:
    limits = args[1:]
    if all(limit is None for limit in limits):
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    for limit in limits:
        if len(limits) == 2 and isinstance(limit, complex) and not args[0].is_complex():
            check_number(limit, dtypes.float64)
        if common.category < 3 and limit is not None and not hasattr(limit, "_dtype"):
            check_number(limit, common)


def _check_limits_in_place(args: tuple[Any, ...], common: Any) -> None:
    target = args[0].dtype
    if not can_cast(common, target):
        raise RuntimeError(
            f"result type {scalar_type_name(common)} can't be cast to the desired output type {cpp_type_name(target)}"
        )
    _check_limits(args, common)


def _check_limit_tensors(args: tuple[Any, ...], common: Any) -> None:
    _check_limits(args, common)
    if args[0].is_complex():
        raise NotImplementedError("clamp is not supported for complex types")
    if None not in args and common is dtypes.bool:
        raise NotImplementedError("\"clamp_cpu\" not implemented for 'Bool'")


def _clamp_kernel(args: tuple[Any, ...]) -> str:
    if None not in args:
        return "clamp_scalar_cpu"
    return f"clamp_{'max' if args[1] is None else 'min'}_scalar_cpu"


def _clamp_tensors_kernel(args: tuple[Any, ...]) -> str:
    if None not in args:
        return "clamp_cpu"
    return "minimum_cpu" if args[1] is None else "maximum_cpu"


_IN_BOTH: dict[str, Any] = {"inplace": True, "inplace_variants": "function method"}
family.elementwise(
    "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", **_IN_BOTH, out="Tensor_out",
    check=Supported(_clamp_tensors_kernel, REAL, also=_check_limit_tensors, unchecked=_ORDERED),
    doc="max where self is larger, else min where self is smaller, else self.",
)  # fmt: skip
family.elementwise(
    "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", promotes="self min max", **_IN_BOTH, out=True,
    check=Supported(_clamp_kernel, _ORDERED, _NO_COMPLEX, also=_check_limits), exact_out=EXACT_OUT,
    inplace_check=Supported(_clamp_kernel, _ORDERED, _NO_COMPLEX, also=_check_limits_in_place),
)  # fmt: skip
for _name, _other in (("min", "maximum"), ("max", "minimum")):
    family.elementwise(
        f"clamp_{_name}.Tensor(Tensor self, Tensor {_name}) -> Tensor", **_IN_BOTH, out="Tensor_out",
        check=Supported(f"{_other}_cpu", REAL), doc=f"`clamp` with {_name} only.",
    )  # fmt: skip
    family.elementwise(
        f"clamp_{_name}(Tensor self, Scalar {_name}) -> Tensor", promotes=f"self {_name}", **_IN_BOTH, out=True,
        check=Supported(f"clamp_{_name}_scalar_cpu", _ORDERED, _NO_COMPLEX, also=_check_limits), exact_out=EXACT_OUT,
        inplace_check=Supported(f"clamp_{_name}_scalar_cpu", _ORDERED, _NO_COMPLEX, also=_check_limits_in_place),
    )  # fmt: skip
for _overload in (".Tensor", ""):
    family.alias(f"clip{_overload}", f"clamp{_overload}", inplace_variants="function method")
family.elementwise(
    "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
    promotion=ARITHMETIC, inplace=True, inplace_variants="function method", out=True,
    check=Supported("nan_to_num", REAL | UNSIGNED | COMPLEX),
    exact_out="nan_to_num: dtype of out: {out} should be same as input: {expected}",
    doc="NaN replaced by `nan` (0), infinities by `posinf` and `neginf` (the largest and smallest finite numbers).",
)  # fmt: skip


def _check_same_dtype(args: tuple[Any, ...], common: Any) -> None:
    if args[0].dtype is not args[1].dtype and not (args[0].is_complex() or args[1].is_complex()):
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")


def _check_heaviside_out(self: Any, result: Any, out: Any) -> None:
    if out is not result:
        which = "complex tensors" if out.is_complex else "tensors with different dtypes"
        raise RuntimeError(f"heaviside is not yet implemented for {which}.")


family.elementwise(
    "heaviside(Tensor self, Tensor values) -> Tensor", out_check=OutOf(_check_heaviside_out), inplace=True, out=True,
    check=Supported("heaviside_cpu", REAL, Refusal(_ANY_COMPLEX, "heaviside is not yet implemented for complex tensors."),
                    also=_check_same_dtype),
    doc="0 where self is negative, 1 where it is positive, `values` where it is zero.",
)  # fmt: skip


# Choices


def _check_condition(args: tuple[Any, ...], common: Any) -> None:
    condition = args[0].dtype
    if condition is dtypes.uint8:
        warnings.warn(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future "
            "version of PyTorch. Use a boolean condition instead.", stacklevel=2,
        )  # fmt: skip
    elif condition is not dtypes.bool:
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{scalar_type_name(condition)}"
        )


def _check_where(args: tuple[Any, ...], common: Any) -> None:
    _check_condition(args, common)
    for number in args[1:]:
        if number.__class__ in (int, float, complex):
            check_fill(number, common, 1)


family.composite(
    "where(Tensor condition) -> Tensor[]",
    variants="function",
    doc="Indices of nonzero elements, one tensor per dimension.",
)
family.elementwise(
    "where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
    promotes="self other", numbers="self other", out="self_out", exact_out="Expected out type to be {expected} but got {out}", number_signatures={"self": False, "other": False, "self other": False},
    check=Supported("where_cpu", frozenset(dtypes.ALL_DTYPES), also=_check_where, warns=True),
    doc="self where the bool `condition` is true, else other; broadcast.",
)  # fmt: skip


# Composites with a bool, or a tensor of them

family.composite(
    "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
    doc="Where abs(self - other) <= atol + rtol * abs(other).",
)  # fmt: skip
family.composite(
    "allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool",
    doc="Whether `isclose` holds everywhere.",
)  # fmt: skip
family.composite(
    "equal(Tensor self, Tensor other) -> bool", doc="Whether two tensors have the same shape and elements."
)
family.plain(
    "isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> "
    "Tensor",
    variants="function", out=True, exact_out=True, doc="Where elements are (or, with `invert`, are not) among the test elements.",
)  # fmt: skip
family.composite(
    "isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> "
    "Tensor",
    variants="function", out=True, exact_out=True,
)  # fmt: skip
family.composite(
    "isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> "
    "Tensor",
    variants="function", out=True, exact_out=True,
)  # fmt: skip
