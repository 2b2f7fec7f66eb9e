"""Shape rules of joining, repeating and rearranging."""

from __future__ import annotations

from typing import Any

from ..contract_kernels.creation import strides_like
from ..dispatch.registry import register_shape_rule as shape_rule
from ..layout import channels_last_strides, suggested_format
from ..promotion import result_type_of
from ..spec import Spec
from ..tensor import wrap_dim
from .view import infer_size

Ints = tuple[int, ...]


def counted(tensors: list[Any]) -> list[Any]:
    """The tensors that take part in a `cat`: all but empty 1-d ones, which any shape tolerates."""
    return [t for t in tensors if t._array.shape != (0,)]


@shape_rule("cat")
def cat(tensors: list[Any], dim: int) -> Spec:
    """tensors (*L, N_i, *R) -> (*L, sum of N_i, *R), at `dim`; tensors (0,) are passed over."""
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for position, tensor in enumerate(tensors):
        if not tensor._array.ndim:
            raise RuntimeError(f"zero-dimensional tensor (at position {position}) cannot be concatenated")
    dtype = result_type_of(tensors)
    taking_part = counted(tensors)
    if not taking_part:  # whatever the dimension is, as there is nothing to join
        return Spec((0,), dtype)
    first = taking_part[0]._array.shape
    at = wrap_dim(dim, len(first))
    total = 0
    for position, tensor in enumerate(tensors):
        shape = tensor._array.shape
        if shape == (0,):
            continue
        if len(shape) != len(first):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}")
        for i, (a, b) in enumerate(zip(first, shape, strict=True)):
            if i != at and a != b:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {at}. Expected size {a} but got size {b} "
                    "for tensor number "
                    f"{position} in the list."
                )
        total += shape[at]
    shape = (*first[:at], total, *first[at + 1 :])
    return Spec(shape, dtype, _common_strides(taking_part, shape))


def _common_strides(tensors: list[Any], shape: Ints) -> Ints | None:
    """The one format that all inputs suggest; row-major where they differ."""
    wanted = suggested_format(tensors[0]) if tensors else None
    if wanted is None or any(suggested_format(t) is not wanted for t in tensors[1:]):
        return None
    return channels_last_strides(shape, wanted)


@shape_rule("stack")
def stack(tensors: list[Any], dim: int) -> Spec:
    """K tensors (*L, *R) -> (*L, K, *R), at `dim`."""
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0]._array.shape
    at = wrap_dim(dim, len(first) + 1)
    for position, tensor in enumerate(tensors):
        if tensor._array.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                f"{list(tensor.shape)} at entry {position}"
            )
    return Spec((*first[:at], len(tensors), *first[at:]), result_type_of(tensors), _stacked_strides(tensors, at))


def _stacked_strides(tensors: list[Any], at: int) -> Ints | None:
    """As if the tensors were joined along the dimension that follows the new one, and this then split."""
    shape = tensors[0]._array.shape
    if at == len(shape):
        return None
    joined = _common_strides(tensors, (*shape[:at], len(tensors) * shape[at], *shape[at + 1 :]))
    return None if joined is None else (*joined[:at], joined[at] * shape[at], *joined[at:])


@shape_rule("repeat")
def repeat(self: Any, repeats: Ints) -> Spec:
    """self (*S) -> (repeats[i] S[i], ...), S preceded by as many ones as it lacks."""
    shape = self._array.shape
    if len(repeats) < len(shape):
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if any(r < 0 for r in repeats):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(repeats)}: {list(repeats)}")
    padded = (1,) * (len(repeats) - len(shape)) + tuple(shape)
    return Spec([n * r for n, r in zip(padded, repeats, strict=True)], self._dtype)


@shape_rule("flip")
def flip(self: Any, dims: Ints) -> Spec:
    """self (*) -> (*)."""
    named = [wrap_dim(d, self.dim()) for d in dims]
    if len(set(named)) != len(named):
        raise RuntimeError(
            f"dim {next(d for i, d in enumerate(named) if d in named[:i])} appears multiple times in the list of dims"
        )
    return Spec(self._array.shape, self._dtype, strides_like(self, None))


@shape_rule("roll")
def roll(self: Any, shifts: Ints, dims: Ints) -> Spec:
    """self (*) -> (*)."""
    if not shifts:
        raise RuntimeError("`shifts` required")
    if len(shifts) != len(dims) and not (not dims and len(shifts) == 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    for d in dims if self._array.size else ():
        if not self._array.ndim:
            raise IndexError(f"Dimension specified as {d} but tensor has no dimensions")
        wrap_dim(d, self.dim())
    if not self._array.size:  # a copy, where no dimension is named one of the flattened tensor
        kept = dims or self._array.ndim == 1
        return Spec(self._array.shape, self._dtype, strides_like(self, None) if kept else None)
    strides = _common_strides([self], self._array.shape) if dims else None
    return Spec(self._array.shape, self._dtype, strides)


@shape_rule("_unsafe_view")
def unsafe_view(self: Any, size: Ints) -> Spec:
    """self (*S) -> another shape of as many elements; -1 stands for what is left."""
    return Spec(infer_size(size, self.numel()), self._dtype)
