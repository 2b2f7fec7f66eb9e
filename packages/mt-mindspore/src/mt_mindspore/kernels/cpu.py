"""Kernels of the device target CPU, by functions of MindSpore's that Ascend has others for."""

from __future__ import annotations

import math
from typing import Any

import mindspore
from mindspore import mint, ops

from mt_core.checks.indexing import refuse_flat, refuse_picked, refuse_selected

from ..registry import Primitive, Table
from .common import (
    ANY,
    COMPLEX,
    FLOATS,
    NUMERIC,
    _axes,
    _cast,
    _copied,
    _summed,
    _wide,
    at_least_1d,
    bounded,
    found,
    moved,
    operand,
)
from .cpu_arithmetic import expm1, log1p

__all__ = ["TABLE"]

TABLE = Table()
kernel = TABLE.kernel
#: What reductions to the greatest calculate in, by way of which types.
_WIDER = {
    mindspore.bool_: mindspore.int32,
    mindspore.uint8: mindspore.int32,
    mindspore.int8: mindspore.int32,
    mindspore.int16: mindspore.int32,
}


def _widened(self: Any) -> Any:
    """Small integers as int32: many kernels take no others; the core converts results back."""
    wider = _WIDER.get(self.dtype)
    return self if wider is None else _cast(self, wider)


# Elementwise

TABLE.functions(
    {
        "atan": ops.atan,
        "acos": ops.acos,
        "asin": ops.asin,
        "acosh": ops.acosh,
        "asinh": ops.asinh,
        "atanh": ops.atanh,
    },
    takes=COMPLEX,
)
TABLE.functions(
    {
        "lgamma": ops.lgamma,
        "i0": ops.bessel_i0,
        "special_i0e": ops.bessel_i0e,
        "special_i1": ops.bessel_i1,
        "special_i1e": ops.bessel_i1e,
        "special_bessel_j0": ops.bessel_j0,
        "special_bessel_j1": ops.bessel_j1,
        "special_bessel_y0": ops.bessel_y0,
        "special_modified_bessel_i0": ops.bessel_i0,
        "special_modified_bessel_i1": ops.bessel_i1,
        "special_modified_bessel_k0": ops.bessel_k0,
        "special_modified_bessel_k1": ops.bessel_k1,
        "special_scaled_modified_bessel_k0": ops.bessel_k0e,
        "special_scaled_modified_bessel_k1": ops.bessel_k1e,
        "hardsigmoid": ops.hardsigmoid,
        "isneginf": ops.isneginf,
        "isposinf": ops.isposinf,
    },
    takes=FLOATS,
)
TABLE.functions(
    {
        "atan2": ops.atan2,
        "hypot": ops.hypot,
        "special_zeta": ops.zeta,
        "special_zeta.other_scalar": ops.zeta,
        "special_zeta.self_scalar": ops.zeta,
        "heaviside": ops.heaviside,
    },
    takes=FLOATS,
    numbers=True,
)
TABLE.functions({"gcd": ops.gcd, "lcm": ops.lcm}, takes="il", numbers=True)
TABLE.functions(
    {"bitwise_and.Tensor": ops.bitwise_and, "bitwise_or.Tensor": ops.bitwise_or, "bitwise_xor.Tensor": ops.bitwise_xor},
    takes="?Bbhil",
    numbers=True,
)
TABLE.functions(
    {"bitwise_left_shift.Tensor": ops.bitwise_left_shift, "bitwise_right_shift.Tensor": ops.bitwise_right_shift},
    takes="Bbhil",
    numbers=True,
)
TABLE.functions({"sign": mint.sign}, takes="ilfd")
TABLE.functions({"polar": ops.polar}, takes=FLOATS)


TABLE.functions({"igamma": ops.igamma, "igammac": ops.igammac}, takes="f", numbers=True)
TABLE.functions({"digamma": ops.digamma}, takes="f")


@kernel("rad2deg", takes=FLOATS)
def rad2deg(self: Any) -> Any:
    return mint.mul(self, operand(180 / math.pi, self))


@kernel("deg2rad", takes=FLOATS)
def deg2rad(self: Any) -> Any:
    return mint.mul(self, operand(math.pi / 180, self))


@kernel("bitwise_not", takes="?bhil")
def bitwise_not(self: Any) -> Any:
    return mint.logical_not(self) if self.dtype == mindspore.bool_ else mint.sub(mint.neg(self), 1)


@kernel("fmax", takes=FLOATS, numbers=True)
def fmax(self: Any, other: Any) -> Any:
    return mint.where(ops.isnan(self), other, mint.where(ops.isnan(other), self, mint.maximum(self, other)))


@kernel("fmin", takes=FLOATS, numbers=True)
def fmin(self: Any, other: Any) -> Any:
    return mint.where(ops.isnan(self), other, mint.where(ops.isnan(other), self, mint.minimum(self, other)))


@kernel("sinc", takes=FLOATS)
def sinc(self: Any) -> Any:
    return ops.sinc(self)


@kernel("angle", takes="FD")
def angle(self: Any) -> Any:
    return ops.angle(self)


@kernel("threshold", takes="ilfd", numbers=True)
def threshold(self: Any, limit: Any, value: Any) -> Any:
    return mint.where(mint.le(self, limit), value, self)


@kernel("relu", takes="ilfd")
def relu(self: Any) -> Any:
    """MindSpore's own makes 0 of NaN where it calculates several elements at once."""
    return mint.where(mint.lt(self, operand(0, self)), ops.zeros_like(self), self)


@kernel("threshold_backward", takes="ilfd", numbers=True)
def threshold_backward(grad: Any, self: Any, limit: Any) -> Any:
    return mint.where(mint.le(self, limit), ops.zeros_like(grad), grad)


@kernel("celu", takes="f")
def celu(self: Any, alpha: Any) -> Any:
    return ops.celu(self, float(alpha))


@kernel("tanh", takes=COMPLEX)
def tanh(self: Any) -> Any:
    """MindSpore's own errs by 1e-4 in float32."""
    if self.dtype != mindspore.float32:
        return mint.tanh(self)
    power = expm1(mint.mul(mint.abs(self), operand(-2, self)))
    made = mint.mul(mint.sign(self), mint.div(mint.neg(power), mint.add(power, operand(2, self))))
    return mint.where(mint.eq(self, operand(0, self)), self, made)


@kernel("gelu", takes=FLOATS)
def gelu(self: Any, approximate: str) -> Any:
    if approximate == "none":
        return ops.gelu(self, approximate)
    cube = mint.mul(mint.mul(self, self), self)
    inner = mint.mul(mint.add(self, mint.mul(cube, operand(0.044715, self))), operand(math.sqrt(2 / math.pi), self))
    return mint.mul(mint.mul(self, operand(0.5, self)), mint.add(tanh(inner), operand(1, self)))


@kernel("maximum", takes="ilfd", numbers=True)
def maximum(self: Any, other: Any) -> Any:
    return _with_nan(mint.maximum(self, other), self, other)


@kernel("minimum", takes="ilfd", numbers=True)
def minimum(self: Any, other: Any) -> Any:
    return _with_nan(mint.minimum(self, other), self, other)


def _with_nan(chosen: Any, self: Any, other: Any) -> Any:
    """NaN where either is, which MindSpore passes over or not as its loops fall."""
    if not self.is_floating_point():
        return chosen
    return mint.where(ops.isnan(self), self, mint.where(ops.isnan(other), other, chosen))


@kernel("silu", takes=FLOATS)
def silu(self: Any) -> Any:
    return mint.mul(self, mint.sigmoid(self))


@kernel("hardshrink", takes=FLOATS)
def hardshrink(self: Any, limit: Any) -> Any:
    return ops.hardshrink(self, float(limit))


@kernel("softshrink", takes=FLOATS)
def softshrink(self: Any, limit: Any) -> Any:
    return ops.softshrink(self, float(limit))


@kernel("hardshrink_backward", "softshrink_backward", takes=FLOATS, numbers=True)
def shrink_backward(grad: Any, self: Any, limit: Any) -> Any:
    return mint.where(mint.le(mint.abs(self), limit), ops.zeros_like(grad), grad)


#: PyTorch's sixth is of single precision.
_SIXTH = 0.1666666716337204


@kernel("hardsigmoid_backward", takes=FLOATS)
def hardsigmoid_backward(grad: Any, self: Any) -> Any:
    inside = mint.logical_and(mint.gt(self, -3), mint.lt(self, 3))
    return mint.where(inside, mint.mul(grad, operand(_SIXTH, grad)), ops.zeros_like(grad))


@kernel("hardswish_backward", takes=FLOATS)
def hardswish_backward(grad: Any, self: Any) -> Any:
    inner = mint.mul(grad, mint.add(mint.div(self, operand(3, self)), operand(0.5, self)))
    return mint.where(mint.le(self, -3), ops.zeros_like(grad), mint.where(mint.lt(self, 3), inner, grad))


@kernel("_prelu_kernel", takes=FLOATS)
def prelu(self: Any, weight: Any) -> Any:
    return mint.where(mint.gt(self, 0), self, mint.mul(weight, self))


@kernel("_prelu_kernel_backward", takes=FLOATS)
def prelu_backward(grad: Any, self: Any, weight: Any) -> Any:
    zeros = ops.zeros_like(grad)
    positive = mint.gt(self, 0)
    of_self = mint.where(positive, grad, mint.mul(weight, grad))
    return of_self, mint.where(positive, zeros, mint.mul(self, grad))


@kernel("xlogy.Scalar_Other", "xlogy.Scalar_Self", "xlogy.Tensor", takes=FLOATS, numbers=True)
def xlogy(self: Any, other: Any) -> Any:
    product = mint.mul(self, mint.log(other))
    zero = mint.logical_and(mint.eq(self, 0), mint.logical_not(ops.isnan(other)))
    return mint.where(zero, ops.zeros_like(product), product)


@kernel("special_xlog1py", "special_xlog1py.other_scalar", "special_xlog1py.self_scalar", takes=FLOATS, numbers=True)
def xlog1py(self: Any, other: Any) -> Any:
    product = mint.mul(self, log1p(other))
    zero = mint.logical_and(mint.eq(self, 0), mint.logical_not(ops.isnan(other)))
    return mint.where(zero, ops.zeros_like(product), product)


@kernel("special_entr", takes=FLOATS)
def entr(self: Any) -> Any:
    inner = mint.where(mint.eq(self, 0), ops.zeros_like(self), mint.neg(mint.mul(self, mint.log(self))))
    return mint.where(mint.lt(self, 0), ops.full_like(self, float("-inf")), inner)


@kernel("ldexp.Tensor", takes=FLOATS)
def ldexp(self: Any, other: Any) -> Any:
    return mint.mul(self, mint.pow(mindspore.Tensor(2, self.dtype), _cast(other, self.dtype)))


@kernel("polygamma", takes="f")
def polygamma(n: int, self: Any) -> Any:
    return ops.digamma(self) if n == 0 else ops.polygamma(mindspore.Tensor(n), self)


@kernel("logit", takes=FLOATS)
def logit(self: Any, eps: Any) -> Any:
    one = operand(1, self)
    if eps is not None:
        least, greatest = operand(eps, self), operand(1 - eps, self)
        self = mint.where(mint.lt(self, least), least, mint.where(mint.gt(self, greatest), greatest, self))
    return mint.log(mint.div(self, mint.sub(one, self)))


def primitives(takes: str, **named: Any) -> None:
    """Primitives that carry out the plainest calls of operators, of operands of these dtypes."""
    for name, primitive in named.items():
        TABLE.primitives[name.replace("_Tensor", ".Tensor")] = Primitive(primitive, takes)


_generated = ops.auto_generate
primitives(
    NUMERIC,
    add_Tensor=_generated.Add(),
    sub_Tensor=_generated.Sub(),
    mul_Tensor=_generated.Mul(),
    neg=_generated.Neg(),
)
primitives("ilfdFD", mm=_generated.MatMulExt(), bmm=_generated.BatchMatMulExt())
primitives("fd", sum=_generated.SumExt())
primitives("fd", exp=_generated.Exp(), sqrt=_generated.Sqrt(), log=_generated.Log(), sigmoid=_generated.Sigmoid())


# Reductions


@kernel("amax", takes="?Bbhilfd")
def amax(self: Any, dim: Any, keepdim: bool) -> Any:
    axes = _axes(self, dim)
    return _extreme(ops.amax, self, axes, keepdim) if axes else _copied(self)


@kernel("amin", takes="?Bbhilfd")
def amin(self: Any, dim: Any, keepdim: bool) -> Any:
    axes = _axes(self, dim)
    return _extreme(ops.amin, self, axes, keepdim) if axes else _copied(self)


def _extreme(find: Any, self: Any, axes: Any, keepdim: bool) -> Any:
    """The greatest or least; NaN where there is one, which MindSpore passes over."""
    found = find(_widened(self), axes, keepdim)
    if not self.is_floating_point():
        return found
    unknown = mint.gt(mint.sum(_cast(ops.isnan(self), mindspore.int32), axes, keepdim=keepdim), 0)
    return mint.where(unknown, operand(math.nan, self), found)


@kernel("argmax", takes="ilfd")
def argmax(self: Any, dim: Any, keepdim: bool) -> Any:
    return _arg(mint.max, self, dim, keepdim)


@kernel("argmin", takes="ilfd")
def argmin(self: Any, dim: Any, keepdim: bool) -> Any:
    return _arg(mint.min, self, dim, keepdim)


def _arg(find: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    if dim is None or not self.ndim:
        place = found(find, self.reshape((-1,)), 0, False)[1]
        return place.reshape((1,) * self.ndim) if keepdim else place
    return found(find, self, dim, keepdim)[1]


@kernel("max.dim", takes="ilfd")
def max_dim(self: Any, dim: int, keepdim: bool) -> Any:
    return found(mint.max, self, dim, keepdim)


@kernel("min.dim", takes="ilfd")
def min_dim(self: Any, dim: int, keepdim: bool) -> Any:
    return found(mint.min, self, dim, keepdim)


@kernel("cumsum", takes="?BbhilfdFD")
def cumsum(self: Any, dim: int, dtype: Any) -> Any:
    self = _wide(self, dtype)
    return ops.cumsum(self, dim) if self.ndim else _copied(self)


@kernel("cumprod", takes="ilfdFD")
def cumprod(self: Any, dim: int, dtype: Any) -> Any:
    self = _wide(self, dtype)
    return ops.cumprod(self, dim) if self.ndim else _copied(self)


@kernel("logcumsumexp", takes=FLOATS)
def logcumsumexp(self: Any, dim: int) -> Any:
    if not self.ndim:
        return _copied(self)
    unknown = mint.gt(ops.cumsum(_cast(ops.isnan(self), mindspore.int32), dim), 0)
    return mint.where(unknown, operand(math.nan, self), ops.logcumsumexp(self, dim))


@kernel("cummax", takes="ilfd")
def cummax(self: Any, dim: int) -> Any:
    return _scan(ops.cummax, self, dim)


@kernel("cummin", takes="ilfd")
def cummin(self: Any, dim: int) -> Any:
    return _scan(ops.cummin, self, dim)


def _scan(function: Any, self: Any, dim: int) -> Any:
    if not self.ndim:
        return _copied(self), mint.zeros((), dtype=mindspore.int64)
    values, indices = function(self, dim)
    return values, _cast(indices, mindspore.int64)


@kernel("count_nonzero.dim_IntList", takes=ANY)
def count_nonzero_dims(self: Any, dim: Any) -> Any:
    axes = _axes(self, dim)
    counted = _cast(mint.ne(self, operand(0, self)), mindspore.int64)
    return _summed(counted, axes, False, None)


@kernel("count_nonzero", takes=ANY)
def count_nonzero(self: Any, dim: Any) -> Any:
    return count_nonzero_dims(self, () if dim is None else (dim,))


@kernel("_softmax", takes=FLOATS)
def softmax(self: Any, dim: int, half_to_float: bool) -> Any:
    if not self.size or not self.ndim:
        return _exact(self, 1)
    # MindSpore's own gives no NaN for infinite elements, and is as exact as float32 in float64.
    powers = mint.exp(mint.sub(self, ops.amax(self, (dim,), True)))
    return mint.div(powers, mint.sum(powers, (dim,), keepdim=True))


@kernel("_log_softmax", takes=FLOATS)
def log_softmax(self: Any, dim: int, half_to_float: bool) -> Any:
    if not self.size or not self.ndim:
        return _exact(self, 0)
    less = mint.sub(self, ops.amax(self, (dim,), True))
    return mint.sub(less, mint.log(mint.sum(mint.exp(less), (dim,), keepdim=True)))


def _exact(self: Any, value: int) -> Any:
    """What a single number becomes: NaN where it is not finite."""
    return mint.add(mint.mul(self, 0), value)


# Indexing


@kernel("index_select", half="native")
def index_select(self: Any, dim: int, index: Any) -> Any:
    if not self.ndim:
        bounded(index, 1, lambda wrong: refuse_selected())
        return _copied(self)
    bounded(index, self.shape[dim], lambda wrong: refuse_selected())
    index = index.reshape((-1,))
    if not index.size or not self.size:
        shape = [*self.shape]
        shape[dim] = index.size
        return mint.empty(tuple(shape), dtype=self.dtype)
    return moved(lambda t: ops.gather(t, index, dim), self)


@kernel("embedding", half="native")
def embedding(weight: Any, indices: Any, padding_idx: int, scale_grad_by_freq: bool, sparse: bool) -> Any:
    bounded(indices, weight.shape[0], lambda wrong: refuse_selected())
    if not indices.size or not weight.size:
        return mint.empty((*indices.shape, weight.shape[1]), dtype=weight.dtype)
    return moved(lambda t: ops.gather(t, indices, 0), weight)


@kernel("scatter_add", takes="ilfd")
def scatter_add(self: Any, dim: int, index: Any, src: Any) -> Any:
    return _scattered(self, dim, index, src, "add")


@kernel("scatter.src", takes="ilfd")
def scatter(self: Any, dim: int, index: Any, src: Any) -> Any:
    return _scattered(self, dim, index, src, "none")


def _scattered(self: Any, dim: int, index: Any, src: Any, reduction: str) -> Any:
    if not index.size:
        return _copied(self.contiguous())
    shape = tuple(self.shape)
    target, index, src = at_least_1d(self), at_least_1d(index), at_least_1d(src)
    bounded(index, target.shape[dim], lambda wrong: refuse_picked(wrong, dim % target.ndim, target.shape[dim]))
    for d, n in enumerate(index.shape):
        if src.shape[d] > n:
            src = src.narrow(d, 0, n)
    made = ops.tensor_scatter_elements(target.contiguous(), index, src.contiguous(), dim, reduction)
    return made.reshape(shape)


@kernel("nonzero", takes=ANY)
def nonzero(self: Any) -> Any:
    return ops.nonzero(self)


@kernel("flip", half="native")
def flip(self: Any, dims: Any) -> Any:
    if not dims or not self.ndim or not self.size:
        return _copied(self.contiguous())
    return moved(lambda t: ops.flip(t, tuple(d % self.ndim for d in dims)), self)


@kernel("roll", half="native")
def roll(self: Any, shifts: Any, dims: Any) -> Any:
    if not self.size or not self.ndim:
        return _copied(self.contiguous())
    if not dims:
        return _rolled(self.contiguous().reshape((-1,)), shifts[0], 0).reshape(tuple(self.shape))
    for shift, dim in zip(shifts, dims, strict=True):
        self = _rolled(self, shift, dim)
    return self


def _rolled(self: Any, shift: int, dim: int) -> Any:
    n = self.shape[dim]
    split = (n - shift) % n
    if not split:
        return _copied(self.contiguous())
    parts = (self.narrow(dim, split, n - split), self.narrow(dim, 0, split))
    return moved(lambda *both: mint.cat(both, dim), *parts)


@kernel("sort.stable", takes="Bbhilf")
def sort(self: Any, stable: Any, dim: int, descending: bool) -> Any:
    if not self.ndim or not self.size:
        return _copied(self.contiguous()), mint.zeros(tuple(self.shape), dtype=mindspore.int64)
    indices = _cast(ops.sort(_order(self, dim, descending), dim)[1], mindspore.int64)
    return mint.gather(self, dim, indices), indices


def _order(self: Any, dim: int, descending: bool) -> Any:
    """Different integers in the order in which elements are to lie: what is equal stays in order, NaN is greatest.

    MindSpore's own order of equal elements is left open, and so is that of NaN.
    """
    if self.is_floating_point():
        unknown = ops.isnan(self)
        whole = mint.add(self, operand(0, self)).contiguous()  # -0.0 is 0.0
        bits = whole.view(mindspore.int32)
        bits = mint.where(mint.lt(bits, 0), ops.bitwise_xor(bits, 0x7FFFFFFF), bits)
        keys = mint.where(unknown, mindspore.Tensor(2**31 - 1, mindspore.int32), bits)
    else:
        keys = self
        if self.dtype == mindspore.int64:
            least, greatest = int(mint.min(self)), int(mint.max(self))
            if least < -(2**31) or greatest >= 2**31:
                raise NotImplementedError("sort.stable: MindSpore sorts no integers beyond 32 bits stably")
    keys = _cast(keys, mindspore.int64)
    if descending:
        keys = mint.sub(mindspore.Tensor(-1), keys)
    count = self.shape[dim]
    places = ops.arange(count).reshape([count if i == dim % self.ndim else 1 for i in range(self.ndim)])
    return mint.add(mint.mul(keys, mindspore.Tensor(2**31)), places)


@kernel("topk", takes="Bbhilf")
def topk(self: Any, k: int, dim: int, largest: bool, ordered: bool) -> Any:
    if not self.ndim:
        return _copied(self), mint.zeros((), dtype=mindspore.int64)
    values, indices = sort(self, True, dim, largest)
    return values.narrow(dim, 0, k).contiguous(), indices.narrow(dim, 0, k).contiguous()


@kernel("take", half="native")
def take(self: Any, index: Any) -> Any:
    count = self.size
    if not index.size:
        return mint.empty(tuple(index.shape), dtype=self.dtype)
    bounded(index, count, lambda wrong: refuse_flat(wrong, count), least=-count)
    flat = index.reshape((-1,))
    flat = mint.where(mint.lt(flat, 0), mint.add(flat, count), flat)
    return moved(lambda t: ops.gather(t, flat, 0), self.contiguous().reshape((-1,))).reshape(tuple(index.shape))


# Creation


@kernel("tril", takes=ANY)
def tril(self: Any, diagonal: int) -> Any:
    return ops.tril(self, diagonal) if self.size else _copied(self)


@kernel("triu", takes=ANY)
def triu(self: Any, diagonal: int) -> Any:
    return ops.triu(self, diagonal) if self.size else _copied(self)


# Linear algebra


@kernel("linalg_cholesky_ex", takes=FLOATS)
def cholesky_ex(self: Any, upper: bool, check_errors: bool) -> Any:
    factor = ops.cholesky(self, upper)
    return factor, mint.zeros(tuple(self.shape[:-2]), dtype=mindspore.int32)


@kernel("linalg_inv_ex", takes=FLOATS)
def inv_ex(self: Any, check_errors: bool) -> Any:
    return ops.inverse(self), mint.zeros(tuple(self.shape[:-2]), dtype=mindspore.int32)


@kernel("_linalg_det", takes=FLOATS)
def det(self: Any) -> Any:
    return ops.det(self)


@kernel("linalg_slogdet", takes=FLOATS)
def slogdet(self: Any) -> Any:
    return ops.slogdet(self)


@kernel("linalg_qr", takes=FLOATS)
def qr(self: Any, mode: str) -> Any:
    if mode == "r":
        return mint.zeros((0,), dtype=self.dtype), ops.qr(self)[1]
    return ops.qr(self, mode)


@kernel("linalg_svd", takes=FLOATS)
def svd(self: Any, full_matrices: bool, driver: Any) -> Any:
    s, u, v = ops.svd(self, full_matrices, True)
    return u, s, v.swapaxes(-1, -2).contiguous()


@kernel("linalg_eigvals", takes=COMPLEX)
def eigvals(self: Any) -> Any:
    return ops.eigvals(self)
