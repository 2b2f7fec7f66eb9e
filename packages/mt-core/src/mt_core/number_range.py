"""Which Python numbers the dtypes hold, and what PyTorch says of the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import dtypes
from .dtypes import dtype

__all__ = ["INTEGERS", "check_data", "check_number", "check_width", "integers"]

#: The Python integers that a number handed to an operator may be: those of int64 and of uint64.
INTEGERS = range(-(2**63), 2**64)

#: What C++ calls a dtype, for the message; ``intN`` and ``uintN`` are ``intN_t`` and ``uintN_t``.
_C_NAMES = {
    dtypes.int32: "int", dtypes.float32: "float", dtypes.float64: "double", dtypes.bool: "bool",
    dtypes.float16: "double", dtypes.bfloat16: "double", dtypes.complex64: "c10::complex<float>",
    dtypes.complex32: "c10::complex<c10::Half>", dtypes.complex128: "c10::complex<double>",
}  # fmt: skip
#: The floating-point dtypes whose overflow is refused (the small ones give infinity), with their largest number.
_LARGEST = {
    dtypes.float32: float(np.finfo(np.float32).max),
    dtypes.complex64: float(np.finfo(np.float32).max),
    dtypes.complex32: float(np.finfo(np.float16).max),
}


def check_width(value: Any) -> None:
    """Refuse an integer that neither int64 nor uint64 holds, with OverflowError in PyTorch's words."""
    if isinstance(value, int) and value not in INTEGERS:
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
    elif d in _LARGEST and _LARGEST[d] < _size(value) < float("inf"):
        _refuse(_C_NAMES[d])


def _size(value: Any) -> float:
    return max(abs(value.real), abs(value.imag)) if isinstance(value, complex) else abs(float(value))


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
