"""Sample inputs: elementwise operators."""

from __future__ import annotations

from ... import dtypes
from ..sample import binary, call, cases, depends_on_strides, number_and_tensor, tensor_and_number, unary

INTEGERS = (dtypes.int64, dtypes.uint8, dtypes.bool)
FLOATS = (dtypes.float32, dtypes.float64, dtypes.bfloat16)
NUMERIC = (*FLOATS, dtypes.int64, dtypes.uint8)

unary(
    "neg abs sign sgn positive angle conj_physical _conj_physical conj resolve_conj resolve_neg real square reciprocal "
    "_conj"
)
unary("_neg_view", dtypes=(*NUMERIC, dtypes.complex64))
unary("ceil floor trunc round frac exp exp2 expm1 sin cos tan atan sinh cosh asinh deg2rad rad2deg bitwise_not")
unary("sqrt rsqrt log log2 log10 log1p", low=0.25)
unary("asin acos atanh", low=-0.9, high=0.9)
unary("acosh", low=1.25)
unary("round.decimals", decimals=1)
unary("frexp.Tensor", dtypes=FLOATS)
unary("imag", dtypes=(dtypes.complex64, dtypes.complex128))

binary("add.Tensor sub.Tensor rsub.Tensor mul.Tensor div.Tensor hypot atan2 copysign.Tensor logaddexp logaddexp2 dist")
binary("add.Tensor sub.Tensor rsub.Tensor", alpha=3)
binary("div.Tensor_mode", rounding_mode="floor", low=1, high=9, dtypes=NUMERIC)
binary("div.Tensor_mode", rounding_mode="trunc", low=1, high=9, dtypes=NUMERIC)
binary("floor_divide remainder.Tensor fmod.Tensor", low=1, high=9, dtypes=NUMERIC)
binary("pow.Tensor_Tensor float_power.Tensor_Tensor", low=1, high=3)
binary("bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor", dtypes=INTEGERS, high=9)
binary("bitwise_left_shift.Tensor bitwise_right_shift.Tensor gcd lcm", low=0, high=6, dtypes=INTEGERS)
binary("ldexp.Tensor nextafter", dtypes=FLOATS)
binary("complex", dtypes=(dtypes.float32, dtypes.float64))
binary("polar", low=0.5, high=4, dtypes=(dtypes.float32, dtypes.float64))  # abs < 0 has another gradient

tensor_and_number(
    "rsub.Scalar remainder.Scalar fmod.Scalar pow.Tensor_Scalar float_power.Tensor_Scalar copysign.Scalar", 3
)
tensor_and_number("rsub.Scalar remainder.Scalar pow.Tensor_Scalar copysign.Scalar", 1.5, low=0.5)
tensor_and_number("add.Scalar sub.Scalar mul.Scalar div.Scalar", 2.5)
tensor_and_number("mul.Scalar div.Scalar", 3)
tensor_and_number("add.Scalar sub.Scalar", 2, 3)
number_and_tensor("remainder.Scalar_Tensor pow.Scalar float_power.Scalar", 3, low=1, high=4, dtypes=NUMERIC)

cases(
    "addcmul addcdiv",
    lambda t: call(t(2, 3), t(2, 3), t(2, 3, low=1)),
    lambda t: call(t(2, 3), t(3), t(2, 1, low=1), value=0.5),
    lambda t: call(t(2, 3), t(), t(low=1)),
)
cases(
    "lerp.Scalar",
    lambda t: call(t(2, 3), t(2, 3), 0.3),
    lambda t: call(t(3), t(2, 1), 0.8),
    lambda t: call(t(2, 3), t(2, 3), 0.75),
)
cases("lerp.Tensor", lambda t: call(t(2, 3), t(2, 3), t(2, 3)), lambda t: call(t(3), t(2, 1), t()))
cases(
    "view_as_real",
    lambda t: call(t(2, 3, dtype=dtypes.complex64)),
    lambda t: call(t(dtype=dtypes.complex128)),
)
cases("view_as_complex", lambda t: call(t(2, 3, 4).view(2, 3, 2, 2)[..., :]), lambda t: call(t(4, 2)))
depends_on_strides("view_as_complex")

# Arguments away from their defaults.
binary("dist", 1, dtypes=FLOATS)
binary("dist", 0.5, dtypes=FLOATS)
tensor_and_number("fmod.Scalar", -2.5, dtypes=FLOATS)
tensor_and_number("float_power.Tensor_Scalar", 0.5, low=0.5, dtypes=NUMERIC)
number_and_tensor("remainder.Scalar_Tensor pow.Scalar float_power.Scalar", 2.5, low=1, high=4, dtypes=FLOATS)
tensor_and_number("rsub.Scalar", 2, 3)
binary("floor_divide remainder.Tensor fmod.Tensor", low=-9, high=-1, dtypes=FLOATS)
unary("round.decimals", low=-2000, high=2000, decimals=-2, dtypes=(dtypes.float32, dtypes.float64))
for _exponent in (0, 1, 2, -1, 0.5):
    tensor_and_number("pow.Tensor_Scalar", _exponent, low=0.5, dtypes=(*FLOATS, dtypes.complex64))
