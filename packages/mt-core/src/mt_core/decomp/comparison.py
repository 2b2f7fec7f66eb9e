"""Comparisons written in other operators."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..dispatch.elementwise import check_same_device
from ..dispatch.registry import register_composite as composite
from ..dtypes import scalar_type_name
from ..promotion import dtype_of_number
from ..shape_rules.comparison import check_findable
from ._aliases import register_aliases

register_aliases("comparison")


@composite("where")
def where(condition: Any) -> tuple[Any, ...]:
    # A number counts as a vector of one element.
    whole = condition if condition.dim() else condition.reshape(1)
    return whole.nonzero().unbind(1)


@composite("isclose")
def isclose(self: Any, other: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    if self.dtype is not other.dtype:
        raise RuntimeError(f"{scalar_type_name(self.dtype)} did not match {scalar_type_name(other.dtype)}")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if not tolerance >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance:g}")
    close = ops.eq(self, other)
    if equal_nan and self.dtype.category >= 2:
        close.logical_or_(ops.logical_and(ops.isnan(self), ops.isnan(other)))
    if rtol == 0 and atol == 0:
        return close
    if self.dtype.category < 2:
        self, other = (t.to(dtypes.get_default_dtype()) for t in (self, other))
    allowed = ops.abs(rtol * other) + atol
    actual = ops.abs(self - other)
    return close.logical_or_(ops.logical_and(ops.isfinite(actual), ops.le(actual, allowed)))


@composite("allclose")
def allclose(self: Any, other: Any, rtol: float, atol: float, equal_nan: bool) -> bool:
    return ops.isclose(self, other, rtol, atol, equal_nan).all().item()


@composite("equal")
def equal(self: Any, other: Any) -> bool:
    check_same_device([self, other])
    _require_comparable(self, other)
    return self.shape == other.shape and ops.eq(self, other).all().item()


def _require_comparable(self: Any, other: Any) -> None:
    """Refuse the dtypes for which PyTorch lacks a kernel; it looks for NaN alone where both are one tensor."""
    d = self._dtype
    if self.shape != other.shape or other._dtype is not d or not self.numel():
        return
    is_one = d.itemsize == 1 and d.is_floating_point and self.is_set_to(other)
    if is_one or d is dtypes.complex32:
        kernel = "equal_notnan_cpu" if self.is_set_to(other) else "equal_cpu"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_type_name(d)}'")


@composite("isin.Scalar_Tensor")
def isin_number(element: Any, test_elements: Any, assume_unique: bool, invert: bool) -> Any:
    return ops.isin(_tensor(element, test_elements), test_elements, assume_unique=assume_unique, invert=invert)


@composite("isin.Tensor_Scalar")
def isin_one(elements: Any, test_element: Any, assume_unique: bool, invert: bool) -> Any:
    for d in (elements.dtype, _of_number(test_element)):
        check_findable(d)
    found = ops.ne(elements, test_element) if invert else ops.eq(elements, test_element)
    return found.contiguous()


def _of_number(number: Any) -> dtypes.dtype:
    return dtypes.complex128 if isinstance(number, complex) else dtype_of_number(number)


def _tensor(number: Any, beside: Any) -> Any:
    return ops.scalar_tensor(number, dtype=_of_number(number), device=beside.device)
