"""Derivatives of reductions of segments."""

from __future__ import annotations

from typing import Any

from mt_core.api import _functions as ops
from mt_core.decomp.reduction_segments import segment_of_elements
from mt_core.dtypes import int64
from mt_core.tensor import wrap_dim

from ..rules import derivative, non_differentiable


def _segment_gradient(
    grad: Any, data: Any, result: Any, reduce: str, lengths: Any, offsets: Any, axis: int, initial: Any
) -> Any:
    """The gradient (*S) of data; elements in no segment have none, equal extremes share theirs."""
    axis = wrap_dim(axis, data.dim())
    ends: Any = offsets if lengths is None else ops.cat([ops.zeros_like(lengths[..., :1]), lengths.cumsum(-1)], -1)
    segments = segment_of_elements(data, ends.long(), axis)
    spread = _Spread(segments, axis, ends.shape[-1] - 1)
    if reduce in ("max", "amax", "min", "amin"):
        return _of_extremes(spread, grad, data, result)
    if reduce == "prod":
        return _of_products(spread, grad, data, 1 if initial is None else initial)
    ones = ops.ones_like(data)
    return spread(grad) if reduce == "sum" else spread(grad) / spread(spread.sum(ones)).clamp(min=1)


class _Spread:
    """From segments to their elements, and back."""

    def __init__(self, segments: Any, axis: int, count: int) -> None:
        self.segments = segments
        self.axis = axis
        self.count = count

    def __call__(self, values: Any) -> Any:
        """What each element's segment has; 0 outside of all."""
        shape = list(values.shape)
        shape[self.axis] = 1
        return ops.cat([values, values.new_zeros(shape)], self.axis).gather(self.axis, self.segments)

    def sum(self, elements: Any) -> Any:
        """Sums of segments."""
        return self._reduced(elements, 0, "sum")

    def product(self, elements: Any) -> Any:
        """Products of segments."""
        return self._reduced(elements, 1, "prod")

    def _reduced(self, elements: Any, start: int, reduce: str) -> Any:
        shape = list(elements.shape)
        shape[self.axis] = self.count + 1
        begun = elements.new_full(shape, start)
        return begun.scatter_reduce(self.axis, self.segments, elements, reduce).narrow(self.axis, 0, self.count)


def _of_extremes(spread: _Spread, grad: Any, data: Any, result: Any) -> Any:
    chosen = spread(result)
    is_extreme = (data == chosen) | (data.isnan() & chosen.isnan())
    sharing = spread.sum(is_extreme.to(data.dtype))
    return ops.where(is_extreme, spread(grad / sharing.clamp(min=1)), 0)


def _of_products(spread: _Spread, grad: Any, data: Any, initial: Any) -> Any:
    """The product of all other elements: of a segment with one zero (or NaN) that is 0 (NaN) for the others only."""
    is_zero, is_nan = data == 0, data.isnan()
    others = ops.where(is_zero | is_nan, 1, data)
    apart = spread(spread.product(others) * initial) / others
    apart = ops.where(_among_others(spread, is_zero), 0, apart)
    apart = ops.where(_among_others(spread, is_nan), float("nan"), apart)
    return spread(grad) * apart


def _among_others(spread: _Spread, marked: Any) -> Any:
    """Whether an element's segment holds a marked one besides itself."""
    counted = marked.to(int64)
    return spread(spread.sum(counted)) > counted


derivative("segment_reduce", data=_segment_gradient)
non_differentiable("hash_tensor")
