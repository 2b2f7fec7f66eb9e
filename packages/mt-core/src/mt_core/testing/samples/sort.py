"""Sample inputs: sorting and searching."""

from __future__ import annotations

from ... import dtypes
from ..sample import call, cases

ROWS = (
    lambda t: call(t.distinct(3, 4)),
    lambda t: call(t.distinct(3, 4), 0),
    lambda t: call(t.distinct(2, 3, 4).permute(2, 0, 1), 1),
)

cases("sort argsort mode", *ROWS)
cases("sort argsort", lambda t: call(t.distinct(3, 4, dtype=dtypes.int64), -1, True))
cases(
    "sort.stable argsort.stable",
    lambda t: call(t.ints(3, 4), stable=True),
    lambda t: call(t.distinct(2, 3, 4).permute(2, 0, 1), stable=False, dim=1),
    lambda t: call(t.distinct(3, 4), stable=True, dim=0, descending=True),
)
cases("msort median nanmedian", lambda t: call(t.distinct(3, 4)), lambda t: call(t.distinct(3, 4, dtype=dtypes.int64)))
cases("topk", lambda t: call(t.distinct(3, 4), 2), lambda t: call(t.distinct(3, 4), 2, 0, False))
cases("kthvalue", lambda t: call(t.distinct(3, 4), 2), lambda t: call(t.distinct(3, 4), 2, 0, True))
cases("median.dim nanmedian.dim", lambda t: call(t.distinct(3, 4), 1), lambda t: call(t.distinct(3, 4), 0, True))
for _dtype in (dtypes.bool, dtypes.complex64, dtypes.bfloat16, dtypes.uint8):
    cases("sort argsort msort median nanmedian mode", lambda t, d=_dtype: call(t.distinct(5, dtype=d)))
    cases("topk kthvalue", lambda t, d=_dtype: call(t.distinct(5, dtype=d), 2))
    cases("searchsorted.Tensor", lambda t, d=_dtype: call(t.of([1, 3, 5], d), t.ints(2, high=6, dtype=d)))
    cases("_unique2 unique_consecutive", lambda t, d=_dtype: call(t.ints(6, high=3, dtype=d)))
    cases("unique_dim", lambda t, d=_dtype: call(t.ints(4, 2, high=2, dtype=d), 0))
cases("_unique", lambda t: call(t.ints(3, 4)), lambda t: call(t.ints(6, high=3), False, True))
STEPS = ([1.0, 3.0, 5.0],)
cases(
    "searchsorted.Tensor",
    lambda t: call(t.of(*STEPS), t(2, 3, high=6)),
    lambda t: call(t.of(*STEPS), t(2, high=6), right=True, out_int32=True),
)
cases("searchsorted.Scalar", lambda t: call(t.of(*STEPS), 3))
cases("bucketize.Tensor", lambda t: call(t(2, 3, high=6), t.of(*STEPS)))
cases("bucketize.Scalar", lambda t: call(3.0, t.of(*STEPS)))
cases("unique_dim", lambda t: call(t.ints(4, 2, high=2), 0), lambda t: call(t.ints(4, 2, high=2), 1, True, True, True))
cases("_unique2", lambda t: call(t.ints(3, 4)), lambda t: call(t.ints(6), True, True, True))
cases("unique_consecutive", lambda t: call(t.ints(6, high=2)), lambda t: call(t.ints(6, 2, high=2), True, True, 0))

# Arguments away from their defaults.
cases("argsort.stable sort.stable", lambda t: call(t.ints(3, 4, high=2), stable=True, dim=0))
cases("argsort.stable", lambda t: call(t.distinct(3, 4), stable=False, descending=True))
cases("bucketize.Scalar", lambda t: call(5.0, t.of(*STEPS), out_int32=True, right=True))
cases("bucketize.Tensor", lambda t: call(t.of([1.0, 3.0, 4.0]), t.of(*STEPS), out_int32=True, right=True))
cases("searchsorted.Scalar", lambda t: call(t.of([5.0, 1.0, 3.0]), 3.0, out_int32=True, side="right",
    sorter=t.of([1, 2, 0], dtypes.int64)), lambda t: call(t.of(*STEPS), 5, right=True))  # fmt: skip
cases(
    "searchsorted.Tensor",
    lambda t: call(t.of([5.0, 1.0, 3.0]), t.of([3.0, 5.0]), side="right", sorter=t.of([1, 2, 0], dtypes.int64)),
    lambda t: call(t.of([[1.0, 2.0], [0.0, 3.0]]), t.of([[2.0], [3.0]]), side="left"),
)
cases("kthvalue", lambda t: call(t.distinct(3, 4), 4), lambda t: call(t.distinct(3, 4), 1, -2, True))
cases("topk", lambda t: call(t.distinct(3, 5), 4, 1, False, True), lambda t: call(t.distinct(3), 3))
cases("mode", lambda t: call(t.ints(3, 5, high=3), 1, True), lambda t: call(t.ints(9, high=3)))
cases("_unique2", lambda t: call(t.ints(3, 4), False, True, True))
cases("unique_dim", lambda t: call(t.ints(4, 2, high=2), 0, False, True, True))
cases("unique_consecutive", lambda t: call(t.ints(4, 3, high=2), True, True, 1))
NAN = float("nan")
cases("median nanmedian msort", lambda t: call(t.of([3.0, NAN, 1.0, 2.0])))
cases("sort argsort", lambda t: call(t.of([3.0, NAN, 1.0, 2.0]), 0, True))
cases("median.dim nanmedian.dim", lambda t: call(t.of([[3.0, NAN, 1.0], [2.0, 0.0, 4.0]]), 1))

# Refused, as PyTorch refuses it: also where a short path does not look.
cases("sort topk", lambda t: call(t(2, 3), 5))
cases("kthvalue", lambda t: call(t(2, 3), 4), lambda t: call(t(2, 3), 1, 2))
