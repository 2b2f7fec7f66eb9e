"""Sample inputs: pooling, resampling, rearranging channels."""

from __future__ import annotations

from ... import dtypes
from ..sample import call, cases

SIZES = {1: (6,), 2: (6, 5), 3: (6, 5, 4)}

for _n, _size in SIZES.items():
    _pooled = f"max_pool{_n}d_with_indices max_pool{_n}d avg_pool{_n}d"
    cases(
        _pooled,
        lambda t, s=_size: call(t(2, 3, *s), [2] * len(s)),
        lambda t, s=_size: call(t(3, *s), [3] * len(s), [2] * len(s), [1] * len(s), ceil_mode=True),
    )
    cases(f"max_pool{_n}d", lambda t, s=_size: call(t(2, 3, *s), 2, 1, 0, 2))
    cases(f"adaptive_avg_pool{_n}d adaptive_max_pool{_n}d", lambda t, s=_size: call(t(2, 3, *s), [2] * len(s)))
    _modes = f"upsample_nearest{_n}d _upsample_nearest_exact{_n}d"
    cases(_modes, lambda t, s=_size: call(t(2, 3, *s), [2 * n for n in s]))
    cases(" ".join(f"{m}.vec" for m in _modes.split()), lambda t, s=_size: call(t(2, 3, *s), None, [1.5] * len(s)))
    _smooth = {1: "upsample_linear1d", 2: "upsample_bilinear2d upsample_bicubic2d", 3: "upsample_trilinear3d"}[_n]
    cases(
        _smooth,
        lambda t, s=_size: call(t(2, 3, *s), [n + 2 for n in s], False),
        lambda t, s=_size: call(t(2, 3, *s), [3] * len(s), True),
    )
    cases(" ".join(f"{m}.vec" for m in _smooth.split()), lambda t, s=_size: call(t(2, 3, *s), [7] * len(s), True, None))

cases("avg_pool2d", lambda t: call(t(2, 4, 6, 5, dtype=dtypes.float64), [2, 3], [1, 2], [1, 0], False, False, 5))
cases("avg_pool2d_backward", lambda t: call(t(2, 3, 3, 2), t(2, 3, 6, 5), [2, 2], [2, 2], [0, 0], False, True, None))
cases(
    "avg_pool3d_backward",
    lambda t: call(t(2, 3, 3, 2, 2), t(2, 3, 6, 5, 4), [2, 2, 2], [2, 2, 2], [0, 0, 0], False, True, None),
)
cases("max_unpool2d", lambda t: call(t(1, 2, 2), t.of([[[0, 3], [8, 11]]], dtypes.int64), [4, 4]))
cases(
    "max_unpool3d",
    lambda t: call(t(1, 1, 2, 2), t.of([[[[0, 3], [8, 11]]]], dtypes.int64), [2, 4, 4], [2, 2, 2], [0, 0, 0]),
)
cases("pixel_shuffle", lambda t: call(t(2, 8, 3, 4), 2))
cases("pixel_unshuffle", lambda t: call(t(2, 3, 4, 6), 2))
cases("channel_shuffle native_channel_shuffle", lambda t: call(t(2, 6, 3, 4), 3))
cases(
    "affine_grid_generator",
    lambda t: call(t(2, 2, 3), [2, 3, 4, 5], False),
    lambda t: call(t(2, 3, 4), [2, 3, 4, 5, 6], True),
)
cases(
    "grid_sampler grid_sampler_2d",
    lambda t: call(t(2, 3, 5, 6), t(2, 4, 4, 2), 0, 0, False),
    lambda t: call(t(2, 3, 5, 6), t(2, 4, 4, 2), 1, 1, True),
)
cases("grid_sampler grid_sampler_3d", lambda t: call(t(2, 3, 4, 5, 6), t(2, 2, 3, 4, 3), 0, 0, False))
cases("fractional_max_pool2d", lambda t: call(t(2, 3, 6, 5), [2, 2], [3, 3], t(2, 3, 2, low=0, high=1)))
cases("fractional_max_pool3d", lambda t: call(t(2, 3, 6, 5, 4), [2, 2, 2], [3, 3, 2], t(2, 3, 3, low=0, high=1)))
