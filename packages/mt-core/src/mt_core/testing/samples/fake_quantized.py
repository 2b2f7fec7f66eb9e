"""Sample inputs: rounding as quantized tensors do. What gives or takes quantized tensors has tests of its own."""

from __future__ import annotations

from ... import dtypes
from ..sample import Sample, TensorMaker, call, cases

cases(
    "fake_quantize_per_tensor_affine",
    lambda t: call(t(2, 3, low=-3.1, high=3.1), 0.25, 3, -4, 8),
    lambda t: call(t(4, low=-3.1, high=3.1), 0.5, 0, 0, 5),
)
cases(
    "fake_quantize_per_tensor_affine_cachemask",
    lambda t: call(t(2, 3, low=-3.1, high=3.1), 0.25, 3, -4, 8),
    lambda t: call(t(4, low=-3.1, high=3.1), 0.5, 0, 0, 5),
)
cases(
    "fake_quantize_per_tensor_affine.tensor_qparams",
    lambda t: call(t(2, 3, low=-3.1, high=3.1), t.of(0.25), t.of(3, dtypes.int32), -4, 8),
    lambda t: call(t(4, low=-3.1, high=3.1), t.of([0.5]), t.of([0], dtypes.int32), 0, 5),
)
cases(
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
    lambda t: call(t(2, 3, low=-3.1, high=3.1), t.of(0.25), t.of(3, dtypes.int32), t.of([1], dtypes.int64), -4, 8),
    lambda t: call(t(4, low=-3.1, high=3.1), t.of([0.5]), t.of([0], dtypes.int32), t.of([0], dtypes.int64), 0, 5),
)


def _channels(t: TensorMaker, turn: int) -> Sample:
    if turn:
        return call(t(2, 3, low=-3.1, high=3.1), t.of([0.25, 0.5, 1.0]), t.of([3, 0, 1], dtypes.int32), 1, -4, 8)
    return call(t(2, 2, 2, low=-3.1, high=3.1), t.of([0.3, 0.5]), t.of([2, 0], dtypes.int32), 0, 0, 5)


for _name in ("fake_quantize_per_channel_affine", "fake_quantize_per_channel_affine_cachemask"):
    cases(_name, lambda t: _channels(t, 0), lambda t: _channels(t, 1))
cases(
    "_fake_quantize_learnable_per_tensor_affine",
    lambda t: call(t(2, 3, low=-3.1, high=3.1), t.of([0.25]), t.of([3.0]), -4, 8),
    lambda t: call(t(4, low=-3.1, high=3.1), t.of([0.5]), t.of([0.0]), 0, 5, 0.5),
)
cases(
    "_fake_quantize_learnable_per_channel_affine",
    lambda t: call(t(2, 3, low=-3.1, high=3.1), t.of([0.25, 0.5, 1.0]), t.of([3.0, 0.0, 1.0]), 1, -4, 8),
    lambda t: call(t(2, 2, 2, low=-3.1, high=3.1), t.of([0.3, 0.5]), t.of([2.0, 0.0]), 0, 0, 5, 0.5),
)
