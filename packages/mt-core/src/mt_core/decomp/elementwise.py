"""Elementwise operators written in other operators."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..dispatch.registry import register_composite as composite
from ..dispatch.writing import write_result
from ..dtypes import scalar_type_name
from ..promotion import dtype_of_number
from ._aliases import register_aliases

register_aliases("elementwise")


@composite("rsub.Tensor", explicit=True)
def rsub(self: Any, other: Any, alpha: Any) -> Any:
    return ops.sub(other, self, alpha=alpha)


@composite("positive")
def positive(self: Any) -> Any:
    if self.dtype is dtypes.bool:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return self


@composite("square")
def square(self: Any) -> Any:
    return ops.pow(self, 2)


@composite("square_")
def square_(self: Any) -> Any:
    return self.pow_(2)


@composite("float_power.Tensor_Tensor", "float_power.Tensor_Scalar", "float_power.Scalar")
def float_power(self: Any, exponent: Any) -> Any:
    wide = _float_power_dtype(self, exponent)
    return ops.pow(_widened(self, wide), _widened(exponent, wide))


@composite("float_power_.Tensor", "float_power_.Scalar")
def float_power_(self: Any, exponent: Any) -> Any:
    wide = _float_power_dtype(self, exponent)
    if self.dtype is not wide:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {scalar_type_name(self.dtype)} but the operation's result "
            f"requires dtype {scalar_type_name(wide)}"
        )
    return self.pow_(_widened(exponent, wide))


def _float_power_dtype(self: Any, exponent: Any) -> dtypes.dtype:
    parts = (getattr(value, "_dtype", None) or dtype_of_number(value) for value in (self, exponent))
    return dtypes.complex128 if any(d.is_complex for d in parts) else dtypes.float64


def _widened(value: Any, wide: dtypes.dtype) -> Any:
    if hasattr(value, "_dtype"):
        return value.to(wide)
    return complex(value) if wide.is_complex else float(value)


@composite("dist", explicit=True)
def dist(self: Any, other: Any, p: Any) -> Any:
    difference = self - other
    if difference.dtype.category < 2:
        got = scalar_type_name(difference.dtype)
        raise RuntimeError(f"norm(): input dtype should be either floating point or complex. Got {got} instead.")
    return ops.linalg_vector_norm(difference, p)


@composite("float_power.Tensor_Tensor_out", "float_power.Tensor_Scalar_out", "float_power.Scalar_out")
def float_power_out(self: Any, exponent: Any, out: Any) -> Any:
    wide = _float_power_dtype(self, exponent)
    if out.dtype is not wide:
        raise RuntimeError(
            f"the output given to float_power has dtype {scalar_type_name(out.dtype)} but the operation's result "
            f"requires dtype {scalar_type_name(wide)}"
        )
    return write_result(out, ops.pow(_widened(self, wide), _widened(exponent, wide)))
