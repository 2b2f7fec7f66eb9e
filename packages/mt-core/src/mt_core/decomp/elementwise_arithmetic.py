"""Arithmetic for backends that have kernels for ``add``, ``mul``, ``div`` and ``rsqrt`` alone."""

from __future__ import annotations

import math
from typing import Any

from ..api import _functions as ops
from ..dispatch.registry import register_composite as composite
from ..layout import broadcast_shapes
from ._stand_ins import not_for, truth


@composite("sub.Tensor", explicit=True)
def sub(self: Any, other: Any, alpha: Any) -> Any:
    return ops.add(self, other, alpha=-alpha)


@composite("rsub.Scalar", explicit=True)
def rsub_number(self: Any, other: Any, alpha: Any) -> Any:
    return ops.add(ops.mul(self, -alpha), other)


@composite("add.Scalar", explicit=True)
def add_number(self: Any, other: Any, alpha: Any) -> Any:
    return ops.add(self, other, alpha=alpha)


@composite("sub.Scalar", explicit=True)
def sub_number(self: Any, other: Any, alpha: Any) -> Any:
    return ops.sub(self, other, alpha=alpha)


@composite("mul.Scalar", explicit=True)
def mul_number(self: Any, other: Any) -> Any:
    return ops.mul(self, other)


@composite("div.Scalar", explicit=True)
def div_number(self: Any, other: Any) -> Any:
    return ops.div(self, other)


@composite("neg", explicit=True)
def neg(self: Any) -> Any:
    """Of a complex number both parts: times -1 + 0j, an infinite part would make a NaN of the other."""
    if self.dtype.is_complex:
        return ops.view_as_complex(ops.mul(ops.view_as_real(self), -1))
    return ops.mul(self, -1)


@composite("reciprocal", explicit=True)
def reciprocal(self: Any) -> Any:
    return ops.div(1, self)


@composite("sqrt", explicit=True)
def sqrt(self: Any) -> Any:
    """1 / rsqrt(x), exact in sign and at the ends, then a step of Heron's: at most 0.75 ulp off."""
    not_for("sqrt", self.dtype, self.dtype.is_complex)
    root = ops.reciprocal(ops.rsqrt(self))
    better = ops.mul(ops.add(root, ops.div(self, root)), 0.5)
    return ops.where(truth(ops.mul(better, 0)), root, better)


@composite("pow.Tensor_Scalar", explicit=True)
def pow_number(self: Any, exponent: Any) -> Any:
    """Whole exponents by squaring, halves by a root; others as exp(exponent log(x)), which errs by as many ulps.

    Raises
    ------
    NotImplementedError
        For exponents that are not finite, and for complex numbers unless the exponent is whole.
    """
    if not isinstance(exponent, complex) and math.isfinite(exponent):
        if exponent == int(exponent):
            return _whole_power(self, int(exponent))
        not_for("pow with a broken exponent", self.dtype, self.dtype.is_complex)
        if abs(exponent) == 0.5:
            return ops.rsqrt(self) if exponent < 0 else ops.sqrt(self)
        return ops.exp(ops.mul(ops.log(self), exponent))
    raise NotImplementedError(f"pow with the exponent {exponent} is not written in other operators")


def _whole_power(self: Any, exponent: int) -> Any:
    if exponent < 0:
        return ops.reciprocal(_whole_power(self, -exponent))
    if exponent == 0:
        return ops.ones_like(self)
    result = self
    for bit in bin(exponent)[3:]:
        result = ops.mul(result, result)
        if bit == "1":
            result = ops.mul(result, self)
    return result


@composite("abs", explicit=True)
def abs_(self: Any) -> Any:
    if self.dtype.is_complex:
        return _modulus(*map(_size, ops.view_as_real(self).unbind(-1)))
    return _size(self) if self.dtype.is_signed else self


def _size(self: Any) -> Any:
    """The larger of x and -x; 0 is added because of two zeros the larger may be -0."""
    return ops.add(ops.maximum(self, ops.neg(self)), 0)


def _modulus(a: Any, b: Any) -> Any:
    """sqrt(a^2 + b^2) of parts that are not negative, without overflow in between; infinite if one is."""
    larger = ops.maximum(a, b)
    p, q = ops.div(a, larger), ops.div(b, larger)
    result = ops.mul(larger, ops.sqrt(ops.add(ops.mul(p, p), ops.mul(q, q))))
    # 0 / 0 where both are zero, inf / inf where one is infinite.
    result = ops.where(truth(ops.mul(ops.add(p, q), 0)), larger, result)
    return ops.where(ops.logical_or(ops.isinf(a), ops.isinf(b)), math.inf, result)


@composite("sign", explicit=True)
def sign(self: Any) -> Any:
    above, below = (test(self, 0).to(self.dtype) for test in (ops.gt, ops.lt))
    return ops.sub(above, below) if self.dtype.is_signed else above


@composite("addcmul", explicit=True)
def addcmul(self: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
    product = ops.mul(tensor1, tensor2)
    return ops.add(self, product if value == 1 else ops.mul(product, value))


@composite("addcdiv", explicit=True)
def addcdiv(self: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
    quotient = ops.div(tensor1 if value == 1 else ops.mul(tensor1, value), tensor2)
    return ops.add(self, quotient)


@composite("lerp.Scalar", explicit=True)
def lerp_number(self: Any, end: Any, weight: Any) -> Any:
    """From the nearer end, so that both are met exactly."""
    step = ops.sub(end, self)
    if abs(weight) < 0.5:
        return ops.add(self, ops.mul(step, weight))
    return ops.sub(end, ops.mul(step, 1 - weight))


@composite("lerp.Tensor", explicit=True)
def lerp(self: Any, end: Any, weight: Any) -> Any:
    """From the nearer end, so that both are met exactly."""
    not_for("lerp", self.dtype, self.dtype.is_complex)
    step = ops.sub(end, self)
    near = ops.add(self, ops.mul(step, weight))
    far = ops.sub(end, ops.mul(step, ops.rsub(weight, 1)))
    return ops.where(ops.lt(ops.abs(weight), 0.5), near, far)


@composite("sgn", explicit=True)
def sgn(self: Any) -> Any:
    if not self.dtype.is_complex:
        return ops.sign(self)
    size = ops.abs(self)
    return ops.div(self, ops.where(ops.eq(size, 0), ops.ones_like(size), size))


@composite("_conj_physical", explicit=True)
def conj_physical(self: Any) -> Any:
    """The imaginary part negated."""
    if not self.dtype.is_complex:
        return self
    real, imaginary = ops.view_as_real(self).split(1, -1)
    return ops.view_as_complex(ops.cat([real, ops.neg(imaginary)], -1))


@composite("complex", explicit=True)
def complex_(real: Any, imag: Any) -> Any:
    """real (*), imag (*), broadcast -> (*): the parts next to each other in memory."""
    shape = broadcast_shapes([real._array.shape, imag._array.shape])
    return ops.view_as_complex(ops.stack([real.expand(shape), imag.expand(shape)], -1))
