"""Comparisons for backends that have kernels for ``amax``, ``where`` and arithmetic alone.

All come down to two questions. Whether a number is zero, the conversion to bool answers; which of two is larger, `amax`
of both, next to each other in memory. `le` is made of `ge`, `lt` of `gt`, both of `maximum` and `eq`.
"""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..dispatch.registry import register_composite as composite
from ..layout import broadcast_shapes
from ._stand_ins import beside, flipped, truth


def _as_number(tensor: Any) -> Any:
    """bool as an integer, which can be subtracted."""
    return tensor.to(dtypes.uint8) if tensor.dtype is dtypes.bool else tensor


def _is_finite_number(operand: Any) -> bool:
    return not hasattr(operand, "_array") and math.isfinite(operand)


def _differ(self: Any, other: Any) -> Any:
    """Where real numbers differ, NaN from all: where their difference is not zero.

    Two infinities have none. They are alike where the reciprocal of their sum is zero: for others it is NaN.
    """
    if not self.dtype.is_floating_point:
        return truth(ops.sub(_as_number(self), _as_number(beside(other, self))))
    difference = ops.sub(self, other)
    if _is_finite_number(other):
        return truth(difference)
    other = beside(other, self)
    unbounded = ops.logical_and(_is_unbounded(self), _is_unbounded(other))
    return truth(ops.where(unbounded, ops.reciprocal(ops.add(self, other)), difference))


def _is_unbounded(self: Any) -> Any:
    """Where floats are infinite or NaN: times 0 they are NaN."""
    return truth(ops.mul(self, 0))


@composite("ne.Tensor", explicit=True)
def ne(self: Any, other: Any) -> Any:
    if not self.dtype.is_complex:
        return _differ(self, other)
    return ops.logical_or(*map(_differ, _parts(self), _parts(beside(other, self))))


@composite("eq.Tensor", explicit=True)
def eq(self: Any, other: Any) -> Any:
    return ops.logical_not(ops.ne(self, other))


@composite("maximum", explicit=True)
def maximum(self: Any, other: Any) -> Any:
    return _largest(self, other)


def _largest(self: Any, other: Any) -> Any:
    """self (*), other (*) or a number, broadcast -> (*): `amax` of both, next to each other."""
    other = beside(other, self)
    shape = broadcast_shapes([self._array.shape, other._array.shape])
    return ops.amax(ops.cat([t.expand(shape).unsqueeze(0) for t in (self, other)], 0), (0,))


@composite("minimum", explicit=True)
def minimum(self: Any, other: Any) -> Any:
    return flipped(ops.maximum(flipped(self), flipped(other)))


@composite("ge.Tensor", explicit=True)
def ge(self: Any, other: Any) -> Any:
    """Where self is the larger of both, which is NaN where one is."""
    return ops.eq(ops.maximum(self, beside(other, self)), self)


@composite("gt.Tensor", explicit=True)
def gt(self: Any, other: Any) -> Any:
    return ops.logical_and(ops.ge(self, other), ops.ne(self, other))


@composite("le.Tensor", explicit=True)
def le(self: Any, other: Any) -> Any:
    return ops.ge(beside(other, self), self)


@composite("lt.Tensor", explicit=True)
def lt(self: Any, other: Any) -> Any:
    return ops.gt(beside(other, self), self)


# Tests of numbers


@composite("isnan", explicit=True)
def isnan(self: Any) -> Any:
    return ops.ne(self, self)


@composite("isfinite", explicit=True)
def isfinite(self: Any) -> Any:
    """A complex number is finite if both parts are."""
    if not self.dtype.category >= 2:
        return ops.ones_like(self, dtype=dtypes.bool)
    return ops.logical_not(ops.logical_or(*map(_is_unbounded, _parts(self))))


@composite("isinf", explicit=True)
def isinf(self: Any) -> Any:
    """A complex number is infinite if a part is."""
    return ops.logical_or(*map(_is_infinite, _parts(self)))


def _parts(self: Any) -> tuple[Any, Any]:
    """The real and the imaginary part; a real number twice."""
    if not self.dtype.is_complex:
        return self, self
    real, imaginary = ops.view_as_real(self).unbind(-1)
    return real, imaginary


def _is_infinite(part: Any) -> Any:
    return ops.logical_and(_is_unbounded(part), ops.logical_not(ops.isnan(part)))


# Logic


@composite("logical_not", explicit=True)
def logical_not(self: Any) -> Any:
    return ops.where(truth(self), self.new_zeros((), dtype=dtypes.bool), self.new_ones((), dtype=dtypes.bool))


@composite("logical_and", explicit=True)
def logical_and(self: Any, other: Any) -> Any:
    return ops.mul(truth(self), truth(other))


@composite("logical_or", explicit=True)
def logical_or(self: Any, other: Any) -> Any:
    return ops.add(truth(self), truth(other))


@composite("logical_xor", explicit=True)
def logical_xor(self: Any, other: Any) -> Any:
    return ops.ne(truth(self), truth(other))


# Limits


def _limited(self: Any, least: Any, greatest: Any) -> Any:
    """self, not below the one limit nor above the other; NaN where self or a limit is."""
    if least is not None:
        self = ops.maximum(self, beside(least, self))
    return self if greatest is None else ops.minimum(self, beside(greatest, self))


composite("clamp", "clamp.Tensor", explicit=True)(_limited)


@composite("clamp_min", "clamp_min.Tensor", explicit=True)
def clamp_min(self: Any, min: Any) -> Any:
    return _limited(self, min, None)


@composite("clamp_max", "clamp_max.Tensor", explicit=True)
def clamp_max(self: Any, max: Any) -> Any:
    return _limited(self, None, max)
