"""Changes of geometry written in other operators."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..dispatch.memory import is_dense, overlaps_itself
from ..dispatch.registry import overload
from ..dispatch.registry import register_composite as composite
from ..formats import contiguous_format, preserve_format
from ..keys import STRIDED
from ..shape_rules.view import infer_size, view_strides
from ..state import tls
from ..tensor import wrap_dim

_view = overload("view", "view").cache
_reshape_alias = overload("_reshape_alias", "view").cache

Ints = tuple[int, ...]


@composite("reshape")
def reshape(self: Any, shape: Ints) -> Any:
    if not self._keys & STRIDED:
        return _view[self._keys | tls.mode](self, shape)
    new_shape = infer_size(shape, self.numel())
    strides = view_strides(self._array.shape, self.stride(), new_shape)
    if strides is not None:
        return _reshape_alias[self._keys | tls.mode](self, new_shape, strides)
    return ops._unsafe_view(self.clone(memory_format=contiguous_format), new_shape)


@composite("_debug_has_internal_overlap", explicit=True)
def debug_has_internal_overlap(self: Any) -> int:
    """self (any shape) -> 0: no indices share an element, 1: all of a dimension do, 2: it is not known."""
    if not self.numel() or is_dense(self):
        return 0
    return 1 if overlaps_itself(self) else 2


@composite("flatten.using_ints")
def flatten(self: Any, start_dim: int, end_dim: int) -> Any:
    ndim = self.dim()
    first, last = wrap_dim(start_dim, ndim), wrap_dim(end_dim, ndim)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not ndim:
        return self.reshape((1,))
    if first == last:
        return self
    shape = self._array.shape
    merged = 1
    for n in shape[first : last + 1]:
        merged *= n
    return self.reshape((*shape[:first], merged, *shape[last + 1 :]))


@composite("narrow")
def narrow(self: Any, dim: int, start: int, length: int) -> Any:
    if not self.dim():
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    at = wrap_dim(dim, self.dim())
    size = self._array.shape[at]
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    begin = start + size if start < 0 else start
    if begin + length > size:
        raise RuntimeError(f"start ({begin}) + length ({length}) exceeds dimension size ({size}).")
    return ops.slice(self, at, begin, begin + length, 1)


@composite("narrow.Tensor")
def narrow_tensor(self: Any, dim: int, start: Any, length: int) -> Any:
    if start.dim() or start.dtype.category > 1 or start.dtype is dtypes.bool:
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    return narrow(self, dim, int(start), length)


@composite("expand_as")
def expand_as(self: Any, other: Any) -> Any:
    return self.expand(other._array.shape)


@composite("view_as")
def view_as(self: Any, other: Any) -> Any:
    return self.view(other._array.shape)


@composite("contiguous")
def contiguous(self: Any, memory_format: Any) -> Any:
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    if memory_format is contiguous_format:
        return self.clone(memory_format=memory_format) if self._keys & STRIDED else self
    return self if self.is_contiguous(memory_format=memory_format) else self.clone(memory_format=memory_format)
