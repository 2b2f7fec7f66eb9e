"""Shape rules of histograms."""

from __future__ import annotations

import math
from typing import Any

from ..dispatch.registry import register_shape_rule as shape_rule
from ..dtypes import cpp_type_name, scalar_type_name
from ..spec import Spec

Ints = tuple[int, ...]
_NAME = "torch.histogramdd"


def _check_points(shape: Ints, dims: int, weight: Any, self: Any) -> None:
    if len(shape) < 2:
        raise RuntimeError(f"{_NAME}: input tensor should have at least 2 dimensions")
    if dims != shape[-1]:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    if weight is None:
        return
    if weight._dtype is not self._dtype:
        raise RuntimeError(
            f"{_NAME}: if weight tensor is provided, input tensor and weight tensor should have the same dtype, "
            "but got "
            f"input({cpp_type_name(self._dtype)}), and weight({cpp_type_name(weight._dtype)})"
        )
    if tuple(weight._array.shape) != shape[:-1]:
        raise RuntimeError(
            f"{_NAME}: if weight tensor is provided it should have the same shape as the input tensor excluding "
            "its innermost "
            f"dimension, but got input with shape {list(shape)} and weight with shape {list(weight.shape)}"
        )


def _check_dtype(self: Any) -> None:
    if not self._dtype.is_floating_point or not self._dtype.native:
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{scalar_type_name(self._dtype)}'")


def _check_counts(bins: Ints, range: Any) -> None:
    for d, count in enumerate(bins):
        if count <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {count} for dimension {d}")
    if range is None:
        return
    if len(range) != 2 * len(bins):
        raise RuntimeError(
            f"{_NAME}: for a {len(bins)}-dimensional histogram range should have {2 * len(bins)} elements, but "
            f"got {len(range)}"
        )
    for d in _dimensions(bins):
        low, high = range[2 * d], range[2 * d + 1]
        if not (math.isfinite(low) and math.isfinite(high)):
            raise RuntimeError(f"{_NAME}: dimension {d}'s range [{low:g}, {high:g}] is not finite")
        if low > high:
            raise RuntimeError(
                f"{_NAME}: min should not exceed max, but got min {low:g} max {high:g} for dimension {d}"
            )


def _dimensions(bins: Any) -> Any:
    return iter(range(len(bins)))


def _check_edges(bins: Any, self: Any) -> None:
    for d, edges in enumerate(bins):
        if edges._dtype is not self._dtype:
            raise RuntimeError(
                f"{_NAME}: input tensor and bins tensors should have the same dtype, but got input with dtype "
                f"{cpp_type_name(self._dtype)} and bins for dimension {d} with dtype {cpp_type_name(edges._dtype)}"
            )
        if edges._array.ndim != 1:
            raise RuntimeError(
                f"{_NAME}: bins tensor should have one dimension, but got {edges._array.ndim} dimensions in the "
                "bins tensor for "
                f"dimension {d}"
            )
        if not edges._array.size:
            raise RuntimeError(
                f"{_NAME}: bins tensor should have at least 1 element, but got 0 elements in the bins tensor for "
                f"dimension {d}"
            )


def _line(self: Any) -> Ints:
    """A histogram of all elements is one of points with one coordinate."""
    return self._array.size, 1


@shape_rule("histogram.bin_ct")
def histogram(self: Any, bins: int, range: Any, weight: Any, density: bool) -> tuple[Spec, Spec]:
    """self (any shape), weight like it -> counts (bins,), edges (bins + 1,)."""
    _check_dtype(self)
    _check_counts((bins,), range)
    _check_line_weight(self, weight)
    return Spec((bins,), self._dtype), Spec((bins + 1,), self._dtype)


def _check_line_weight(self: Any, weight: Any) -> None:
    if weight is not None and weight._array.size == self._array.size:
        weight = weight.reshape(-1)
    _check_points(_line(self), 1, weight, self)


@shape_rule("histogram.bins_tensor")
def histogram_edges(self: Any, bins: Any, weight: Any, density: bool) -> tuple[Spec, Spec]:
    """self (any shape), bins (B + 1,), weight like self -> counts (B,), edges (B + 1,)."""
    _check_edges([bins], self)
    _check_line_weight(self, weight)
    return Spec((bins._array.size - 1,), self._dtype), Spec(bins._array.shape, self._dtype)


@shape_rule("_histogramdd_bin_edges")
def bin_edges(self: Any, bins: Ints, range: Any, weight: Any, density: bool) -> list[Spec]:
    """self (*, D), weight (*) -> D tensors of edges, (bins[d] + 1,) each."""
    _check_dtype(self)
    _check_points(tuple(self._array.shape), len(bins), weight, self)
    _check_counts(tuple(bins), range)
    return [Spec((count + 1,), self._dtype) for count in bins]


@shape_rule("_histogramdd_from_bin_tensors")
def histogramdd(self: Any, bins: list[Any], weight: Any, density: bool) -> Spec:
    """self (*, D), D bins (B_d + 1,), weight (*) -> (B_1, ..., B_D)."""
    _check_points(tuple(self._array.shape), len(bins), weight, self)
    _check_edges(bins, self)
    return Spec([edges._array.size - 1 for edges in bins], self._dtype)
