"""Exponentials and logarithms for backends that have kernels for ``exp``, ``rsqrt``, ``where`` and arithmetic alone."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from .. import dtypes
from ..api import _functions as ops
from ..dispatch.registry import register_composite as composite
from ..dtypes import dtype
from ._stand_ins import beside, not_for, truth


class Binary(NamedTuple):
    """How a dtype is stored: as an integer of that dtype, with so many bits of fraction and that bias of the exponent.

    `terms` are as many as the series of `_near_one` needs, `high` and `low` sum up to log(2): times a whole number of
    a few digits, `high` is exact. `depth` is that of the fraction in `tanh_near_zero`.
    """

    stored: dtype
    fraction: int
    bias: int
    terms: int
    high: float
    low: float
    depth: int


_BINARY = {
    dtypes.float32: Binary(dtypes.int32, 23, 127, 6, 0.693359375, -2.121944400546905827679e-4, 6),
    dtypes.float64: Binary(
        dtypes.int64, 52, 1023, 12, 6.93147180369123816490e-01, 1.90821492927058770002e-10, 10
    ),
}  # fmt: skip


class Parts(NamedTuple):
    """A number as 2 ** exponent * (1 + small): `log` is the logarithm of the latter.

    Where `special` is true the number is none that has such parts, and its logarithm is `limit`.
    """

    exponent: Any
    log: Any
    special: Any
    limit: Any


def _parts(name: str, y: Any) -> Parts:
    """The parts of every element of y (*), of float32 or float64."""
    not_for(name, y.dtype, y.dtype not in _BINARY)
    binary = _BINARY[y.dtype]
    y = ops.add(y, 0)  # of -0 makes 0
    # Infinity, NaN, or -infinity for just what has no parts: infinity, NaN and negative numbers, 0.
    limit = ops.sub(y, ops.rsqrt(y))
    special = truth(ops.mul(limit, 0))
    y = ops.where(special, 1.0, y)
    first = _near_exponent(y, binary)
    y = _scaled(y, first, binary)
    # What was subnormal has told its exponent now only.
    second = _near_exponent(y, binary)
    y = _scaled(y, second, binary)
    return Parts(ops.add(first, second).to(y.dtype), _near_one(y, binary), special, limit)


def _near_exponent(y: Any, binary: Binary) -> Any:
    """The exponent of y (*), rounded so that y / 2 ** exponent is within 0.7 .. 1.5; least for subnormal numbers."""
    bits = y.view(binary.stored).to(y.dtype)
    shift = 2 * binary.bias  # keeps what is cut off positive
    rounded = ops.add(ops.mul(bits, 2.0**-binary.fraction), shift - binary.bias + 0.5)
    return ops.add(rounded.to(binary.stored), -shift)


def _scaled(y: Any, exponent: Any, binary: Binary) -> Any:
    """y / 2 ** exponent, exactly: in two factors, each of which is a normal number."""
    half = ops.mul(exponent.to(y.dtype), 0.5).to(binary.stored)
    for part in (half, ops.sub(exponent, half)):
        power = ops.mul(ops.rsub(part, binary.bias), 1 << binary.fraction)
        y = ops.mul(y, power.view(y.dtype))
    return y


def _near_one(y: Any, binary: Binary) -> Any:
    """log(y) for y in 0.7 .. 1.5, f = y - 1 being exact: f - f^2 / 2 + s (f^2 / 2 + r).

    s is f / (2 + f), and s (2 + r) = 2 artanh(s) the power series of log(y). Written so (as in Sun's FDLIBM), rounding
    touches what is small beside f only.
    """
    f = ops.sub(y, 1)
    s, half = ops.div(f, ops.add(f, 2)), ops.mul(ops.mul(f, f), 0.5)
    square = ops.mul(s, s)
    tail: Any = 2 / (2 * binary.terms + 1)
    for n in range(binary.terms - 1, 0, -1):
        tail = ops.add(ops.mul(square, tail), 2 / (2 * n + 1))
    return ops.sub(f, ops.sub(half, ops.mul(s, ops.add(half, ops.mul(square, tail)))))


def _logarithm(name: str, self: Any, high: float, low: float, scale: float) -> Any:
    """scale log(self), high + low being scale log(2)."""
    parts = _parts(name, self)
    log = parts.log if scale == 1 else ops.mul(parts.log, scale)
    small = log if low == 0 else ops.add(log, ops.mul(parts.exponent, low))
    return ops.where(parts.special, parts.limit, ops.add(ops.mul(parts.exponent, high), small))


@composite("log", explicit=True)
def log(self: Any) -> Any:
    """exponent log(2) + log(fraction), the parts read from the bits.

    The largest error is 0.82 ulp in float32 and 1.17 ulp in float64, measured against NumPy in extended precision over
    numbers of all exponents, subnormal ones too (NumPy's own: 3.2 and 0.6). The split of log(2) is Cody and Waite's,
    "Software Manual for the Elementary Functions", 1980.
    """
    not_for("log", self.dtype, self.dtype not in _BINARY)
    binary = _BINARY[self.dtype]
    return _logarithm("log", self, binary.high, binary.low, 1)


@composite("log2", explicit=True)
def log2(self: Any) -> Any:
    """exponent + log2(fraction), so exact for powers of two; elsewhere at most 2.1 ulp off."""
    return _logarithm("log2", self, 1, 0, 1 / math.log(2))


@composite("log10", explicit=True)
def log10(self: Any) -> Any:
    """As `log`, at most 2.8 ulp off; log10(2) is split so that its first part has few digits."""
    return _logarithm("log10", self, 0.301025390625, 4.605038981195213739e-6, 1 / math.log(10))


@composite("log1p", explicit=True)
def log1p(self: Any) -> Any:
    """log(u) x / (u - 1), u being 1 + x as it is rounded (Kahan's), at most 2.4 ulp off; x where u is 1."""
    not_for("log1p", self.dtype, self.dtype.is_complex)
    u = ops.add(self, 1)
    logarithm, beyond = ops.log(u), ops.sub(u, 1)
    corrected = ops.mul(logarithm, ops.div(self, beyond))
    # 0 / 0 where u is 1, inf / inf at infinity.
    undefined = truth(ops.mul(corrected, 0))
    return ops.where(truth(beyond), ops.where(undefined, logarithm, corrected), self)


def tanh_near_zero(x: Any) -> Any:
    """tanh(x) for abs(x) < 0.6: x / (1 + x^2 / (3 + x^2 / (5 + ...))), Lambert's continued fraction."""
    square = ops.mul(x, x)
    depth = _BINARY[x.dtype].depth
    below: Any = ops.add(ops.mul(square, 1 / (2 * depth + 1)), 2 * depth - 1)
    for n in range(depth - 2, -1, -1):
        below = ops.add(ops.div(square, below), 2 * n + 1)
    return ops.div(x, below)


def is_near_zero(x: Any, limit: float) -> Any:
    """Where abs(x) is less than a limit."""
    return ops.lt(ops.mul(x, x), limit * limit)


@composite("expm1", explicit=True)
def expm1(self: Any) -> Any:
    """2 t / (1 - t), t being tanh(x / 2), near 0, elsewhere exp(x) - 1: at most 4.1 ulp off."""
    not_for("expm1", self.dtype, self.dtype not in _BINARY)
    t = tanh_near_zero(ops.mul(self, 0.5))
    near = ops.div(ops.mul(t, 2), ops.rsub(t, 1))
    return ops.where(is_near_zero(self, 1.0), near, ops.sub(ops.exp(self), 1))


@composite("xlogy.Tensor", explicit=True)
def xlogy(self: Any, other: Any) -> Any:
    """self log(other), 0 where self is 0, unless other is NaN."""
    other = beside(other, self)
    nothing = ops.logical_and(ops.eq(self, 0), ops.logical_not(ops.isnan(other)))
    return ops.where(nothing, 0, ops.mul(self, ops.log(other)))
