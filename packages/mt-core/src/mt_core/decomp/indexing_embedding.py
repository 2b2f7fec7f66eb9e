"""Bags of rows of a table, written in other operators."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..autograd_state import no_grad
from ..construct import tensor
from ..dispatch.registry import register_composite as composite
from ..hollow import has_elements
from ..printing_cpp import type_text

_SUM, _MEAN, _MAX = range(3)


@composite("embedding_bag")
def embedding_bag(
    weight: Any,
    indices: Any,
    offsets: Any,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Any,
    include_last_offset: bool,
) -> tuple[Any, Any, Any, Any]:
    """weight (V, E), indices (N,) with offsets (B,), or (B, L) -> (B, E), bag of each index, sizes, maxima."""
    return embedding_bag_with_padding(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, None
    )


@composite("_embedding_bag", explicit=True)
def embedding_bag_recorded(
    weight: Any,
    indices: Any,
    offsets: Any,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Any,
    include_last_offset: bool,
    padding_idx: int,
) -> tuple[Any, Any, Any, Any]:
    """As `embedding_bag`, without the rows `padding_idx`, where that is none if it is negative."""
    return _bags(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset,
        padding_idx if padding_idx >= 0 else None, False,
    )  # fmt: skip


@composite("_embedding_bag_forward_only", explicit=True)
def embedding_bag_unrecorded(
    weight: Any,
    indices: Any,
    offsets: Any,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Any,
    include_last_offset: bool,
    padding_idx: int,
) -> tuple[Any, Any, Any, Any]:
    """As `embedding_bag_recorded`; sums have as many sizes as there are offsets."""
    return _bags(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset,
        padding_idx if padding_idx >= 0 else None, True,
    )  # fmt: skip


@composite("embedding_bag.padding_idx")
def embedding_bag_with_padding(
    weight: Any,
    indices: Any,
    offsets: Any,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Any,
    include_last_offset: bool,
    padding_idx: int | None,
) -> tuple[Any, Any, Any, Any]:
    """As `embedding_bag`, without the rows `padding_idx`."""
    recorded = weight.requires_grad or per_sample_weights is not None and per_sample_weights.requires_grad
    padding_idx = _checked_padding_idx(padding_idx, weight)
    # One operator, so that handlers and graphs have what depends on elements as a whole.
    call = ops._embedding_bag if recorded else ops._embedding_bag_forward_only
    return call(  # type: ignore[no-any-return]
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset,
        -1 if padding_idx is None else padding_idx,
    )  # fmt: skip


def _bags(
    weight: Any,
    indices: Any,
    offsets: Any,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Any,
    include_last_offset: bool,
    padding_idx: int | None,
    size_of_each_offset: bool,
) -> tuple[Any, Any, Any, Any]:
    """See `embedding_bag`; with `size_of_each_offset`, sums have a size for the last offset too."""
    common = dtypes.promote_types(indices.dtype, offsets.dtype)
    indices, offsets = indices.to(common), offsets.to(common)
    _check(weight, indices, offsets, mode, per_sample_weights)
    indices = indices.reshape(-1)
    summed_at_once = mode != _MAX and padding_idx is None and _sums_at_once(weight, per_sample_weights)
    if not all(map(has_elements, (weight, indices, offsets))):
        return _without_elements(
            weight, indices, offsets, mode, include_last_offset, summed_at_once, size_of_each_offset
        )
    starts = _checked_starts(offsets, indices.numel())
    bag_count = max(len(starts) - include_last_offset, 0)
    # PyTorch counts what stands behind the last offset to the last bag, but does not read it where it sums at once.
    read = starts[-1] if summed_at_once and include_last_offset and starts else indices.numel()
    _check_rows(indices[:read], weight.shape[0], starts, summed_at_once)
    bag_of = of_index = _bag_of_each(indices.numel(), starts[:bag_count], weight.device)
    if padding_idx is not None:
        kept = indices != padding_idx
        indices, bag_of = indices[kept], bag_of[kept]
        per_sample_weights = None if per_sample_weights is None else per_sample_weights[kept]
    sizes = ops.zeros(bag_count, dtype=dtypes.int64, device=weight.device).index_add(0, bag_of, ops.ones_like(bag_of))
    if mode == _MAX:
        output, chosen = _maxima(weight, indices, sizes)
        return output, of_index, sizes, chosen
    if not bag_count:
        output = weight.new_zeros((0, weight.shape[1]))
    else:
        given = None if per_sample_weights is None else per_sample_weights[:read]
        output = _sums(weight, indices[:read], bag_of[:read], bag_count, given, scale_grad_by_freq, sparse)
    if mode == _MEAN:
        return output / sizes.clamp(min=1).unsqueeze(-1).to(output.dtype), of_index, sizes, sizes
    sizes = offsets.new_zeros(offsets.numel() if size_of_each_offset else bag_count)
    if summed_at_once and mode == _SUM:
        of_index = of_index.new_empty(0)
    return output, of_index, sizes, sizes


def _sums(
    weight: Any,
    indices: Any,
    bag_of: Any,
    bag_count: int,
    per_sample_weights: Any,
    scale_grad_by_freq: bool,
    sparse: bool,
) -> Any:
    """The sum of the rows of each bag, (B, E)."""
    rows = ops.embedding(weight, indices, -1, scale_grad_by_freq, sparse)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    return rows.new_zeros((bag_count, weight.shape[1])).index_add(0, bag_of, rows)


def _sums_at_once(weight: Any, per_sample_weights: Any) -> bool:
    """Whether PyTorch sums rows while it reads them: it has other words then, and stops at the last offset."""
    if weight.dtype is dtypes.float64 or weight.stride(1) != 1:
        return False
    return per_sample_weights is None or per_sample_weights.stride(0) == 1


def _bag_of_each(count: int, starts: list[int], device: Any) -> Any:
    """The bag of each index, (count,): the last that starts at it or before it."""
    if not starts:
        return ops.zeros(0, dtype=dtypes.int64, device=device)
    begins = ops.bincount(tensor(starts, dtype=dtypes.int64, device=device), minlength=count + 1)
    return begins[:count].cumsum(0) - 1


def _check_rows(indices: Any, rows: int, starts: list[int], summed_at_once: bool) -> None:
    """Refuse an index that names no row, in either of PyTorch's words."""
    if summed_at_once and any(a > b for a, b in pairwise(starts)):
        raise RuntimeError(
            "Expected i < index_size to be true, but got false.  (Could this error message be improved?  If so, please "
            "report an enhancement request to PyTorch.)"
        )
    wrong = (indices < 0) | (indices >= rows)
    if not wrong.any():
        return
    place = wrong.nonzero()[0].item()
    index = indices[place].item()
    if summed_at_once:
        raise RuntimeError(f"Index {place} of input takes value {index} which is not in the valid range [0, {rows})")
    raise RuntimeError(f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {index}")


def _without_elements(
    weight: Any,
    indices: Any,
    offsets: Any,
    mode: int,
    include_last_offset: bool,
    summed_at_once: bool,
    size_of_each_offset: bool,
) -> tuple[Any, Any, Any, Any]:
    """What is known of the results on the meta device: how many bags there are, not what is in them."""
    bags = max(offsets.numel() - include_last_offset, 0)
    output = weight.new_empty((bags, weight.shape[1]))
    of_index = indices.new_empty((indices.numel(),), dtype=dtypes.int64)
    if mode == _SUM:
        sizes = offsets.new_zeros(offsets.numel() if size_of_each_offset else bags)
        return output, of_index.new_empty(0) if summed_at_once else of_index, sizes, sizes
    sizes = offsets.new_empty((bags,), dtype=dtypes.int64)
    return output, of_index, sizes, ops.empty_like(output, dtype=dtypes.int64) if mode == _MAX else sizes


def _maxima(weight: Any, indices: Any, sizes: Any) -> tuple[Any, Any]:
    """(the maxima of each bag, zeros for an empty one; which row each comes from)"""
    columns = weight.shape[1]
    chosen = []
    with no_grad():
        for bag in indices.split(sizes.tolist()):
            if bag.numel() == 0:
                chosen.append(ops.zeros(columns, dtype=dtypes.int64, device=weight.device))
            else:
                chosen.append(bag[weight[bag].max(0)[1]].to(dtypes.int64))
    if not chosen:
        return weight.new_zeros((0, columns)), ops.zeros((0, columns), dtype=dtypes.int64, device=weight.device)
    rows = ops.stack(chosen)
    return weight.gather(0, rows).masked_fill((sizes == 0).unsqueeze(-1), 0), rows


def _check(weight: Any, indices: Any, offsets: Any, mode: int, per_sample_weights: Any) -> None:
    if indices.dim() not in (1, 2):
        raise RuntimeError(f"input has to be a 1D or 2D Tensor, but got Tensor of dimension {indices.dim()}")
    if offsets.dim() != 1:
        raise RuntimeError(f"offsets has to be a 1D Tensor, but got Tensor of dimension {offsets.dim()}")
    if weight.dim() != 2:
        raise RuntimeError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if not weight.is_floating_point():
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, "
            f"Float, Double; but got {weight.type()} instead (while checking arguments for embedding_bag)"
        )
    if indices.dtype is not dtypes.int64 and indices.dtype is not dtypes.int32:
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but "
            f"got {type_text(indices)} instead (while checking arguments for embedding_bag)"
        )
    if mode not in (_SUM, _MEAN, _MAX):
        raise RuntimeError("`mode` must be sum, mean, or max.")
    if per_sample_weights is None:
        return
    if mode != _SUM:
        raise RuntimeError("embedding_bag: per_sample_weights only supported with mode='sum'")
    if per_sample_weights.dtype is not weight.dtype:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
            f"'per_sample_weights'; but type {weight.type()} does not equal {per_sample_weights.type()} (while "
            "checking arguments for embedding_bag)"
        )
    if per_sample_weights.numel() != indices.numel():
        raise RuntimeError(
            "Expected per_sample_weights.value().numel() == indices.numel() to be true, but got false.  (Could this "
            "error message be improved?  If so, please report an enhancement request to PyTorch.)"
        )


def _checked_starts(offsets: Any, count: int) -> list[int]:
    starts: list[int] = offsets.tolist()
    if starts and starts[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, "
            f"got {starts[0]}\n[ {type_text(offsets)}{{}} ]"
        )
    if starts and starts[-1] > count:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {count} but got offsets[-1] of {starts[-1]}"
        )
    return starts


def _checked_padding_idx(padding_idx: int | None, weight: Any) -> int | None:
    if padding_idx is None:
        return None
    rows = weight.size(0)
    if not -rows <= padding_idx < rows:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, but got {padding_idx}"
        )
    return padding_idx % rows


@composite("_rowwise_prune", explicit=True)
def rowwise_prune(weight: Any, mask: Any, compressed_indices_dtype: Any) -> tuple[Any, Any]:
    """weight (V, E), mask (V,) of bool -> the rows kept (K, E), the place of each row among them (V,)."""
    if weight.dim() != 2:
        raise RuntimeError("'weights' should have 2 dimensions.")
    if mask.numel() != weight.shape[0]:
        raise RuntimeError("Number of elements in 'mask' should be equivalent to the number of rows in 'weights'.")
    if compressed_indices_dtype not in (dtypes.int32, dtypes.int64):
        raise RuntimeError("compressed_indices_dtype should be either int(int32) or long(int64).")
    if mask.dtype is not dtypes.bool:
        raise RuntimeError(f"expected scalar type Bool but found {dtypes.scalar_type_name(mask.dtype)}")
    kept = mask.reshape(-1)
    places = ops.where(kept, kept.to(compressed_indices_dtype).cumsum(0) - 1, -1)
    return weight[kept], places.to(compressed_indices_dtype)


@composite("embedding_renorm_")
def embedding_renorm_(self: Any, indices: Any, max_norm: float, norm_type: float) -> Any:
    """self (V, E), indices (any shape): the rows that they name, no longer than `max_norm`, in place."""
    if indices.dtype is not dtypes.int64 and indices.dtype is not dtypes.int32:
        raise RuntimeError(
            "Expected tensor for argument #2 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{indices.type()} instead (while checking arguments for embedding_renorm_)"
        )
    if self.is_meta:
        return self.mul_(1)  # nothing but written to
    chosen = ops._unique2(indices, True, False, False)[0]
    rows = self[chosen]
    norms = ops.linalg_vector_norm(rows, norm_type, [1], keepdim=True)
    factors = ops.where(norms > max_norm, max_norm / (norms + 1e-7), ops.ones_like(norms))
    self[chosen] = rows * factors
    return self
