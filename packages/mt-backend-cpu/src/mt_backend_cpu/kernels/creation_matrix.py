"""Sequences and patterned matrices over NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from mt_core.dispatch.elementwise import number_array
from mt_core.dtypes import dtype
from mt_core.spec import Spec

from ..registry import kernel


def _whole(end: Any, d: dtype) -> int:
    """An end as elements of an integer dtype hold it, which PyTorch counts from."""
    return int(number_array(int(end), d))


def _spaced(start: Any, end: Any, steps: int, spec: Spec) -> np.ndarray:
    """Evenly spaced numbers in the type PyTorch computes them in, which is float64 for integers.

    Counted from the nearer end, so that both are exact.
    """
    d = spec.dtype.compute
    floating = d.is_floating_point
    kind = np.complex128 if d.is_complex else d.numpy_dtype.type if floating else np.float64
    if steps == 1:
        return np.full(1, start).astype(d.numpy_dtype)
    if d.is_integral:
        start, end = _whole(start, d), _whole(end, d)
    first, last = kind(start), kind(end)
    real = np.float64 if d.is_complex else kind
    step = (last - first) / real(max(steps - 1, 1))
    half = steps // 2
    distances = np.multiply(np.arange(steps - half, dtype=real), step)
    values = np.empty(steps, kind)
    np.add(distances[:half], first, values[:half])
    np.subtract(last, distances[::-1], values[half:])
    return values


@kernel("linspace", half="native")
def linspace(start: Any, end: Any, steps: int, spec: Spec) -> np.ndarray:
    """-> (steps,); the default dtype, its complex one for complex ends."""
    values, wanted = _spaced(start, end, steps, spec), spec.dtype.compute.numpy_dtype
    return values if values.dtype is wanted else values.astype(wanted)


@kernel("logspace", half="native")
def logspace(start: Any, end: Any, steps: int, base: float, spec: Spec) -> np.ndarray:
    """-> (steps,); dtype as for `linspace`."""
    d = spec.dtype.compute
    kind = d.to_real().numpy_dtype if d.is_floating_point or d.is_complex else np.float64
    return np.power(np.asarray(base, kind), _spaced(start, end, steps, spec)).astype(d.numpy_dtype)


@kernel("eye", half="native")
def eye(n: int, spec: Spec) -> np.ndarray:
    """-> (n, n)."""
    return eye_m(n, n, spec)


@kernel("eye.m", half="native")
def eye_m(n: int, m: int, spec: Spec) -> np.ndarray:
    """-> (n, m)."""
    out = np.zeros((n, m), spec.dtype.compute.numpy_dtype)
    out.reshape(-1)[: min(n, m) * m : m + 1] = 1
    return out


@kernel("tril_indices", half="native")
def tril_indices(row: int, col: int, offset: int, spec: Spec) -> np.ndarray:
    """-> (2, L): row and column of the L elements of a triangle of a (row, col) matrix, int64 or int32."""
    counts = np.clip(np.arange(offset + 1, offset + row + 1), 0, col)
    return _places_of_rows(counts, np.zeros(row, np.int64), spec)


@kernel("triu_indices", half="native")
def triu_indices(row: int, col: int, offset: int, spec: Spec) -> np.ndarray:
    """-> (2, L): row and column of the L elements of a triangle of a (row, col) matrix, int64 or int32."""
    starts = np.clip(np.arange(offset, offset + row), 0, col)
    return _places_of_rows(col - starts, starts, spec)


def _places_of_rows(counts: np.ndarray, starts: np.ndarray, spec: Spec) -> np.ndarray:
    """-> (2, L): row and column of elements that follow one another, so many in each row from a column on."""
    out = np.empty(spec.shape, spec.dtype.numpy_dtype)
    out[0] = np.repeat(np.arange(len(counts)), counts)
    out[1] = np.arange(spec.shape[1]) - np.repeat(np.cumsum(counts) - counts - starts, counts)
    return out


def _below(self: np.ndarray, diagonal: int) -> np.ndarray:
    """Which elements of the matrices lie on a diagonal or below it."""
    rows, columns = self.shape[-2:]
    return np.greater_equal(np.arange(diagonal, rows + diagonal)[:, None], np.arange(columns))


@kernel("tril", half="native")
def tril(self: np.ndarray, diagonal: int) -> np.ndarray:
    """self (*, M, N) -> (*, M, N)."""
    return np.where(_below(self, diagonal), self, np.zeros((), self.dtype))


@kernel("triu", half="native")
def triu(self: np.ndarray, diagonal: int) -> np.ndarray:
    """self (*, M, N) -> (*, M, N)."""
    return np.where(_below(self, diagonal - 1), np.zeros((), self.dtype), self)
