"""Conditions that programs state of tensors."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..dispatch.registry import register_composite as composite
from ..dtypes import cpp_type_name, scalar_type_name
from ..hollow import has_elements

__all__: list[str] = []

_LEAST, _GREATEST = -(2**63), 2**63 - 1


@composite("_assert_async", explicit=True)
def assert_async(self: Any) -> None:
    """self () -> nothing."""
    if has_elements(self) and not bool(self):
        raise RuntimeError("Expected Tensor with single nonzero value, but got zero")


@composite("_assert_async.msg", explicit=True)
def assert_async_in_words(self: Any, assert_msg: str) -> None:
    """self () -> nothing."""
    if has_elements(self) and not bool(self):
        raise RuntimeError(assert_msg)


@composite("_functional_assert_async.msg", explicit=True)
def functional_assert_async(self: Any, assert_msg: str, dep_token: Any) -> Any:
    """self (), dep_token (any shape) -> a copy of dep_token."""
    assert_async_in_words(self, assert_msg)
    return dep_token.clone()


@composite("_assert_scalar", explicit=True)
def assert_scalar(self: Any, assert_msg: str) -> None:
    """A number -> nothing."""
    if not self:
        raise RuntimeError(assert_msg)


@composite("sym_constrain_range", explicit=True)
def sym_constrain_range(size: Any, min: int | None, max: int | None) -> None:
    """A number -> nothing."""
    low, high = _LEAST if min is None else min, _GREATEST if max is None else max
    if low > high:
        raise RuntimeError(f"Max must be greater than or equal to min. Got min={low} max={high}")
    # A symbolic integer stays one, so that its range is what the comparisons tell of it.
    number = int(size) if isinstance(size, float) else size
    if number < low or number > high:
        raise RuntimeError(f"Invalid value range for {number:d} between [{low}, {high}].")


@composite("sym_constrain_range_for_size", explicit=True)
def sym_constrain_range_for_size(size: Any, min: int | None, max: int | None) -> None:
    """A number -> nothing."""
    if max is not None and max <= 2:
        raise RuntimeError(f"Max value to constrain_range_for_size must be greater than 2. got: {max}")
    sym_constrain_range(size, 0 if min is None else min, max)


@composite("_assert_tensor_metadata", explicit=True)
def assert_tensor_metadata(a: Any, size: Any, stride: Any, dtype: Any, device: Any, layout: Any) -> None:
    """a (*S) -> nothing."""
    _require_ints("sizes", size, a.shape)
    _require_ints("strides", stride, a.stride())
    if dtype is not None and a.dtype is not dtype:
        raise RuntimeError(f"Tensor dtype mismatch! Expected: {scalar_type_name(dtype)}, Got: {cpp_type_name(a.dtype)}")
    if device is not None and a.device != device:
        raise RuntimeError(f"Tensor device mismatch! Expected: {device}, Got: {a.device}")
    if layout is not None and a.layout != layout:
        raise RuntimeError(f"Tensor layout mismatch! Expected: {layout}, Got: {a.layout}")


def _require_ints(what: str, expected: Any, found: Any) -> None:
    if expected is not None and tuple(expected) != tuple(found):
        raise RuntimeError(f"Tensor {what} mismatch! Expected: {list(expected)}, Got: {list(found)}")


def _refuse_numbers(name: str, tensor: Any) -> None:
    if tensor.dtype is not dtypes.bool:
        raise RuntimeError(f"{name}: expected a tensor of bool, but got {scalar_type_name(tensor.dtype)}")


@composite("_is_all_true")
def is_all_true(self: Any) -> Any:
    """self (*S) -> ()."""
    _refuse_numbers("_is_all_true", self)
    return ops.all(self)


@composite("_is_any_true")
def is_any_true(self: Any) -> Any:
    """self (*S) -> ()."""
    _refuse_numbers("_is_any_true", self)
    return ops.any(self)
