"""Sample inputs: pooling, resampling, rearranging channels."""

from __future__ import annotations

from ... import dtypes
from ..sample import call, cases, constants

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

# Arguments away from their defaults.
for _n, _size in SIZES.items():
    cases(
        f"max_pool{_n}d_with_indices max_pool{_n}d",
        lambda t, s=_size: call(t(2, 3, *s), [2] * len(s), [1] * len(s), [1] * len(s), [2] * len(s)),
        lambda t, s=_size: call(t.distinct(1, 2, *s), [2] * len(s), [2] * len(s), [0] * len(s), [1] * len(s), True),
    )
    cases(f"avg_pool{_n}d", lambda t, s=_size: call(t(2, 3, *s), [3] * len(s), 2, 1, False, False))
    cases(f"avg_pool{_n}d", lambda t, s=_size: call(t(2, 3, *s), [3] * len(s), 2, 1, True, False))
    cases(
        f"adaptive_avg_pool{_n}d adaptive_max_pool{_n}d",
        lambda t, s=_size: call(t(3, *s), [4, 3, 1][: len(s)]),
        lambda t, s=_size: call(t(2, 1, *s), [1] * len(s)),
    )
    _scales = ({"scales": 1.7}, {"scales_h": 1.7, "scales_w": 1.3}, {"scales_d": 1.7, "scales_h": 1.3, "scales_w": 2.1})
    _modes = f"upsample_nearest{_n}d _upsample_nearest_exact{_n}d"
    cases(_modes, lambda t, s=_size, k=_scales[_n - 1]: call(t(2, 3, *s), [8, 7, 8][: len(s)], **k))
    cases(" ".join(f"{m}.vec" for m in _modes.split()), lambda t, s=_size: call(t(2, 3, *s), [3, 7, 5][: len(s)], None))
    _smooth = {1: "upsample_linear1d", 2: "upsample_bilinear2d upsample_bicubic2d", 3: "upsample_trilinear3d"}[_n]
    cases(_smooth, lambda t, s=_size, k=_scales[_n - 1]: call(t(2, 3, *s), [8, 7, 8][: len(s)], False, **k))
    cases(
        " ".join(f"{m}.vec" for m in _smooth.split()),
        lambda t, s=_size: call(t(2, 3, *s), None, False, [1.5, 2.0, 1.25][: len(s)]),
    )
cases("avg_pool3d", lambda t: call(t(2, 6, 5, 4), [2, 3, 2], [1, 2, 1], [1, 0, 1], True, True, 3))
cases(
    "avg_pool2d_backward",
    lambda t: call(t(3, 4, 3), t(3, 6, 5), [3, 2], [2, 2], [1, 0], True, False, None),
    lambda t: call(t(3, 3, 3), t(3, 6, 5), [3, 2], [2, 2], [1, 1], False, True, 5),
)
cases(
    "avg_pool3d_backward",
    lambda t: call(t(3, 4, 3, 2), t(3, 6, 5, 4), [3, 2, 2], [2, 2, 2], [1, 0, 0], True, False, None),
    lambda t: call(t(3, 3, 3, 3), t(3, 6, 5, 4), [3, 2, 2], [2, 2, 2], [1, 1, 1], False, True, 5),
)
cases("max_unpool2d", lambda t: call(t(2, 1, 2, 2), t.of([[[[0, 2], [9, 14]]]] * 2, dtypes.int64), [3, 5]))
cases(
    "max_unpool3d",
    lambda t: call(t(1, 1, 1, 2, 2), t.of([[[[[0, 3], [20, 11]]]]], dtypes.int64), [3, 3, 3], [3, 1, 1], [0, 0, 0]),
)
cases("pixel_shuffle", lambda t: call(t(9, 2, 2), 3))
cases("pixel_unshuffle", lambda t: call(t(2, 6, 3), 3))
cases("channel_shuffle native_channel_shuffle", lambda t: call(t(2, 6, 3), 2))
cases(
    "grid_sampler grid_sampler_2d",
    *[lambda t, m=m, p=p: call(t(1, 2, 4, 5), t(1, 3, 3, 2), m, p, bool(p % 2)) for m in (0, 1, 2) for p in (0, 1, 2)],
)
cases(
    "grid_sampler_3d",
    *[
        lambda t, m=m, p=p: call(t(1, 2, 3, 4, 3), t(1, 2, 2, 2, 3), m, p, bool(p % 2))
        for m in (0, 1)
        for p in (0, 1, 2)
    ],
)
cases("fractional_max_pool2d", lambda t: call(t(3, 6, 5), [3, 2], [2, 3], t(1, 3, 2, low=0, high=1)))
cases("fractional_max_pool3d", lambda t: call(t(3, 6, 5, 4), [3, 2, 1], [2, 3, 3], t(1, 3, 3, low=0, high=1)))
cases("avg_pool2d_backward", lambda t: call(t(3, 4, 2), t(3, 6, 5), [3, 2], [1, 3], [0, 1], False, True, None))
cases(
    "avg_pool3d_backward",
    lambda t: call(t(3, 4, 2, 3), t(3, 6, 5, 4), [3, 2, 2], [1, 3, 1], [0, 1, 0], False, True, None),
)

# Resizing with a kernel that grows, images of bytes, and the derivatives, which are operators of their own.
_SMOOTHING = "_upsample_bilinear2d_aa _upsample_bicubic2d_aa _upsample_lanczos2d_aa"
cases(
    _SMOOTHING,
    lambda t: call(t(2, 3, 6, 5), [3, 7], False),
    lambda t: call(t(2, 3, 6, 5, dtype=dtypes.float64), [4, 2], True),
    lambda t: call(t(1, 2, 7, 5), [3, 4], False, 0.5, 0.7),
    lambda t: call(t(2, 3, 8, 7, dtype=dtypes.uint8), [3, 4], False),
)
cases(
    " ".join(f"{m}.vec" for m in _SMOOTHING.split()),
    lambda t: call(t(2, 3, 6, 5), [3, 7], False, None),
    lambda t: call(t(2, 3, 6, 5), None, True, [0.5, 1.5]),
)
cases(
    "upsample_bilinear2d upsample_bicubic2d",
    lambda t: call(t(2, 3, 6, 5, dtype=dtypes.uint8), [4, 9], False),
    lambda t: call(t(2, 5, 6, 5, dtype=dtypes.uint8), [9, 3], True),
)
for _n, _size in SIZES.items():
    _down = [3, 2, 3][:_n]
    _scales = ({"scales": 1.7}, {"scales_h": 1.7, "scales_w": 1.3}, {"scales_d": 1.7, "scales_h": 1.3, "scales_w": 2.1})
    cases(
        f"upsample_nearest{_n}d_backward _upsample_nearest_exact{_n}d_backward",
        lambda t, s=_size, down=_down: call(t(2, 3, *down), down, [2, 3, *s]),
        lambda t, s=_size, k=_scales[_n - 1]: call(t(2, 1, *[9, 6, 7][: len(s)]), [9, 6, 7][: len(s)], [2, 1, *s], **k),
    )
    _smooth = {1: "upsample_linear1d", 2: "upsample_bilinear2d upsample_bicubic2d", 3: "upsample_trilinear3d"}[_n]
    cases(
        " ".join(f"{m}_backward" for m in _smooth.split()),
        lambda t, s=_size, down=_down: call(t(2, 3, *down), down, [2, 3, *s], False),
        lambda t, s=_size, k=_scales[_n - 1]: call(
            t(2, 1, *[9, 6, 8][: len(s)]), [9, 6, 8][: len(s)], [2, 1, *s], True, **k
        ),
        lambda t, s=_size, k=_scales[_n - 1]: call(
            t(2, 1, *[9, 6, 8][: len(s)]), [9, 6, 8][: len(s)], [2, 1, *s], False, **k
        ),
    )
    if _n > 1:
        cases(
            f"_adaptive_avg_pool{_n}d",
            lambda t, s=_size: call(t(2, 3, *s), [2] * len(s)),
            lambda t, s=_size: call(t(3, *s), [4, 3, 1][: len(s)]),
        )
        cases(f"_adaptive_avg_pool{_n}d_backward", lambda t, s=_size, down=_down: call(t(2, 3, *down), t(2, 3, *s)))
cases(
    " ".join(f"{m}_backward" for m in _SMOOTHING.split()),
    lambda t: call(t(2, 3, 3, 7), [3, 7], [2, 3, 6, 5], False),
    lambda t: call(t(1, 2, 4, 2), [4, 2], [1, 2, 6, 5], True, 0.7, 0.4),
)
constants("fractional_max_pool2d fractional_max_pool3d", "random_samples")
