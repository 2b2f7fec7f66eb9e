"""Tensors resized, padded and averaged along single dimensions, as maps say (`mt_core.resampling`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..api import _functions as ops
from ..construct import from_data
from ..layout import suggested_format
from ..resampling import LineMap, rounded_weights

__all__ = ["mapped", "spread"]

Ints = tuple[int, ...]
#: Maps of the last dimensions, None where one stays as it is.
Maps = Sequence[LineMap | None]


def mapped(tensor: Any, maps: Maps) -> Any:
    """The tensor with its last dimensions mapped, the last one first; its layout stays."""
    result, first = _channels_after(tensor, len(maps))
    for i, line in reversed(list(enumerate(maps))):
        if line is not None:
            in_bytes = tensor.dtype is dtypes.uint8 and line.weights is not None
            result = (_rounded_line if in_bytes else _mapped_line)(result, line, i + first)
    return _channels_second(result, first, len(maps))


def spread(grad: Any, maps: Maps, sizes: Ints) -> Any:
    """The adjoint of `mapped`: every output element gives the input elements, `sizes` of them, their share."""
    result, first = _channels_after(grad, len(maps))
    for i, (line, n) in enumerate(zip(maps, sizes, strict=True)):
        if line is not None:
            result = _spread_line(result, line, i + first, n)
    return _channels_second(result, first, len(maps))


def _channels_after(tensor: Any, spatial: int) -> tuple[Any, int]:
    """A view whose layout is row-major where the tensor is channels_last, and its first mapped dimension."""
    if suggested_format(tensor) is None or spatial != tensor.dim() - 2:
        return tensor, tensor.dim() - spatial
    return tensor.permute((0, *range(2, tensor.dim()), 1)), 1


def _channels_second(result: Any, first: int, spatial: int) -> Any:
    """The dimensions as they were before `_channels_after`."""
    if first + spatial == result.dim():
        return result
    return result.permute((0, result.dim() - 1, *range(1, result.dim() - 1)))


def _index(like: Any, places: np.ndarray) -> Any:
    return from_data(places, dtypes.int64, like.device)


def _weighted(tensor: Any, line: LineMap, tap: int, dim: int) -> Any:
    """The tensor times the weights of one tap, (size,), along a dimension."""
    if line.weights is None:
        return tensor
    shape = [-1 if i == dim else 1 for i in range(tensor.dim())]
    weights = from_data(line.weights[tap], dtypes.float64, tensor.device).to(tensor.dtype).reshape(shape)
    term = tensor * weights
    return ops.where(weights == 0, ops.zeros_like(weights), term) if line.uneven else term


def _mapped_line(tensor: Any, line: LineMap, dim: int) -> Any:
    total: Any = None
    for tap, places in enumerate(line.places):
        term = _weighted(tensor.index_select(dim, _index(tensor, places)), line, tap, dim)
        total = term if total is None else total + term
    return total


def _rounded_line(image: Any, line: LineMap, dim: int) -> Any:
    """The same of bytes, in whole numbers, as PyTorch does, which rounds between two dimensions as well.

    Weights are below 2**15 and sum up to about 2**digits, at most 2**22: products and sums stay within int32. A weight
    of zero needs no care, for no byte is infinite.
    """
    rounded, digits = rounded_weights(line)
    assert rounded.weights is not None, "rounded weights are weights"
    shape = [-1 if i == dim else 1 for i in range(image.dim())]
    total: Any = None
    for places, weights in zip(rounded.places, rounded.weights, strict=True):
        if not weights.any():
            continue
        factor = from_data(weights, dtypes.float64, image.device).to(dtypes.int32).reshape(shape)
        term = image.index_select(dim, _index(image, places)) * factor
        total = term.add_(1 << digits >> 1) if total is None else total.add_(term)
    assert total is not None, "each output element has a share of some input element"
    return (total.to(dtypes.float64) * 0.5**digits).clamp(0, 255).to(dtypes.uint8)


def _spread_line(tensor: Any, line: LineMap, dim: int, n: int) -> Any:
    total = tensor.new_zeros(tuple(n if i == dim else size for i, size in enumerate(tensor.shape)))
    for tap, places in enumerate(line.places):
        total = total.index_add(dim, _index(tensor, places), _weighted(tensor, line, tap, dim))
    return total
