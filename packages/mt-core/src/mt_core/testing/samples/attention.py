"""Sample inputs: attention."""

from __future__ import annotations

from ... import dtypes
from ..sample import call, cases

cases(
    "scaled_dot_product_attention",
    lambda t: call(t(2, 4, 3, 5), t(2, 4, 6, 5), t(2, 4, 6, 5)),
    lambda t: call(t(2, 4, 3, 5), t(2, 4, 3, 5), t(2, 4, 3, 5), is_causal=True),
    lambda t: call(t(2, 3, 5), t(2, 6, 5), t(2, 6, 5), t.bools(3, 6), scale=0.5),
    lambda t: call(t(1, 4, 3, 5), t(1, 2, 6, 5), t(1, 2, 6, 5), t(3, 6), enable_gqa=True),
)
cases(
    "_plain_attention",
    lambda t: call(t(2, 4, 3, 5), t(2, 4, 6, 5), t(2, 4, 6, 7), False, None),
    lambda t: call(t(2, 3, 5), t(2, 3, 5), t(2, 3, 5), True, -0.5),
    lambda t: call(t(3, 5), t(2, 4, 5), t(2, 4, 5), False, 2.0),
)
cases(
    "_safe_softmax",
    lambda t: call(t(2, 3), 1),
    lambda t: call(t(2, 3, 4).permute(2, 0, 1), 0),
    lambda t: call(t(2, 3), -1, dtype=dtypes.float64),
    lambda t: call(t(), 0),
    lambda t: call(t.of([[float("-inf")] * 3, [1.0, 2.0, 3.0]]), -1),
)

# Arguments away from their defaults.
cases(
    "scaled_dot_product_attention",
    lambda t: call(
        t(2, 3, 5, dtype=dtypes.bfloat16), t(2, 6, 5, dtype=dtypes.bfloat16), t(2, 6, 5, dtype=dtypes.bfloat16)
    ),
    lambda t: call(t(2, 4, 5), t(2, 3, 5), t(2, 3, 4), None, 0.0, True),
)
cases(
    "_transform_bias_rescale_qkv",
    lambda t: call(t(2, 3, 12), t(12), 2),
    lambda t: call(t(1, 2, 6), t(6), 1),
)
cases(
    "_native_multi_head_attention",
    lambda t: call(*[t(2, 3, 4)] * 3, 4, 2, t(12, 4), t(12), t(4, 4), t(4)),
    lambda t: call(
        t(2, 3, 4), t(2, 3, 4), t(2, 3, 4), 4, 2, t(12, 4), t(12), t(4, 4), t(4), t.bools(3, 3), True, False, 0
    ),
    lambda t: call(t(1, 3, 2), t(1, 3, 2), t(1, 3, 2), 2, 1, t(6, 2), t(6), t(2, 2), t(2), None, False),
)
