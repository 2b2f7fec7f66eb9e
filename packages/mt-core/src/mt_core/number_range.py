"""Which Python numbers the dtypes hold, and what PyTorch says of the others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import dtypes
from .dtypes import dtype
from .symbolic import SYMBOLIC

__all__ = ["INTEGERS", "check_data", "check_factor", "check_fill", "check_number", "check_width", "integers"]

#: The Python integers that a number handed to an operator may be: those of int64 and of uint64.
INTEGERS = range(-(2**63), 2**64)

#: What C++ calls a dtype, for the message; ``intN`` and ``uintN`` are ``intN_t`` and ``uintN_t``.
_C_NAMES = {
    dtypes.int32: "int", dtypes.float32: "float", dtypes.float64: "double", dtypes.bool: "bool",
    dtypes.float16: "c10::Half", dtypes.bfloat16: "c10::BFloat16", dtypes.complex64: "c10::complex<float>",
    dtypes.complex32: "c10::complex<c10::Half>", dtypes.complex128: "c10::complex<double>",
    dtypes.float8_e4m3fn: "c10::Float8_e4m3fn", dtypes.float8_e4m3fnuz: "c10::Float8_e4m3fnuz",
    dtypes.float8_e5m2: "c10::Float8_e5m2", dtypes.float8_e5m2fnuz: "c10::Float8_e5m2fnuz",
    dtypes.float8_e8m0fnu: "c10::Float8_e8m0fnu",
}  # fmt: skip
_FLOAT_MAX = float(np.finfo(np.float32).max)
_BFLOAT16_MAX = (2 - 2.0**-7) * 2.0**127  # ml_dtypes, which knows it, is imported when it is needed
#: The least and the greatest number of floating-point dtypes.
_RANGES = {
    dtypes.float16: (-65504.0, 65504.0),
    dtypes.bfloat16: (-_BFLOAT16_MAX, _BFLOAT16_MAX),
    dtypes.float32: (-_FLOAT_MAX, _FLOAT_MAX),
    dtypes.complex64: (-_FLOAT_MAX, _FLOAT_MAX),
    dtypes.complex32: (-65504.0, 65504.0),
    dtypes.float8_e4m3fn: (-448.0, 448.0),
    dtypes.float8_e4m3fnuz: (-240.0, 240.0),
    dtypes.float8_e5m2: (-57344.0, 57344.0),
    dtypes.float8_e5m2fnuz: (-57344.0, 57344.0),
    dtypes.float8_e8m0fnu: (2.0**-127, 2.0**127),
}
_SMALL = frozenset(d for d in _RANGES if d.is_floating_point and d.itemsize < 4)
#: Floating-point dtypes without infinity, which refuse it like any number beyond their range.
_FINITE = frozenset({dtypes.float8_e4m3fn, dtypes.float8_e4m3fnuz, dtypes.float8_e5m2fnuz, dtypes.float8_e8m0fnu})


def check_width(value: Any) -> None:
    """Refuse an integer that neither int64 nor uint64 holds, with OverflowError in PyTorch's words."""
    # Not `in`: that goes through the numbers one by one for a value of a class derived from int.
    if isinstance(value, int) and not INTEGERS.start <= value < INTEGERS.stop:
        raise OverflowError("can't convert negative int to unsigned" if value < 0 else "int too big to convert")


def check_number(value: Any, d: dtype) -> None:
    """Refuse a number that a tensor of the dtype cannot be filled with.

    Unsigned types take the negative of each integer that they hold, and integer types what is cut off to an integer
    within their range.

    Raises
    ------
    RuntimeError, OverflowError
        In PyTorch's words.
    """
    check_width(value)
    if isinstance(value, SYMBOLIC):
        return  # no shape follows from it: whoever has the number asks again
    if d is dtypes.bool or isinstance(value, bool):
        return
    if isinstance(value, complex) and not d.is_complex:
        if value.imag:
            _refuse(_C_NAMES.get(d, f"{d.name}_t"))
        value = value.real
    if d.is_integral:
        low, high = _bounds(d, isinstance(value, float))
        if not low <= value <= high:
            _refuse(_C_NAMES.get(d, f"{d.name}_t"))
    elif d is dtypes.float8_e8m0fnu and isinstance(value, int):
        return  # 2**127 is beyond every integer, and whether one is negative or zero is not asked
    elif d in _RANGES and any(_is_beyond(float(part), d) for part in _parts(value)):
        _refuse(_C_NAMES[d])


def check_factor(value: Any, d: dtype) -> None:
    """As `check_number`, for a number that is computed with: half types are computed in float32."""
    check_number(value, d.compute)


def check_fill(value: Any, d: dtype, count: int) -> None:
    """As `check_number`, for the number that `count` elements are set to.

    A single element of a small floating-point type is converted from float64, which gives infinity; several complex
    halves from complex64.
    """
    if count == 1:
        check_number(value, dtypes.float64 if d in _SMALL else d)
    else:
        check_number(value, dtypes.complex64 if d is dtypes.complex32 else d)


def _parts(value: Any) -> tuple[Any, ...]:
    return (value.real, value.imag) if isinstance(value, complex) else (value,)


def _is_beyond(value: float, d: dtype) -> bool:
    """Whether a number is outside of the range of a floating-point dtype; NaN never is."""
    low, high = _RANGES[d]
    return (value < low or value > high) and (d in _FINITE or not math.isinf(value))


def _refuse(name: str) -> None:
    raise RuntimeError(f"value cannot be converted to type {name} without overflow")


def _bounds(d: dtype, is_float: bool) -> tuple[int, int]:
    """The least and the greatest number that an integer dtype takes, of integers or of floats."""
    info = dtypes.iinfo(d)
    if d.is_signed:
        return info.min, info.max
    return (0 if is_float else -info.max), info.max


def check_data(array: np.ndarray, d: dtype) -> None:
    """Refuse elements of ``torch.tensor`` that the integer dtype does not hold; the array has int64, uint64 or floats.

    Raises
    ------
    RuntimeError, OverflowError, TypeError
        In PyTorch's words.
    """
    if d is dtypes.uint64:
        if array.dtype.kind in "fc":
            raise TypeError("an integer is required")
        if array.dtype.kind == "i" and (array < 0).any():
            raise OverflowError("can't convert negative int to unsigned")
    elif array.dtype.kind in "iuf":
        low, high = _bounds(d, array.dtype.kind == "f")
        if not ((array >= low) & (array <= high)).all():
            _refuse(d.name)


def integers(values: Any, d: dtype) -> np.ndarray:
    """Python integers as an array from which the elements of the dtype are converted.

    Raises
    ------
    ValueError, OverflowError
        For numbers beyond int64, or beyond uint64 where that is the dtype.
    """
    try:
        return np.array(values, np.int64)
    except OverflowError:
        if d is dtypes.uint64:
            return _unsigned(values)
        if d is dtypes.bool:
            return np.array(values, np.object_).astype(np.bool_)
        if not d.is_integral:
            return np.array(values, np.float64)
        raise ValueError("Overflow when unpacking long long") from None


def _unsigned(values: Any) -> np.ndarray:
    exact = np.array(values, np.object_)
    if (exact < 0).any():
        raise OverflowError("can't convert negative int to unsigned")
    if (exact >= 2**64).any():
        raise OverflowError("int too big to convert")
    return exact.astype(np.uint64)
