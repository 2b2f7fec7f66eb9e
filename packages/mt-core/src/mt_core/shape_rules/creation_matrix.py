"""Shape rules of sequences and patterned matrices."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..dispatch.registry import register_shape_rule as shape_rule
from ..number_range import check_number
from ..spec import Spec


def _sequence_dtype(name: str, requested: Any, steps: int, *ends: Any) -> Any:
    d = _promoted_dtype(name, requested, *ends)
    for end in ends[: min(steps, 2)]:  # one step: PyTorch does not look at the end
        check_number(end, d)
    return d


def _promoted_dtype(name: str, requested: Any, *numbers: Any) -> Any:
    default = dtypes.get_default_dtype()
    if any(isinstance(n, complex) for n in numbers):
        if requested is not None and not requested.is_complex:
            raise RuntimeError(
                f"torch.{name}(): inferred dtype {dtypes.cpp_type_name(default.to_complex())} can't be safely cast to "
                f"passed dtype {dtypes.scalar_type_name(requested)}"
            )
        return requested or default.to_complex()
    return requested or default


@shape_rule("linspace")
def linspace(start: Any, end: Any, steps: int, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Spec:
    """-> (steps,); the default dtype, its complex one for complex ends."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    return Spec((steps,), _sequence_dtype("linspace", dtype, steps, start, end))


@shape_rule("logspace")
def logspace(
    start: Any, end: Any, steps: int, base: float, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Spec:
    """-> (steps,); dtype as for `linspace`."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    return Spec((steps,), _sequence_dtype("logspace", dtype, steps, start, end))


@shape_rule("eye")
def eye(n: int, dtype: Any, *options: Any) -> Spec:
    """-> (n, n)."""
    return eye_m(n, n, dtype, *options)


@shape_rule("eye.m")
def eye_m(n: int, m: int, dtype: Any, *options: Any) -> Spec:
    """-> (n, m)."""
    for name, size in (("n", n), ("m", m)):
        if size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    return Spec((n, m), dtype or dtypes.get_default_dtype())


def _count(row: int, col: int, offset: int, lower: bool) -> int:
    """How many elements a triangle has, however many rows."""
    if not lower:
        return row * col - _count(row, col, offset - 1, True)
    first, last = max(offset + 1, 1), offset + row  # row i has i + offset + 1 elements, at least none and at most col
    full = max(last - max(first, col + 1) + 1, 0)
    rising = max(min(last, col) - first + 1, 0)
    return full * col + rising * (2 * first + rising - 1) // 2


def _indices(lower: bool) -> Any:
    name = f"tri{'l' if lower else 'u'}_indices"

    def rule(row: int, col: int, offset: int, dtype: Any, *options: Any) -> Spec:
        """-> (2, L): row and column of the L elements of a triangle of a (row, col) matrix, int64 or int32."""
        if dtype not in (None, dtypes.int64, dtypes.int32):
            raise NotImplementedError(f"\"{name}\" not implemented for '{dtypes.scalar_type_name(dtype)}'")
        for side, size in (("row", row), ("col", col)):
            if size < 0:
                raise RuntimeError(f"{side} must be non-negative, got{size}")
        return Spec((2, _count(row, col, offset, lower)), dtype or dtypes.int64)

    return rule


shape_rule("tril_indices")(_indices(True))
shape_rule("triu_indices")(_indices(False))


def _triangle(name: str) -> Any:
    def rule(self: Any, diagonal: int) -> Spec:
        """self (*, M, N) -> (*, M, N)."""
        if self.dim() < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        return Spec(self._array.shape, self._dtype)

    return rule


shape_rule("tril")(_triangle("tril"))
shape_rule("triu")(_triangle("triu"))
