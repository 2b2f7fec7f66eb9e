"""Reductions of segments, and hashes."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..dispatch.registry import register_composite as composite
from ..dtypes import scalar_type_name
from ..formats import contiguous_format
from ..shape_rules.reduction import reduced_dims
from ..tensor import wrap_dim

__all__ = ["segment_of_elements"]

#: What a reduction begins with where nothing is given; a mean begins with a sum.
_NEUTRAL = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}
_SECOND_NAMES = {"amax": "max", "amin": "min"}
_BY_INDEX = {"sum": "sum", "mean": "sum", "prod": "prod", "max": "amax", "min": "amin"}


def _reduction(name: str) -> str:
    name = _SECOND_NAMES.get(name, name)
    if name not in _NEUTRAL:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {name}")
    return name


def _checked_ends(data: Any, lengths: Any, offsets: Any, axis: int, unsafe: bool) -> Any:
    """Where segments begin and end, (*B, segments + 1), out of one of the two ways to say it."""
    kind, given = ("lengths", lengths) if lengths is not None else ("offsets", offsets)
    if data.dim() < given.dim():
        raise RuntimeError(
            f"Expected data.dim() >= {kind}_value.dim() to be true, but got false.  (Could this error message be "
            "improved?  If so, please report an enhancement request to PyTorch.)"
        )
    if axis != given.dim() - 1:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of {kind} but got {axis}.")
    if lengths is not None and not unsafe:
        _check_lengths(lengths, data.shape[axis])
    if given.dtype not in (dtypes.int32, dtypes.int64):
        raise NotImplementedError(
            f"\"_segment_reduce_{kind}_cpu_kernel1\" not implemented for '{scalar_type_name(given.dtype)}'"
        )
    if given.shape[:-1] != data.shape[:axis]:
        raise RuntimeError(
            f"segment_reduce(): the leading dimensions of {kind} are {list(given.shape[:-1])}, those of data "
            f"{list(data.shape[:axis])}"
        )
    ends = _ends_of_lengths(lengths.long()) if lengths is not None else offsets.long()
    _check_ends(ends, data.shape[axis])
    return ends


def _check_lengths(lengths: Any, size: int) -> None:
    if int(lengths.min()) < 0:
        raise RuntimeError("lengths contains negative value!")
    if not bool((lengths.sum(-1) == size).all()):
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when "
            "!unsafe."
        )


def _ends_of_lengths(lengths: Any) -> Any:
    return ops.cat([ops.zeros_like(lengths[..., :1]), lengths.cumsum(-1)], -1)


def _check_ends(ends: Any, size: int) -> None:
    """Refuse segments that go backwards, and those beyond the data, where PyTorch reads other memory."""
    if not bool((ends[..., 1:] >= ends[..., :-1]).all()):
        raise RuntimeError(
            "Expected segment_length >= 0 to be true, but got false.  (Could this error message be improved?  If so, "
            "please report an enhancement request to PyTorch.)"
        )
    if ends.numel() and (int(ends.max()) > size or int(ends.min()) < 0):
        raise RuntimeError(f"segment_reduce(): segments reach beyond the {size} elements of data along axis")


def segment_of_elements(data: Any, ends: Any, axis: int) -> Any:
    """The segment of each element, (*S) as data; those in none have the number of segments.

    Parameters
    ----------
    ends
        Where segments begin and end, (*B, segments + 1).
    """
    size, count = data.shape[axis], ends.shape[-1] - 1
    places = ops.arange(size, device=data.device).expand((*ends.shape[:-1], size))
    found = ops.searchsorted(ends.contiguous(), places.contiguous(), right=True) - 1
    found = ops.where((found < 0) | (found >= count), count, found)
    return found.reshape((*found.shape, *([1] * (data.dim() - axis - 1)))).expand(data.shape)


@composite("segment_reduce", explicit=True)
def segment_reduce(
    data: Any, reduce: str, lengths: Any, indices: Any, offsets: Any, axis: int, unsafe: bool, initial: Any
) -> Any:
    """data (*B, n, *R), lengths (*B, segments) or offsets (*B, segments + 1) -> (*B, segments, *R)."""
    axis = wrap_dim(axis, data.dim())
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    reduce = _reduction(reduce)
    ends = _checked_ends(data, lengths, offsets, axis, unsafe)
    count = ends.shape[-1] - 1
    shape = (*data.shape[:axis], count + 1, *data.shape[axis + 1 :])
    start = ops.full(shape, _NEUTRAL[reduce] if initial is None else initial, dtype=data.dtype, device=data.device)
    made = start.scatter_reduce(axis, segment_of_elements(data, ends, axis), data, _BY_INDEX[reduce])
    made = made.narrow(axis, 0, count)
    return _averaged(made, ends, axis, initial) if reduce == "mean" else made.clone(memory_format=contiguous_format)


def _averaged(sums: Any, ends: Any, axis: int, initial: Any) -> Any:
    """Sums over the numbers of elements; a segment without any keeps what it began with, or has no mean."""
    sizes = (ends[..., 1:] - ends[..., :-1]).reshape((*sums.shape[: axis + 1], *([1] * (sums.dim() - axis - 1))))
    means = sums / sizes
    return means if initial is None else ops.where(sizes == 0, sums, means)


@composite("hash_tensor", explicit=True)
def hash_tensor(self: Any, dim: tuple[int, ...], keepdim: bool, mode: int) -> Any:
    """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`; none means all."""
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    dims = list(reduced_dims(dim, self.dim()))
    _check_not_empty(self, dims, bool(dim))
    bits = _bits(self)
    kept = [i for i in range(self.dim()) if i not in dims]
    rows = bits.permute((*kept, *dims)).reshape(
        (*(self.shape[i] for i in kept), math.prod(self.shape[i] for i in dims))
    )
    while rows.shape[-1] > 1:
        half = (rows.shape[-1] + 1) // 2
        rows = ops.cat(
            [rows[..., : rows.shape[-1] - half] ^ rows[..., half:], rows[..., rows.shape[-1] - half : half]], -1
        )
    shape = tuple(1 if i in dims else n for i, n in enumerate(self.shape) if keepdim or i not in dims)
    return rows.reshape(shape).view(dtypes.uint64).clone()


def _check_not_empty(tensor: Any, dims: list[int], given: bool) -> None:
    if tensor.numel():
        return
    if not given:
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
            "with the 'dim' argument."
        )
    for d in dims:
        if tensor.shape[d] == 0:
            raise IndexError(f"hash_tensor: Expected reduction dim {d} to have non-zero size.")


_HASHED = frozenset(
    (dtypes.bool, dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.float16, dtypes.bfloat16)
) | {dtypes.float32, dtypes.float64}


def _bits(tensor: Any) -> Any:
    """The elements' bits as int64."""
    if tensor.dtype not in _HASHED:
        raise NotImplementedError(f"\"xor_sum_cpu\" not implemented for '{scalar_type_name(tensor.dtype)}'")
    if not tensor.dtype.is_floating_point:
        return tensor.to(dtypes.int64)
    return tensor.to(dtypes.float64).contiguous().view(dtypes.int64)
