"""Batching rules: pooling and resampling. Each sample is treated alike, so lanes are more samples."""

from __future__ import annotations

from typing import Any

from ..batched import Lanes
from ._lanes import folded, over_samples, refuse_as_lane, unfolded
from ._rules import Batch, batching_rule, leading

for _n in (2, 3):
    over_samples(
        f"avg_pool{_n}d", f"avg_pool{_n}d_backward", f"max_pool{_n}d_with_indices", f"adaptive_max_pool{_n}d",
        f"_adaptive_avg_pool{_n}d", f"_adaptive_avg_pool{_n}d_backward", f"max_unpool{_n}d",
        inner=_n + 1, single=True,
    )  # fmt: skip
    over_samples(f"grid_sampler_{_n}d", inner=_n + 1)
for _name, _n in (
    *((f"{_kind}{_n}d", _n) for _kind in ("upsample_nearest", "_upsample_nearest_exact") for _n in (1, 2, 3)),
    ("upsample_linear1d", 1), ("upsample_bilinear2d", 2), ("upsample_trilinear3d", 3), ("upsample_bicubic2d", 2),
    *((f"_upsample_{_kind}2d_aa", 2) for _kind in ("bilinear", "bicubic", "lanczos")),
):  # fmt: skip
    over_samples(_name, inner=_n + 1)
    over_samples(f"{_name}_backward", inner=_n + 1, sizes="input_size")
over_samples("affine_grid_generator", inner=2, sizes="size")
leading("pixel_shuffle", "pixel_unshuffle")


@batching_rule("channel_shuffle", "native_channel_shuffle")
def channel_shuffle(batch: Batch, self: Lanes, groups: int) -> Any:
    if self.rank < 3:
        refuse_as_lane(batch, (self, groups))
    return unfolded(batch.overload.call(folded(self, batch.size), groups), batch.size, self.shape[0])
