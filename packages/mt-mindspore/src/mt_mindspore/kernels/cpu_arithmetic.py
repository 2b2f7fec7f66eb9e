"""Division, remainders and powers of the device target CPU.

MindSpore's own divide integers by zero without a word, lose infinity and the sign of zero, and raise integers to powers
in double precision.
"""

from __future__ import annotations

import math
from typing import Any

import mindspore
from mindspore import mint, ops

from mt_core.checks.elementwise import refuse_division_by_zero

from ..registry import Refused, Table
from .common import COMPLEX, FLOATS, NUMERIC, _cast, _copied, operand

__all__ = ["TABLE", "div", "expm1", "log1p"]

TABLE = Table()
kernel = TABLE.kernel


def negative(self: Any) -> Any:
    """Where the sign bit is set, of numbers other than NaN."""
    return mint.lt(ops.atan2(self, operand(-1, self)), operand(0, self))


def _series(z: Any, coefficients: list[float]) -> Any:
    """c0 + c1 z + c2 z^2 + ..."""
    made = operand(coefficients[-1], z)
    for coefficient in reversed(coefficients[:-1]):
        made = mint.add(mint.mul(made, z), operand(coefficient, z))
    return made


def _small(self: Any, limit: float) -> Any:
    return mint.lt(mint.abs(self), operand(limit, self))


@kernel("expm1", takes=FLOATS)
def expm1(self: Any) -> Any:
    """Near zero x (1 + x/2 + x^2/6 + ...): exp(x) - 1, as MindSpore has it, keeps no digits there."""
    near = mint.mul(self, _series(self, [1 / math.factorial(n) for n in range(1, 15)]))
    return mint.where(_small(self, 0.35), near, mint.sub(mint.exp(self), operand(1, self)))


@kernel("log1p", takes=FLOATS)
def log1p(self: Any) -> Any:
    """Near zero 2 z (1 + z^2/3 + z^4/5 + ...), z = x / (2 + x): log(1 + x), as MindSpore has it, keeps no digits."""
    z = mint.div(self, mint.add(self, operand(2, self)))
    near = mint.mul(z, _series(mint.mul(z, z), [2 / (2 * n + 1) for n in range(11)]))
    return mint.where(_small(self, 0.3), near, mint.log(mint.add(self, operand(1, self))))


@kernel("hardswish", takes=FLOATS)
def hardswish(self: Any) -> Any:
    zero, six = operand(0, self), operand(6, self)
    gate = mint.add(self, operand(3, self))
    gate = mint.where(mint.lt(gate, zero), zero, mint.where(mint.gt(gate, six), six, gate))
    return mint.div(mint.mul(self, gate), six)


@kernel("abs", takes="?BbhilfdFD")
def absolute(self: Any) -> Any:
    return ops.hypot(mint.real(self), mint.imag(self)) if self.is_complex() else mint.abs(self)


# Division


@kernel("div.Tensor", takes=COMPLEX, numbers=True)
def div(self: Any, other: Any) -> Any:
    if self.is_complex():
        return _complex_quotient(self, other)
    quotient = mint.div(self, other)
    if not self.is_floating_point():
        return quotient
    # By zero MindSpore makes -inf of NaN, and leaves the zero's sign aside.
    infinite = operand(math.inf, other)
    over_zero = mint.mul(self, mint.where(negative(other), mint.neg(infinite), infinite))
    return mint.where(mint.eq(other, operand(0, other)), over_zero, quotient)


_divided = ops.auto_generate.RealDiv()
#: Integers that are divided as int32.
_SMALL = frozenset((mindspore.uint8, mindspore.int8, mindspore.int16))


def _truncated(self: Any, other: Any) -> tuple[Any, Any, Any, Any]:
    """Of integers: (self, other, the quotient towards zero, the rest), exact, which only `RealDiv` is."""
    if self.size:
        _refuse_zero(other)
    if self.dtype in _SMALL:
        self, other = _cast(self, mindspore.int32), _cast(other, mindspore.int32)
    one = operand(1, other)
    negated = mint.eq(other, operand(-1, other))  # the least integer by -1 would end the process
    quotient = mint.where(negated, mint.neg(self), _divided(self, mint.where(negated, one, other)))
    return self, other, quotient, mint.sub(self, mint.mul(quotient, other))


def _opposite(rest: Any, other: Any) -> Any:
    """Where there is a rest of the other sign than the divisor's."""
    zero = operand(0, rest)
    return mint.logical_and(mint.ne(rest, zero), mint.ne(mint.lt(other, operand(0, other)), mint.lt(rest, zero)))


def _complex_quotient(self: Any, other: Any) -> Any:
    """By the divisor's larger part; MindSpore's own is garbage where that is zero."""
    a, b, c, d = mint.real(self), mint.imag(self), mint.real(other), mint.imag(other)
    by_real = mint.ge(mint.abs(c), mint.abs(d))
    large, small = mint.where(by_real, c, d), mint.where(by_real, d, c)
    zero = mint.logical_and(mint.eq(c, operand(0, c)), mint.eq(d, operand(0, d)))
    ratio = mint.where(zero, operand(0, c), div(small, large))
    whole = mint.add(large, mint.mul(small, ratio))
    # (a + bi) / (c + di), c the larger part; where d is, of (b - ai) / (d - ci).
    first, second = mint.where(by_real, a, b), mint.where(by_real, b, mint.neg(a))
    turned = mint.where(by_real, ratio, mint.neg(ratio))
    real, imag = mint.add(first, mint.mul(second, turned)), mint.sub(second, mint.mul(first, turned))
    over = mint.abs(large)
    real = mint.where(zero, div(first, over), div(real, whole))
    imag = mint.where(zero, div(second, over), div(imag, whole))
    return ops.Complex()(real.contiguous(), imag.contiguous())


def _refuse_zero(other: Any) -> None:
    """Integers are not divided by zero, whatever the other elements are."""
    if other.size and int(mint.max(_cast(mint.eq(other, operand(0, other)), mindspore.int32))):
        try:
            refuse_division_by_zero()
        except RuntimeError as error:
            raise Refused(error) from None


@kernel("fmod.Tensor", "fmod.Scalar", takes="Bbhilfd", numbers=True)
def fmod(self: Any, other: Any) -> Any:
    if not self.is_floating_point():
        return _truncated(self, other)[3]
    made = mint.fmod(self, other)
    made = mint.where(mint.eq(made, operand(0, made)), mint.mul(self, operand(0, self)), made)
    finite = mint.logical_and(ops.isinf(other), mint.isfinite(self))
    return mint.where(finite, self, made)


@kernel("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor", takes="Bbhilfd", numbers=True)
def remainder(self: Any, other: Any) -> Any:
    if not self.is_floating_point():
        _, other, _, made = _truncated(self, other)
    else:
        made = fmod(self, other)
    return mint.where(_opposite(made, other), mint.add(made, other), made)


@kernel("floor_divide", takes="Bbhilfd", numbers=True)
def floor_divide(self: Any, other: Any) -> Any:
    if not self.is_floating_point():
        _, other, quotient, rest = _truncated(self, other)
        return mint.where(_opposite(rest, other), mint.sub(quotient, operand(1, quotient)), quotient)
    rest, zero = fmod(self, other), operand(0, other)
    whole = mint.div(mint.sub(self, rest), other)
    whole = mint.where(_opposite(rest, other), mint.sub(whole, operand(1, whole)), whole)
    lower = mint.floor(whole)
    lower = mint.where(mint.gt(mint.sub(whole, lower), operand(0.5, whole)), mint.add(lower, operand(1, lower)), lower)
    quotient = div(self, other)
    signed = mint.where(negative(quotient), mint.neg(mint.abs(zero)), zero)
    made = mint.where(mint.eq(whole, operand(0, whole)), mint.mul(quotient, operand(0, quotient)), lower)
    made = mint.where(ops.isnan(whole), whole, mint.where(ops.isnan(made), signed, made))
    return mint.where(mint.eq(other, zero), quotient, made)


@kernel("div.Tensor_mode", takes="Bbhilfd", numbers=True)
def div_mode(self: Any, other: Any, rounding_mode: Any) -> Any:
    if rounding_mode == "floor":
        return floor_divide(self, other)
    if rounding_mode is None:
        return div(self, other)
    if self.is_floating_point():
        return mint.trunc(div(self, other))
    return _truncated(self, other)[2]


# Powers


def _integer_power(self: Any, exponent: Any) -> Any:
    """By squaring, which wraps around as products do; of negative exponents 1 and -1 have powers, all others 0."""
    if self.dtype in _SMALL:
        self = _cast(self, mindspore.int32)
    exponent = _cast(exponent, self.dtype)
    one, zero = operand(1, self), operand(0, self)
    below = mint.lt(exponent, operand(0, exponent))
    left = mint.where(below, ops.bitwise_and(exponent, one), exponent)
    shape = tuple(mint.add(self, left).shape)
    made = mint.broadcast_to(one, shape).contiguous()
    factor = self
    for _ in range(int(mint.max(left)).bit_length() if left.size else 0):
        odd = mint.eq(ops.bitwise_and(left, one), one)
        made = mint.where(odd, mint.mul(made, factor), made)
        factor = mint.mul(factor, factor)
        left = ops.bitwise_right_shift(left, one)
    unit = mint.eq(mint.mul(self, self), one)
    return mint.where(mint.logical_and(below, mint.logical_not(unit)), zero, made)


@kernel("pow.Tensor_Tensor", "pow.Scalar", takes=NUMERIC, numbers=True)
def power(self: Any, exponent: Any) -> Any:
    if self.is_floating_point() or self.is_complex():
        return mint.pow(self, exponent)
    return _integer_power(self, exponent)


def _cube(self: Any) -> Any:
    return mint.mul(mint.mul(self, self), self)


def _over(self: Any) -> Any:
    return div(operand(1, self), self)


#: Exponents that are products and roots, as in PyTorch.
_SHORTCUTS = {
    0.5: mint.sqrt,
    2: lambda self: mint.mul(self, self),
    3: _cube,
    -0.5: lambda self: _over(mint.sqrt(self)),
    -1: _over,
    -2: lambda self: _over(mint.mul(self, self)),
}


@kernel("pow.Tensor_Scalar", takes=NUMERIC)
def power_of_number(self: Any, exponent: Any) -> Any:
    number = exponent if exponent.__class__ is not mindspore.Tensor else exponent.item()
    if not self.is_floating_point() and not self.is_complex():
        return _integer_power(self, operand(number, self))
    if self.is_floating_point() and number in _SHORTCUTS:
        return _SHORTCUTS[number](self)
    return mint.pow(self, operand(number, self)) if number != 1 else _copied(self)


# Sums of powers


def _log_add(name: str, function: Any) -> None:
    @kernel(name, takes=FLOATS, numbers=True)
    def log_add(self: Any, other: Any) -> Any:
        """MindSpore's own is NaN for two infinite numbers of one sign."""
        total = mint.add(self, other)
        if not total.size:
            return total
        alike = mint.logical_and(ops.isinf(self), mint.eq(self, other))
        return mint.where(alike, self, function(self, other))


_log_add("logaddexp", ops.logaddexp)
_log_add("logaddexp2", ops.logaddexp2)


#: The greatest numbers of floating-point types.
_GREATEST = {
    mindspore.float16: 65504.0,
    mindspore.bfloat16: 3.3895313892515355e38,
    mindspore.float32: 3.4028234663852886e38,
    mindspore.float64: 1.7976931348623157e308,
}


@kernel("nan_to_num", half="native")
def nan_to_num(self: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    if self.is_complex():
        raise TypeError("it takes no complex numbers")
    greatest = _GREATEST.get(self.dtype)
    if greatest is None:
        return _copied(self)
    wide = self if self.dtype in (mindspore.float32, mindspore.float64) else _cast(self, mindspore.float32)
    made = mint.where(ops.isnan(wide), operand(0.0 if nan is None else nan, wide), wide)
    high, low = (greatest if posinf is None else posinf), (-greatest if neginf is None else neginf)
    made = mint.where(mint.eq(wide, operand(math.inf, wide)), operand(high, wide), made)
    made = mint.where(mint.eq(wide, operand(-math.inf, wide)), operand(low, wide), made)
    return made if wide is self else _cast(made, self.dtype)


#: Floating-point type -> the integers of its size.
_BITS = {
    mindspore.float16: mindspore.int16,
    mindspore.bfloat16: mindspore.int16,
    mindspore.float32: mindspore.int32,
    mindspore.float64: mindspore.int64,
}


def bits_of(self: Any) -> Any:
    """The bits of floating-point numbers, as integers of their size."""
    if not self.ndim:  # a view on memory of a 0-dim tensor ends the process
        self = _copied(self.reshape((1,)))
    return self.contiguous().view(_BITS[self.dtype])


@kernel("nextafter", half="native")
def nextafter(self: Any, other: Any) -> Any:
    """By their bits: to MindSpore's own, and to its comparisons, the smallest numbers are 0."""
    shape = tuple(mint.logical_or(ops.isnan(_single(self)), ops.isnan(_single(other))).shape)
    if 0 in shape:
        return mint.empty(shape, dtype=self.dtype)
    left, right = (bits_of(t) for t in (self, other))
    full = shape or (1,)
    left, right = (mint.broadcast_to(t, full).contiguous() for t in (left, right))
    size = left.dtype
    zero, one = mindspore.Tensor(0, size), mindspore.Tensor(1, size)
    least = mindspore.Tensor(-(2 ** (8 * left.itemsize - 1)), size)
    here, there = (mint.where(mint.lt(t, zero), mint.sub(least, t), t) for t in (left, right))  # in their order
    moved_on = mint.where(mint.lt(here, there), mint.add(here, one), mint.sub(here, one))
    made = mint.where(mint.lt(moved_on, zero), mint.sub(least, moved_on), moved_on)
    made = mint.where(mint.logical_and(mint.eq(moved_on, zero), mint.lt(left, zero)), least, made)
    made = mint.where(mint.eq(here, there), right, made)
    for t in (left, right):
        made = mint.where(ops.isnan(_single(t.view(self.dtype))), t, made)
    return made.view(self.dtype).reshape(shape)


def _single(self: Any) -> Any:
    """Half types as float32."""
    return self if self.dtype in (mindspore.float32, mindspore.float64) else _cast(self, mindspore.float32)


def _logarithm(name: str, function: Any, scale: float) -> None:
    @kernel(name, takes=COMPLEX)
    def logarithm(self: Any) -> Any:
        """Of complex numbers by parts: a product with a number has no imaginary part where a part is infinite."""
        if not self.is_complex():
            return function(self)
        made = mint.log(self)
        real, imag = mint.real(made), mint.imag(made)
        factor = operand(scale, real)
        return ops.Complex()(mint.mul(real, factor), mint.mul(imag, factor))


_logarithm("log2", ops.log2, 1 / math.log(2))
_logarithm("log10", ops.log10, 1 / math.log(10))
