"""Sample inputs: factories, copies and fills."""

from __future__ import annotations

from ... import dtypes
from ...formats import channels_last, contiguous_format
from ..sample import call, cases, unary, uninitialized

uninitialized("empty.memory_format empty_strided empty_like new_empty new_empty_strided empty_permuted")
SIZES = (lambda t: call([2, 3]), lambda t: call([]), lambda t: call([0, 2], dtype=dtypes.float64))

cases("empty.memory_format zeros ones", *SIZES, lambda t: call([2, 3, 4, 5], dtype=dtypes.int32))
cases("empty.memory_format", lambda t: call([2, 3, 4, 5], memory_format=channels_last))
cases("empty_strided", lambda t: call([2, 3], [1, 2]), lambda t: call([2, 3], [4, 1], dtype=dtypes.int64))
cases("empty_permuted", lambda t: call([2, 3, 4], [0, 2, 1]), lambda t: call([2, 3], [1, 0]))
cases(
    "full",
    lambda t: call([2, 3], 2.5),
    lambda t: call([2], 3),
    lambda t: call([2], True),
    lambda t: call([2], 1, dtype=dtypes.float64),
)
cases("arange", lambda t: call(5), lambda t: call(2.5), lambda t: call(0), lambda t: call(3, dtype=dtypes.float64))
cases("arange.start", lambda t: call(1, 5), lambda t: call(0.5, 3))
cases("arange.start_step range", lambda t: call(1, 9, 2), lambda t: call(1.0, 0.0, -0.25))
cases("scalar_tensor", lambda t: call(2.5), lambda t: call(3))
unary("empty_like zeros_like ones_like clone _to_copy")
cases("zeros_like ones_like empty_like", lambda t: call(t(2, 3), dtype=dtypes.int64))
cases("_to_copy", lambda t: call(t(2, 3), dtype=dtypes.int64), lambda t: call(t.ints(2, 3), dtype=dtypes.bfloat16))
unary("full_like fill.Scalar fill_.Scalar", 3)
cases(
    "new_empty new_zeros new_ones", lambda t: call(t(2, 3), [4, 2]), lambda t: call(t.ints(2), [], dtype=dtypes.float32)
)
cases("new_full", lambda t: call(t(2, 3), [4, 2], 1.5), lambda t: call(t.ints(2), [2], 3))
cases("new_empty_strided", lambda t: call(t(2, 3), [4, 2], [1, 4]))
cases(
    "copy_ copy",
    lambda t: call(t(2, 3), t(2, 3)),
    lambda t: call(t.ints(2, 3), t(3)),
    lambda t: call(t(3, 2).t(), t(2, 1)),
)
cases("fill_.Tensor fill.Tensor", lambda t: call(t(2, 3), t()), lambda t: call(t.ints(2, 3), t()))
unary("zero_ zero")
cases("resize", lambda t: call(t(2, 3), [3, 2]), lambda t: call(t(3, 4), [2]), lambda t: call(t(2, 3).t(), [6]))
cases("resize", lambda t: call(t(1, 2, 2, 2), [1, 2, 2, 2], memory_format=channels_last))
cases("linspace logspace", lambda t: call(0, 3, 5), lambda t: call(0.5, 2, 1), lambda t: call(1, 2, 0))
cases("linspace.Tensor_Tensor logspace.Tensor_Tensor", lambda t: call(t(), t(), 5))
cases("linspace.Tensor_Scalar logspace.Tensor_Scalar", lambda t: call(t(), 3, 5))
cases("linspace.Scalar_Tensor logspace.Scalar_Tensor", lambda t: call(0, t(), 5))
cases("eye", lambda t: call(3), lambda t: call(0, dtype=dtypes.int64))
cases("eye.m", lambda t: call(2, 4), lambda t: call(3, 1))
cases("tril_indices triu_indices", lambda t: call(3, 4), lambda t: call(4, 3, 1), lambda t: call(2, 2, -1))
cases(
    "tril triu",
    lambda t: call(t(3, 4)),
    lambda t: call(t(2, 4, 3).permute(0, 2, 1), 1),
    lambda t: call(t.ints(3, 3), -1),
)
cases("diag diagflat", lambda t: call(t(3)), lambda t: call(t(3), -1))
cases("diag diagflat", lambda t: call(t(3, 4), 1))
cases("diag_embed", lambda t: call(t(2, 3)), lambda t: call(t(2, 3), 1, 0, 2))
cases("fill_diagonal_", lambda t: call(t(3, 3), 5), lambda t: call(t(7, 3), 5, True))
cases("vander", lambda t: call(t(3)), lambda t: call(t.ints(3), 2, True))
cases(
    "bartlett_window blackman_window hann_window hamming_window",
    lambda t: call(6),
    lambda t: call(1),
    lambda t: call(0),
)
cases(
    "bartlett_window.periodic blackman_window.periodic hann_window.periodic hamming_window.periodic",
    lambda t: call(6, False),
    lambda t: call(5, True, dtype=dtypes.float64),
)

# Arguments away from their defaults.
F64 = dtypes.float64
cases("arange.start", lambda t: call(1, 5, dtype=F64))
cases("arange.start_step", lambda t: call(5, 1, -2, dtype=F64))
cases("range", lambda t: call(2, 7, 2, dtype=F64))
cases("bartlett_window blackman_window hann_window hamming_window", lambda t: call(6, dtype=F64))
cases("kaiser_window", lambda t: call(6), lambda t: call(6, dtype=F64), lambda t: call(1))
cases("kaiser_window.periodic", lambda t: call(5, False), lambda t: call(6, True, dtype=F64))
cases("kaiser_window.beta", lambda t: call(5, False, 6.5), lambda t: call(6, True, 2.5, dtype=F64))
cases("eye.m", lambda t: call(3, 2, dtype=dtypes.int64))
cases("empty_permuted", lambda t: call([2, 3], [1, 0], dtype=F64))
cases("empty_strided", lambda t: call([4], [2]))
IMAGE = (2, 4, 5, 3)
cases(
    "empty_like zeros_like ones_like clone _to_copy",
    lambda t: call(t(*IMAGE), memory_format=channels_last),
    lambda t: call(t(*IMAGE).permute(0, 3, 1, 2), memory_format=contiguous_format),
)
cases("full_like", lambda t: call(t(*IMAGE), 2.5, dtype=F64, memory_format=channels_last))
cases("full_like", lambda t: call(t.ints(2, 3), 1.75, dtype=dtypes.float32))
cases("fill.Scalar fill_.Scalar", lambda t: call(t(2, 3), -1.5), lambda t: call(t.ints(2, 3), 2))
cases("fill_diagonal_", lambda t: call(t(2, 5), -1.5), lambda t: call(t(2, 2, 2), 3))
cases("new_full", lambda t: call(t(2, 3), [2], 1.5, dtype=F64))
cases("new_empty_strided", lambda t: call(t(2, 3), [2, 2], [1, 3], dtype=F64))
cases("scalar_tensor", lambda t: call(2.5, dtype=F64))
cases("linspace", lambda t: call(-2, 3, 4, dtype=F64), lambda t: call(0, 10, 6, dtype=dtypes.int64))
cases("logspace", lambda t: call(-2, 3, 4, 2.0, dtype=F64))
cases("linspace.Tensor_Tensor", lambda t: call(t(), t(), 3, dtype=F64))
cases("linspace.Tensor_Scalar", lambda t: call(t(), -1.5, 3, dtype=F64))
cases("linspace.Scalar_Tensor", lambda t: call(1.5, t(), 3, dtype=F64))
cases("logspace.Tensor_Tensor", lambda t: call(t(), t(), 3, 2.0, dtype=F64))
cases("logspace.Tensor_Scalar", lambda t: call(t(), -1.5, 3, 2.0, dtype=F64))
cases("logspace.Scalar_Tensor", lambda t: call(1.5, t(), 3, 2.0, dtype=F64))
cases("tril_indices triu_indices", lambda t: call(3, 4, -1, dtype=dtypes.int32), lambda t: call(5, 2, 2))
cases("diag_embed", lambda t: call(t(2, 3), -2), lambda t: call(t(3, 2), 0, -1, 0))
cases("copy_ copy", lambda t: call(t(2, 3), t(3), non_blocking=True))
cases("_to_copy", lambda t: call(t(2, 3), dtype=F64, non_blocking=True))
cases("_local_scalar_dense", lambda t: call(t()), lambda t: call(t.ints(1, 1)))
