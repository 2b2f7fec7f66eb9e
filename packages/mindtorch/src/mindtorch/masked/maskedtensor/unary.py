"""The operators of one masked tensor that PyTorch names."""

from __future__ import annotations

from typing import Any

from mt_library import ops

__all__: list[str] = []

#: Operators that work element by element.
UNARY_NAMES: list[str] = """
    abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh arctanh bitwise_not
    ceil clamp clip conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac lgamma
    log log10 log1p log2 logit i0 isnan nan_to_num neg negative positive pow rad2deg reciprocal round rsqrt
    sigmoid sign sgn signbit sin sinc sinh sqrt square tan tanh trunc
""".split()
#: Those of them that cannot be carried out in place.
_OUT_OF_PLACE = frozenset("angle positive signbit isnan".split())
INPLACE_UNARY_NAMES = [f"{name}_" for name in UNARY_NAMES if name not in _OUT_OF_PLACE]
#: Operators that PyTorch does not count among them.
UNARY_NAMES_UNSUPPORTED: list[str] = """
    atan2 arctan2 bitwise_left_shift bitwise_right_shift copysign float_power fmod frexp gradient imag ldexp lerp
    logical_not hypot igamma igammac mvlgamma nextafter polygamma real remainder true_divide xlogy
""".split()

NATIVE_UNARY_FNS: list[Any] = [getattr(ops.aten, name) for name in UNARY_NAMES]
NATIVE_INPLACE_UNARY_FNS: list[Any] = [getattr(ops.aten, name) for name in INPLACE_UNARY_NAMES]
