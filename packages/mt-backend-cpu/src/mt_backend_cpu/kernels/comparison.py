"""Comparisons, tests of numbers, logic, limits and choices over NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..blocks import BLOCK, blocks, constant
from ..registry import kernel, kernels

kernels({
    "eq.Tensor": np.equal, "ne.Tensor": np.not_equal, "lt.Tensor": np.less, "le.Tensor": np.less_equal,
    "gt.Tensor": np.greater,
    "ge.Tensor": np.greater_equal, "logical_not": np.logical_not, "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor, "maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax, "fmin": np.fmin,
    "clamp_min.Tensor": np.maximum, "clamp_max.Tensor": np.minimum,
})  # fmt: skip


def of_floating_point(function: Any) -> Any:
    """A test that integers fail, whatever their value."""

    def test(self: Any) -> Any:
        return function(self) if self.dtype.kind in "fc" else np.zeros(self.shape, np.bool_)

    return test


for _name, _function in (
    ("isnan", np.isnan), ("isinf", np.isinf), ("isposinf", lambda x: x == np.inf), ("isneginf", lambda x: x == -np.inf),
):  # fmt: skip
    kernel(_name)(of_floating_point(_function))


@kernel("isfinite")
def isfinite(self: Any) -> Any:
    """self (*) -> (*) of bool; a complex number is finite if both parts are."""
    return np.isfinite(self) if self.dtype.kind in "fc" else np.ones(self.shape, np.bool_)


@kernel("isreal")
def isreal(self: Any) -> Any:
    """self (*) -> (*) of bool."""
    return self.imag == 0 if self.dtype.kind == "c" else np.ones(self.shape, np.bool_)


@kernel("signbit")
def signbit(self: Any) -> Any:
    """self (*) -> (*) of bool."""
    return np.signbit(self) if self.dtype.kind == "f" else self < 0


def beside_number(function: Any, array: Any, number: Any) -> Any:
    """maximum or minimum of an array and a number; of equal zeros the array's remains, which NumPy takes second.

    NumPy has fast loops for two arrays only: large arrays meet a block filled with the number.
    """
    if array.size < 256 or array.dtype.kind != "f":
        return function(number, array)
    filled = np.full(min(array.size, BLOCK), number, array.dtype)
    result = np.empty(array.shape, array.dtype)
    for target, part in blocks(result, np.ascontiguousarray(array)):
        flat = part.reshape(-1)
        function(filled[: flat.size], flat, out=target.reshape(-1))
    return result


def at_least(array: Any, number: Any) -> Any:
    """The larger of each element and a number."""
    return beside_number(np.maximum, array, constant(number, array.dtype))


@kernel("clamp_min")
def clamp_min(self: Any, low: Any) -> Any:
    """self (*) -> (*)."""
    return beside_number(np.maximum, self, low)


@kernel("clamp_max")
def clamp_max(self: Any, high: Any) -> Any:
    """self (*) -> (*)."""
    return beside_number(np.minimum, self, high)


@kernel("clamp")
def clamp(self: Any, low: Any, high: Any) -> Any:
    """self (*), low and high numbers or None -> (*); NaN where self or a limit is."""
    result = self if low is None else beside_number(np.maximum, self, low)
    return result if high is None else beside_number(np.minimum, result, high)


@kernel("clamp.Tensor")
def clamp_by_tensors(self: Any, low: Any, high: Any) -> Any:
    """self (*), low (*) and high (*) or None, broadcast -> the common shape; NaN where self or a limit is."""
    result = self if low is None else np.maximum(self, low)
    return result if high is None else np.minimum(result, high)


@kernel("nan_to_num", half="native")
def nan_to_num(self: Any, nan: float | None, posinf: float | None, neginf: float | None) -> Any:
    """self (*) -> (*)."""
    if self.dtype.kind in "iub":
        return self.copy()
    result = self.copy()
    if self.dtype.kind == "c":
        result.real = nan_to_num(self.real, nan, posinf, neginf)
        result.imag = nan_to_num(self.imag, nan, posinf, neginf)
        return result
    largest = _largest(self.dtype)
    result[np.isnan(self)] = 0.0 if nan is None else nan
    result[self == np.inf] = largest if posinf is None else posinf
    result[self == -np.inf] = -largest if neginf is None else neginf
    return result


def _largest(element_type: np.dtype) -> Any:
    if element_type.kind == "f":
        return np.finfo(element_type).max
    import ml_dtypes  # lazy: few programs use its types

    return ml_dtypes.finfo(element_type).max


@kernel("heaviside")
def heaviside(self: Any, values: Any) -> Any:
    """self (*), values (*), broadcast -> the common shape."""
    return np.where(self == 0, values, (self > 0).astype(self.dtype))


@kernel("where.self", half="native")
def where(condition: Any, self: Any, other: Any) -> Any:
    """condition (*), self (*), other (*), broadcast -> the common shape."""
    return np.where(condition, self, other)


@kernel("isin.Tensor_Tensor")
def isin(elements: Any, test_elements: Any, assume_unique: bool, invert: bool) -> Any:
    """elements (*), test_elements (any shape) -> (*) of bool."""
    return np.isin(elements, test_elements, assume_unique=assume_unique, invert=invert)
