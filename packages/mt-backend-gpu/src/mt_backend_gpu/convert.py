"""Conversion between element types on a device.

As PyTorch's CUDA kernels convert, by the device's own instructions: what is out of an integer type's range is its
nearest end (of a wider type where the type is small, which then loses its upper bits). On the CPU it is otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy

__all__ = ["cast"]

#: Small integer types -> those through which floating point is converted to them.
_THROUGH = {"b": numpy.int32, "h": numpy.int32, "H": numpy.uint32, "B": numpy.int64}


def cast(array: Any, target: numpy.dtype) -> Any:
    """The array in another element type; the array itself where it already has it."""
    if array.dtype == target:
        return array
    if array.dtype.kind == "c" and target.kind not in "cb":
        array = array.real.copy()
    if isinstance(array, (numpy.ndarray, numpy.generic)):
        return _number(array, target)
    if target.char in _THROUGH and array.dtype.kind in "fV":
        array = array.astype(_THROUGH[target.char])
    return array.astype(target)


def _number(value: Any, target: numpy.dtype) -> Any:
    """A number of NumPy's, which kernels are given by value."""
    with numpy.errstate(all="ignore"):
        if target.kind in "iu" and target.itemsize < 8 and value.dtype.kind in "fV":
            value = value.astype(numpy.int64)
        return numpy.asarray(value).astype(target)[()]
