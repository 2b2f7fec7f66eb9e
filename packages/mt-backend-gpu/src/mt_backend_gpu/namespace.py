"""NumPy's names over CuPy: what the shared kernels find under ``np``.

A name that is not here is CuPy's own. Here stands what CuPy lacks or has otherwise: numbers stay on the host, as NumPy
scalars, which kernels of the device take by value; ufuncs have all their methods (`ufuncs`); keywords that CuPy does
not know are left out where they change nothing.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import cupy
import numpy

from .memory import carrier
from .ufuncs import add, logaddexp, logical_and, logical_not, logical_or, logical_xor, maximum, minimum, multiply

__all__ = [
    "add", "all", "any", "array", "asarray", "atleast_1d", "atleast_2d", "broadcast_arrays", "copyto",
    "count_nonzero", "errstate",
    "full", "full_like", "lib", "linalg", "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor",
    "may_share_memory", "maximum", "minimum", "multiply", "where",
]  # fmt: skip

_array = cupy.ndarray

errstate = numpy.errstate
linalg = SimpleNamespace(LinAlgError=numpy.linalg.LinAlgError)


def __getattr__(name: str) -> Any:
    found = getattr(cupy, name)
    globals()[name] = found  # asked once
    return found


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, (bool, int, float, complex, numpy.generic))
        or isinstance(value, numpy.ndarray)
        and not value.ndim
    )


def asarray(value: Any, dtype: Any = None) -> Any:
    """An array as it is, or in another dtype; a number as NumPy's scalar, without going to the device."""
    if isinstance(value, _array):
        return value if dtype is None or value.dtype == dtype else value.astype(dtype)
    if _is_number(value):
        return numpy.asarray(value, dtype)[()]
    if isinstance(value, (list, tuple)) and any(isinstance(item, _array) for item in value):
        return cupy.stack([asarray(item, dtype) for item in value])
    return cupy.asarray(value, dtype)


def array(value: Any, dtype: Any = None) -> Any:
    """As `asarray`, and of an array a copy."""
    if isinstance(value, _array):
        return value.copy() if dtype is None or value.dtype == dtype else value.astype(dtype)
    return asarray(value, dtype)


def _on_device(value: Any) -> Any:
    return value if isinstance(value, _array) else cupy.asarray(value)


def where(condition: Any, x: Any, y: Any) -> Any:
    """Elements of `x` where the condition holds, else of `y`."""
    if isinstance(condition, _array):
        if isinstance(x, _array) and isinstance(y, _array) and x.dtype.kind == "V" and x.dtype == y.dtype:
            return cupy.where(condition, carrier(x), carrier(y)).view(x.dtype)  # CuPy would make float32 of them
        return cupy.where(condition, x, y)
    shape = numpy.broadcast_shapes(numpy.shape(x), numpy.shape(y))
    return cupy.broadcast_to(_on_device(x if condition else y).astype(cupy.result_type(x, y)), shape).copy()


def any(a: Any, axis: Any = None, **options: Any) -> Any:
    """Whether some element is true."""
    return cupy.any(a, axis, **options) if isinstance(a, _array) else bool(a)


def all(a: Any, axis: Any = None, **options: Any) -> Any:
    """Whether every element is true."""
    return cupy.all(a, axis, **options) if isinstance(a, _array) else bool(a)


def count_nonzero(a: Any, axis: Any = None) -> Any:
    """How many elements are not zero: of all of them, a number of Python's, for which the device is waited."""
    return int(cupy.count_nonzero(a)) if axis is None else cupy.count_nonzero(a, axis)


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    """An array of one number, which may be an array without dimensions."""
    if isinstance(fill_value, _array):
        made = cupy.empty(shape, fill_value.dtype if dtype is None else dtype)
        made[...] = fill_value
        return made
    return cupy.full(shape, fill_value, numpy.asarray(fill_value).dtype if dtype is None else dtype)


def full_like(a: Any, fill_value: Any, dtype: Any = None) -> Any:
    """`full` of the shape of another."""
    return full(a.shape, fill_value, a.dtype if dtype is None else dtype)


def broadcast_arrays(*arrays: Any) -> list[Any]:
    """Views of one shape."""
    return list(cupy.broadcast_arrays(*[_on_device(a) for a in arrays]))


def atleast_1d(a: Any) -> Any:
    """The array with at least one dimension."""
    return cupy.atleast_1d(_on_device(a))


def atleast_2d(a: Any) -> Any:
    """The array with at least two dimensions."""
    return cupy.atleast_2d(_on_device(a))


def copyto(target: Any, source: Any, where: Any = None) -> None:
    """Write a source, broadcast, into a target, where a mask holds; it is converted whatever its type."""
    if where is None:
        target[...] = source
        return
    if not isinstance(source, _array):
        source = target.dtype.type(source)
    cupy.copyto(target, source, "unsafe", cupy.broadcast_to(_on_device(where), target.shape))


def may_share_memory(a: Any, b: Any) -> bool:
    """Whether the bytes between the first and the last element of two arrays overlap."""
    return isinstance(a, _array) and isinstance(b, _array) and bool(cupy.may_share_memory(a, b))


def _as_strided(x: Any, shape: Any, strides: Any, writeable: bool = True) -> Any:
    return cupy.lib.stride_tricks.as_strided(x, shape, strides)


lib = SimpleNamespace(stride_tricks=SimpleNamespace(as_strided=_as_strided))
