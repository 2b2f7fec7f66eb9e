"""``torch._check`` and its kin: conditions that programs state, and the errors where they do not hold."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import mt_core.dtypes as _dtypes
from mt_core import Tensor
from mt_core.symbolic import SymBool, SymInt

__all__ = [
    "_check",
    "_check_index",
    "_check_is_size",
    "_check_not_implemented",
    "_check_tensor_all",
    "_check_tensor_all_with",
    "_check_type",
    "_check_value",
    "_check_with",
    "sym_constrain_range",
    "sym_constrain_range_for_size",
]

Message = Callable[[], Any] | None

_UNEXPLAINED = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
    "enhancement request to PyTorch.)"
)


def _check_with(error_type: type[Exception], cond: bool, message: Message) -> None:
    """Raise an error of a type, with what `message` returns, where `cond` is False.

    Raises
    ------
    TypeError
        When `cond` is no bool, or `message` nothing to call.
    """
    if isinstance(cond, Tensor):
        raise TypeError(
            "cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to assert "
            "that all elements are true."
        )
    if isinstance(cond, SymBool):
        cond = cond.node.expect_true("", 0)
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error_type(_UNEXPLAINED)
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _check(cond: bool, message: Message = None) -> None:
    """Raise RuntimeError where `cond` is False; `message` is called for the words."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: bool, message: Message = None) -> None:
    """Raise IndexError where `cond` is False."""
    _check_with(IndexError, cond, message)


def _check_value(cond: bool, message: Message = None) -> None:
    """Raise ValueError where `cond` is False."""
    _check_with(ValueError, cond, message)


def _check_type(cond: bool, message: Message = None) -> None:
    """Raise TypeError where `cond` is False."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: bool, message: Message = None) -> None:
    """Raise NotImplementedError where `cond` is False."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: int, message: Message = None, *, max: int | None = None) -> None:
    """Raise RuntimeError where `i` is negative, or greater than `max`."""
    warnings.warn(
        "_check_is_size will be removed in a future PyTorch release along with guard_size_oblivious. "
        "    Use _check(i >= 0) instead.",
        FutureWarning,
        stacklevel=2,
    )
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(error_type: type[Exception], cond: Tensor, message: Message = None) -> None:
    """Raise an error of a type where an element of a bool tensor is False.

    Raises
    ------
    TypeError
        When `cond` is no tensor of bool.
    """
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype != _dtypes.bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all().item()), message)


def _check_tensor_all(cond: Tensor, message: Message = None) -> None:
    """Raise RuntimeError where an element of a bool tensor is False."""
    _check_tensor_all_with(RuntimeError, cond, message)


def sym_constrain_range(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """State that a number lies in a range, its ends included.

    Raises
    ------
    RuntimeError
        Where it does not, and where the range is empty.
    """
    low, high = _LOWEST if min is None else min, _HIGHEST if max is None else max
    if high < low:
        raise RuntimeError(f"Max must be greater than or equal to min. Got min={low} max={high}")
    _refuse_outside(size, low, high)


def sym_constrain_range_for_size(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """State that a number is a size in a range; sizes below 2 are common cases that a range may not consist of.

    Raises
    ------
    RuntimeError
        Where it is not in the range, and where `max` is 2 or less.
    """
    if max is not None and max <= 2:
        raise RuntimeError(f"Max value to constrain_range_for_size must be greater than 2. got: {max}")
    sym_constrain_range(size, min=0 if min is None else min, max=max)


def _refuse_outside(size: Any, low: int, high: int) -> None:
    if isinstance(size, SymInt):
        for condition in (size >= low, size <= high):
            _check_with(RuntimeError, condition, lambda: f"Invalid value range for {size} between [{low}, {high}].")
        return
    value = int(size)
    if not low <= value <= high:
        raise RuntimeError(f"Invalid value range for {value} between [{low}, {high}].")


_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
