"""Ufuncs with the methods that CuPy has not written: reductions, scans and writes at repeated places.

Scans are done by doubling (Hillis and Steele, 1986): after step k every element is combined with the 2**k - 1 before
it. Writes are by atomics where CuPy has them for the dtype, in a wider integer type where that wraps around alike, and
else occurrence by occurrence: first the first write to each place, then the second, ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy

__all__ = [
    "Completed", "add", "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum",
    "multiply",
]  # fmt: skip

_int32 = numpy.dtype(numpy.int32)
#: Element types -> those in which CuPy's atomics carry out their sums.
_SUMMED_AS = {"b": _int32, "h": _int32, "B": _int32, "H": _int32}
#: Element types -> those in which they find the larger or smaller; not floating point, where they drop NaN and
#: CuPy's compare float64 in float32.
_COMPARED_AS = {"b": _int32, "h": _int32, "B": _int32, "H": _int32, "?": _int32}


class Completed:
    """A ufunc of CuPy's, and the methods of NumPy's that it lacks.

    Parameters
    ----------
    ufunc
        What is called.
    reducer
        ``(array, axis, keepdims)``, where CuPy has a reduction by another name.
    as_type
        Element type -> the type that writes at repeated places are made in; others have no atomics.
    atomic
        Element types that CuPy's own ``at`` takes.
    """

    def __init__(
        self,
        ufunc: Any,
        reducer: Callable[..., Any] | None = None,
        as_type: dict[str, Any] | None = None,
        atomic: str = "",
    ) -> None:
        self.ufunc = ufunc
        self.reducer = reducer
        self.as_type = as_type or {}
        self.atomic = atomic
        self.__name__: str = ufunc.__name__

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.ufunc(*args, **options)

    def reduce(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """The elements along some axes combined; over no axes, a copy."""
        axis = tuple(axis) if isinstance(axis, list) else axis
        if axis == () or not array.ndim:
            return self._over_none(array, dtype)
        if self.reducer is not None:
            return self.reducer(array, axis, keepdims)
        return self.ufunc.reduce(array, axis, dtype, None, keepdims)

    def _over_none(self, array: Any, dtype: Any) -> Any:
        return array.copy() if dtype is None else array.astype(dtype)

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None) -> Any:
        """The elements along an axis, each combined with all before it."""
        result = cupy.moveaxis(array.copy() if dtype is None else array.astype(dtype), axis, 0)
        step = 1
        while step < result.shape[0]:
            combined = self.ufunc(result[:-step], result[step:])
            result[step:] = combined
            step *= 2
        return cupy.moveaxis(result, 0, axis)

    def at(self, target: Any, where: Any, values: Any) -> None:
        """target[where] = ufunc(target[where], values), for every occurrence of a place."""
        if target.dtype.kind == "c" and self.ufunc is cupy.add:
            real = isinstance(values, cupy.ndarray) and values.dtype.kind != "c"
            self.ufunc.at(target.real, where, values if real else values.real)
            if not real:
                self.ufunc.at(target.imag, where, values.imag)
        elif target.dtype.char in self.atomic:
            self.ufunc.at(target, where, values)
        elif target.dtype.char in self.as_type:
            self._at_as(target, where, values, self.as_type[target.dtype.char])
        else:
            self._by_occurrence(target, where, values)

    def _at_as(self, target: Any, where: Any, values: Any, wide_type: numpy.dtype) -> None:
        if isinstance(values, cupy.ndarray):
            values = values.astype(target.dtype).astype(wide_type)
        else:
            values = numpy.asarray(values).astype(target.dtype).astype(wide_type)[()]
        wide = target.astype(wide_type)
        self.ufunc.at(wide, where, values)
        target[...] = wide

    def _by_occurrence(self, target: Any, where: Any, values: Any) -> None:
        places = cupy.arange(target.size).reshape(target.shape)[where]
        values = cupy.broadcast_to(values, places.shape).reshape(-1)
        places, flat = places.reshape(-1), cupy.ascontiguousarray(target).reshape(-1)
        for chosen in occurrences(places):
            at = places[chosen]
            flat[at] = self.ufunc(flat[at], values[chosen])
        target[...] = flat.reshape(target.shape)


class _Sum(Completed):
    """``add`` and ``multiply``, whose reductions, scans and sums of stretches CuPy has."""

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None) -> Any:
        return self.ufunc.accumulate(array, axis, dtype)

    def reduceat(self, array: Any, starts: Any, axis: int = 0, dtype: Any = None) -> Any:
        """Sums of the stretches that begin at `starts`."""
        return self.ufunc.reduceat(array, starts, axis, dtype)


def occurrences(places: Any) -> list[Any]:
    """Positions in `places` (K,) of the first occurrence of each number, then of the second where there is one, ..."""
    if not places.size:
        return []
    order = places.argsort()
    numbers = places[order]
    position = cupy.arange(places.size)
    begins = cupy.concatenate([cupy.ones(1, bool), numbers[1:] != numbers[:-1]])
    rank = position - maximum.accumulate(cupy.where(begins, position, 0))
    return [order[rank == k] for k in range(int(rank.max()) + 1)]


class _Logical(Completed):
    """A logical ufunc, of complex numbers too, for which CuPy has no loops."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.ufunc(*[_truth(a) if i < self.ufunc.nin else a for i, a in enumerate(args)], **options)

    def _over_none(self, array: Any, dtype: Any) -> Any:
        return array != 0


def _truth(value: Any) -> Any:
    return value != 0 if isinstance(value, cupy.ndarray) and value.dtype.kind == "c" else value


def _found(method: str) -> Callable[..., Any]:
    return lambda array, axis, keepdims: getattr(_truth(array), method)(axis, keepdims=keepdims)


add = _Sum(cupy.add, as_type=_SUMMED_AS, atomic="ilqILQefd")
multiply = _Sum(cupy.multiply)
maximum = Completed(cupy.maximum, lambda a, axis, keep: a.max(axis, keepdims=keep), _COMPARED_AS, "iILQ")
minimum = Completed(cupy.minimum, lambda a, axis, keep: a.min(axis, keepdims=keep), _COMPARED_AS, "iILQ")
logaddexp = Completed(cupy.logaddexp)
logical_or = _Logical(cupy.logical_or, _found("any"))
logical_and = _Logical(cupy.logical_and, _found("all"))
logical_xor = _Logical(cupy.logical_xor)
logical_not = _Logical(cupy.logical_not)
