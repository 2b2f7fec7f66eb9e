"""Sample inputs: normalization."""

from __future__ import annotations

from ..sample import call, cases, constant_results, constants, depends_on_strides, writes_silently

cases(
    "native_layer_norm",
    lambda t: call(t(2, 3, 4), [4], t(4), t(4), 1e-5),
    lambda t: call(t(2, 3, 4), [3, 4], None, None, 1e-5),
)
cases(
    "native_layer_norm_backward",
    lambda t: call(t(2, 3), t(2, 3), [3], t(2, 1), t(2, 1, low=0.5), t(3), t(3), [True, True, True]),
)
cases("layer_norm", lambda t: call(t(2, 3, 4), [4]), lambda t: call(t(2, 3, 4), [3, 4], t(3, 4), t(3, 4)))
cases("rms_norm", lambda t: call(t(2, 3, 4), [4]), lambda t: call(t(2, 3, 4), [4], t(4), 1e-3))
cases("native_group_norm", lambda t: call(t(2, 6, 4), t(6), t(6), 2, 6, 4, 3, 1e-5))
depends_on_strides("native_group_norm")  # refuses gaps
cases("group_norm", lambda t: call(t(2, 6, 4), 3), lambda t: call(t(2, 6, 4, 3), 2, t(6), t(6)))
STATISTICS = (
    lambda t: call(t(4, 3), t(3), t(3), t(3), t(3, low=0.5), False, 0.1, 1e-5),
    lambda t: call(t(4, 3, 5), None, None, None, None, True, 0.1, 1e-5),
)
cases("native_batch_norm", *STATISTICS)
cases("native_batch_norm", lambda t: call(t(4, 3, 5), t(3), t(3), t(3), t(3, low=0.5), True, 0.25, 1e-5))
cases("batch_norm instance_norm", lambda t: call(t(4, 3, 5), t(3), t(3), t(3), t(3, low=0.5), True, 0.25, 1e-3, True))
cases(
    "batch_norm_update_stats",
    lambda t: call(t(4, 3, 5), t(3), t(3, low=0.5), 0.25),
    lambda t: call(t(4, 3), None, None, 0.1),
)
constants("_batch_norm", "mean", "variance")
writes_silently("native_batch_norm batch_norm instance_norm batch_norm_update_stats", "running_mean", "running_var")
cases(
    "_batch_norm",
    lambda t: call(t(4, 3, 5), t(3), t(3), None, None, 1e-5),
    lambda t: call(t(4, 3), None, None, t(3), t(3, low=0.5), 1e-5),
)
cases(
    "_batch_norm_backward",
    lambda t: call(t(4, 3, 5), t(4, 3, 5), t(3), t(3), t(3, low=0.5), True, [True, True, True]),
    lambda t: call(t(4, 3), t(4, 3), None, t(3), t(3, low=0.5), False, [True, False, True]),
)
cases(
    "batch_norm instance_norm",
    lambda t: call(t(4, 3, 5), t(3), t(3), t(3), t(3, low=0.5), False, 0.1, 1e-5, True),
    lambda t: call(t(4, 3, 5), None, None, None, None, True, 0.1, 1e-5, True),
)
cases("_weight_norm", lambda t: call(t(4, 3), t(4, 1)), lambda t: call(t(4, 3, 2), t(1, 3, 1), 1))
cases("norm_except_dim", lambda t: call(t(4, 3)), lambda t: call(t(4, 3, 2), 2, 1))
cases("cdist", lambda t: call(t(2, 3, 4), t(2, 5, 4)), lambda t: call(t(3, 4), t(5, 4), 1.0))
cases("_cdist_forward", lambda t: call(t(2, 3, 4), t(2, 5, 4), 2.0, None))
cases("pdist", lambda t: call(t(4, 3)), lambda t: call(t(4, 3), 1.0))
constant_results("native_layer_norm native_batch_norm", 1, 2)
constant_results("_batch_norm", 1, 2, 3)

# Arguments away from their defaults.
cases("native_layer_norm", lambda t: call(t(3, 4), [4], t(4), t(4), 0.5))
cases("layer_norm", lambda t: call(t(3, 4), [4], t(4), None, 0.5, False))
cases("rms_norm", lambda t: call(t(2, 3, 4), [3, 4], t(3, 4), 0.5))
cases("native_group_norm", lambda t: call(t(3, 4, 2, 3), None, None, 3, 4, 6, 2, 0.5))
cases("group_norm", lambda t: call(t(2, 6, 4), 2, t(6), None, 0.5, False))
cases("native_batch_norm", lambda t: call(t(4, 3), t(3), None, t(3), t(3, low=0.5), False, 0.1, 0.5))
cases(
    "batch_norm instance_norm",
    lambda t: call(t(4, 3, 5), t(3), t(3), None, None, True, 0.1, 0.5, False),
)
cases(
    "native_layer_norm_backward",
    lambda t: call(t(2, 3, 4), t(2, 3, 4), [3, 4], t(2, 1, 1), t(2, 1, 1, low=0.5), None, None, [True, False, False]),
    lambda t: call(t(2, 3), t(2, 3), [3], t(2, 1), t(2, 1, low=0.5), t(3), t(3), [False, True, True]),
)
cases("norm_except_dim", lambda t: call(t(4, 3, 2), 1, -1), lambda t: call(t(4, 3), 3, 0))
cases(
    "cdist _cdist_forward",
    *[lambda t, p=p: call(t(3, 4), t(5, 4), p, None) for p in (0.0, 0.5, 1.0, 2.0, 3.0, float("inf"))],
    lambda t: call(t(30, 4), t(28, 4), 2.0, 1),
    lambda t: call(t(30, 4), t(28, 4), 2.0, 2),
)
cases("pdist", *[lambda t, p=p: call(t(4, 3), p) for p in (0.0, 0.5, 3.0, float("inf"))])
cases("_batch_norm", lambda t: call(t(4, 3, 5), t(3), t(3), None, None, 0.5))
cases(
    "native_group_norm_backward",
    lambda t: call(t(2, 6, 4), t(2, 6, 4), t(2, 3), t(2, 3), t(6), 2, 6, 4, 3, [True, True, True]),
    lambda t: call(t(3, 4, 2, 3), t(3, 4, 2, 3), t(3, 2), t(3, 2), None, 3, 4, 6, 2, [True, False, False]),
)
cases(
    "_native_batch_norm_legit",
    lambda t: call(t(4, 3, 5), t(3), t(3), t(3), t(3, low=0.5), True, 0.25, 1e-5),
    lambda t: call(t(4, 3), None, None, t(3), t(3, low=0.5), False, 0.1, 0.5),
)
cases(
    "_native_batch_norm_legit.no_stats",
    lambda t: call(t(4, 3, 5), t(3), t(3), True, 0.25, 1e-5),
    lambda t: call(t(4, 3), None, None, True, 0.1, 0.5),
)
constants("_native_batch_norm_legit_no_training", "running_mean", "running_var")
cases(
    "_native_batch_norm_legit_no_training",
    lambda t: call(t(4, 3, 5), t(3), t(3), t(3), t(3, low=0.5), 0.25, 1e-5),
    lambda t: call(t(4, 3), None, None, t(3), t(3, low=0.5), 0.1, 0.5),
)
cases(
    "_batch_norm_with_update",
    lambda t: call(t(4, 3, 5), t(3), t(3), t(3), t(3, low=0.5), 0.25, 1e-5),
    lambda t: call(t(4, 3), None, None, t(3), t(3, low=0.5), 0.1, 0.5),
)
cases("_fused_rms_norm", lambda t: call(t(2, 3), [3], t(3), 1e-5), lambda t: call(t(2, 3), [2, 3], None, None))
