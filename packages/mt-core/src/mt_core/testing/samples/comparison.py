"""Sample inputs: comparisons, logic, clamping."""

from __future__ import annotations

from ... import dtypes
from ..sample import binary, call, cases, unary

binary("eq.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor maximum minimum fmax fmin heaviside")
binary("logical_and logical_or logical_xor isclose allclose")
binary("clamp_min.Tensor clamp_max.Tensor")
unary("isnan isreal isinf isfinite isposinf isneginf signbit logical_not nan_to_num")
unary("clamp", -0.5, 1.25)
unary("clamp_min clamp_max", 1)
cases("nan_to_num", lambda t: call(t.of([float("nan"), float("inf"), 1.0]), 0.5, posinf=9.0))
cases("clamp", lambda t: call(t(2, 3), None, 0.5), lambda t: call(t.ints(2, 3), 1))
cases("clamp.Tensor", lambda t: call(t(2, 3), t(3), t(2, 1)), lambda t: call(t(2, 3), None, t(3)))
cases("equal", lambda t: call(t.ints(2, 3), t.ints(2, 3)), lambda t: call(t(2), t(3)))
cases("where", lambda t: call(t.bools(3, 4)), lambda t: call(t.ints(2, 2)))
cases(
    "where.self",
    lambda t: call(t.bools(2, 3), t(2, 3), t(2, 3)),
    lambda t: call(t.bools(3), t(2, 1), t(dtype=dtypes.float64)),
)
cases("isin.Tensor_Tensor", lambda t: call(t.ints(2, 3), t.ints(4)), lambda t: call(t.ints(5), t.ints(2), invert=True))
cases("isin.Scalar_Tensor", lambda t: call(2, t.ints(4)))
cases("isin.Tensor_Scalar", lambda t: call(t.ints(2, 3), 2))

# Arguments away from their defaults.
binary("isclose allclose", 0.5, 0.1, dtypes=(dtypes.float32, dtypes.float64))
NAN = [float("nan"), 1.0, float("inf")]
cases("isclose allclose", lambda t: call(t.of(NAN), t.of(NAN)), lambda t: call(t.of(NAN), t.of(NAN), equal_nan=True))
binary("isclose", rtol=0.0, atol=1.0, dtypes=(dtypes.float32, dtypes.int64))
unary("clamp_min clamp_max", -0.5)
cases("nan_to_num", lambda t: call(t.of([*NAN, float("-inf")]), neginf=-7.0))
cases("isin.Scalar_Tensor", lambda t: call(3, t.ints(4), assume_unique=True, invert=True))
cases("isin.Tensor_Scalar", lambda t: call(t.ints(2, 3), 3, assume_unique=True, invert=True))
cases(
    "isin.Tensor_Tensor", lambda t: call(t.of([4, 1, 2], dtypes.int64), t.of([1, 7], dtypes.int64), assume_unique=True)
)
binary("maximum minimum fmax fmin", dtypes=(dtypes.float16,))
cases("maximum minimum fmax fmin", lambda t: call(t.of(NAN), t.of([1.0, float("nan"), 0.0])))
cases("clamp.Tensor", lambda t: call(t(2, 3), t(3)))
cases("_assert_async", lambda t: call(t.of(2.0)), lambda t: call(t.of([1], dtypes.int64)))
cases("_assert_async.msg", lambda t: call(t.of(2.0), "positive"), lambda t: call(t.of(True, dtypes.bool), "true"))
cases(
    "_functional_assert_async.msg",
    lambda t: call(t.of(True, dtypes.bool), "true", t(2)),
    lambda t: call(t.of(2.0), "two", t()),
)
cases("_assert_scalar", lambda t: call(1, "one"), lambda t: call(2.5, "two"))
cases(
    "sym_constrain_range sym_constrain_range_for_size",
    lambda t: call(5),
    lambda t: call(2.5, min=2),
    lambda t: call(7, min=-1, max=7),
)
cases(
    "_assert_tensor_metadata",
    lambda t: call(t(2, 3)),
    lambda t: call(t(2, 3), [2, 3], t(2, 3).stride(), dtypes.float32),
)
cases("_is_all_true _is_any_true", lambda t: call(t.bools(3)), lambda t: call(t.bools(2, 3)))
