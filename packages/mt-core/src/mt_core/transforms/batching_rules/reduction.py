"""Reductions, scans and statistics: batching rules."""

from __future__ import annotations

from typing import Any

from ..batched import Lanes
from ._rules import LOOPED, Batch, batching_rule, over_all, over_dims, rows_of, shifted_dims, without_last

over_dims(
    "sum.dim_IntList", "mean.dim", "prod.dim_int", "all.dim", "all.dims", "any.dim", "any.dims", "amax", "amin",
    "max.dim", "min.dim", "logsumexp", "nansum", "std.correction", "var.correction", "std_mean.correction",
    "var_mean.correction", "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "count_nonzero.dim_IntList",
    "hash_tensor",
)  # fmt: skip

over_all("sum", "sum.dim_IntList", [1], False)
over_all("mean", "mean.dim", [1], False)
over_all("prod", "prod.dim_int", 1, False)
over_all("all", "all.dim", 1, False)
over_all("any", "any.dim", 1, False)
over_all("max", "max.dim", 1, False)
over_all("min", "min.dim", 1, False)

#: Bins follow from the elements of each lane, the parts of segments from their lengths.
LOOPED.update(
    {"bincount", "histc", "histogram.bin_ct", "histogram.bins_tensor", "_histogramdd_bin_edges"}
    | {"_histogramdd_from_bin_tensors", "_histogramdd_from_bin_cts", "segment_reduce"}
)


@batching_rule("argmax", "argmin")
def index_of_extreme(batch: Batch, self: Lanes, dim: int | None = None, keepdim: bool = False) -> Any:
    if dim is None:
        found = batch.overload.call(rows_of(self), 1, False)
        return found.reshape([batch.size] + [1] * self.rank) if keepdim else found
    return _along(batch, self, dim, keepdim)


@batching_rule("aminmax")
def aminmax(batch: Batch, self: Lanes, dim: int | None = None, keepdim: bool = False) -> Any:
    if dim is None:
        found = batch.overload.call(rows_of(self), 1, False)
        return [part.reshape([batch.size] + [1] * self.rank) for part in found] if keepdim else found
    return _along(batch, self, dim, keepdim)


def _along(batch: Batch, self: Lanes, dim: int, keepdim: bool) -> Any:
    at = shifted_dims(dim, self.rank)
    if self.rank:
        return batch.overload.call(self.front(), at, keepdim)
    return without_last(batch.overload.call(self.front().unsqueeze(1), at, keepdim))


@batching_rule("count_nonzero")
def count_nonzero(batch: Batch, self: Lanes, dim: int | None = None) -> Any:
    if dim is None or not self.rank:
        return batch.overload.call(rows_of(self), 1)
    return batch.overload.call(self.front(), shifted_dims(dim, self.rank))


@batching_rule("renorm")
def renorm(batch: Batch, self: Lanes, p: Any, dim: int, maxnorm: Any) -> Any:
    """The slices of all lanes are those of one tensor: (batch * slices, rest)."""
    if self.rank < 2:
        batch.overload.call(self.value.new_empty(self.shape, device="meta"), p, dim, maxnorm)
    sliced = self.front().movedim(shifted_dims(dim, self.rank), 1)
    made = batch.overload.call(sliced.flatten(0, 1), p, 0, maxnorm)
    return made.unflatten(0, sliced.shape[:2]).movedim(1, shifted_dims(dim, self.rank))
