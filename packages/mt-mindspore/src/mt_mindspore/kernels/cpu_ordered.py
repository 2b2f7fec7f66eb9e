"""Kernels of the device target CPU: order statistics, membership, Fourier transforms."""

from __future__ import annotations

import math
from typing import Any

import mindspore
from mindspore import mint, ops

from ..registry import Table
from .common import FLOATS, _cast, _copied, operand
from .cpu import sort

__all__ = ["TABLE"]

TABLE = Table()
kernel = TABLE.kernel


def _places(tensor: Any) -> Any:
    return mint.zeros(tuple(tensor.shape), dtype=mindspore.int64)


@kernel("kthvalue", takes="Bbhilf")
def kthvalue(self: Any, k: int, dim: int, keepdim: bool) -> Any:
    """self (*S) -> values and indices, S without the dimension `dim`, or 1 there with `keepdim`."""
    if not self.ndim:
        return _copied(self), _places(self)
    return _kept([part.narrow(dim, k - 1, 1) for part in sort(self, True, dim, False)], dim, keepdim)


def _kept(parts: Any, dim: int, keepdim: bool) -> Any:
    parts = [_copied(part.contiguous()) for part in parts]
    if keepdim:
        return tuple(parts)
    shape = [n for i, n in enumerate(parts[0].shape) if i != dim % parts[0].ndim]
    return tuple(part.reshape(tuple(shape)) for part in parts)


@kernel("isin.Tensor_Tensor", takes="Bbhilfd")
def isin(elements: Any, tests: Any, assume_unique: bool, invert: bool) -> Any:
    """elements (*) -> (*) of bool."""
    shape = tuple(elements.shape)
    if not tests.size or not elements.size:
        found = mint.zeros(shape, dtype=mindspore.bool_)
    else:
        same = mint.eq(elements.reshape((-1, 1)), tests.reshape((1, -1)))
        found = mint.ne(mint.sum(_cast(same, mindspore.int64), (1,)), mindspore.Tensor(0)).reshape(shape)
    return mint.logical_not(found) if invert else found


@kernel("logit_backward", takes=FLOATS)
def logit_backward(grad: Any, self: Any, eps: Any) -> Any:
    one = operand(1, self)
    slope = mint.div(grad, mint.mul(self, mint.sub(one, self)))
    least, greatest = operand(0 if eps is None else eps, self), operand(1 if eps is None else 1 - eps, self)
    outside = mint.logical_or(mint.lt(self, least), mint.gt(self, greatest))
    return mint.where(outside, operand(math.nan if eps is None else 0, self), slope)


@kernel("isreal", takes="FD")
def isreal(self: Any) -> Any:
    return mint.eq(mint.imag(self), operand(0, mint.imag(self)))


@kernel("vdot", takes="FD")
def vdot(self: Any, other: Any) -> Any:
    if not self.size:
        return mint.zeros((), dtype=self.dtype)
    return mint.sum(mint.mul(ops.conj(self), other), (0,))


@kernel("searchsorted.Tensor", takes=FLOATS + "il")
def searchsorted(sequence: Any, self: Any, out_int32: bool, right: bool, side: Any, sorter: Any) -> Any:
    """sequence (*, N) or (N,), self (*, K) -> (*, K): how many of a row lie before each value."""
    if sequence.dtype != self.dtype:
        raise TypeError("searchsorted of two dtypes")
    if sorter is not None:
        sequence = mint.gather(sequence, -1, sorter)
    shape = tuple(self.shape)
    if not self.size or not sequence.size:
        return mint.zeros(shape, dtype=mindspore.int64)
    rows = sequence.reshape((1, -1)) if sequence.ndim == 1 else sequence.reshape((-1, 1, sequence.shape[-1]))
    values = self.reshape((-1, 1)) if sequence.ndim == 1 else self.reshape((rows.shape[0], -1, 1))
    before = mint.le(rows, values) if right or side == "right" else mint.lt(rows, values)
    if self.is_floating_point():  # NaN stands behind all numbers
        unknown = ops.isnan(values)
        behind = mint.logical_not(ops.isnan(rows))
        if right or side == "right":
            behind = mint.logical_or(behind, unknown)
        before = mint.logical_or(before, mint.logical_and(unknown, behind))
    return mint.sum(_cast(before, mindspore.int64), (-1,)).reshape(shape)


@kernel("eye.m", half="native")
def eye_m(n: int, m: int, spec: Any) -> Any:
    return _eye(n, m)


@kernel("eye", half="native")
def eye(n: int, spec: Any) -> Any:
    return _eye(n, n)


def _eye(n: int, m: int) -> Any:
    """(n, m) of bool, which becomes the dtype that is asked for."""
    if not n or not m:
        return mint.zeros((n, m), dtype=mindspore.bool_)
    return mint.eq(ops.arange(n).reshape((-1, 1)), ops.arange(m).reshape((1, -1)))


# Fourier transforms


def _scaled(self: Any, counts: list[int], normalization: int) -> Any:
    """Divided by nothing, by the root of the number of elements, or by that number."""
    if not normalization:
        return self
    count = math.prod(counts)
    return mint.mul(self, operand(1 / (math.sqrt(count) if normalization == 1 else count), self))


@kernel("_fft_c2c", takes="FD")
def c2c(self: Any, dim: Any, normalization: int, forward: bool) -> Any:
    """self (*) -> (*)."""
    if not self.size:
        return _copied(self)
    for d in dim:
        self = ops.fft(self, dim=d, norm="backward") if forward else ops.ifft(self, dim=d, norm="forward")
    return _scaled(self, [self.shape[d] for d in dim], normalization)


@kernel("_fft_r2c", takes=FLOATS)
def r2c(self: Any, dim: Any, normalization: int, onesided: bool) -> Any:
    """self (*, N, *) -> (*, N, *) of complex; one-sided: N // 2 + 1 along the last of `dim`."""
    counts = [self.shape[d] for d in dim]
    if onesided:
        made = ops.rfft(self, dim=dim[-1], norm="backward")
    else:
        made = ops.fft(self, dim=dim[-1], norm="backward")
    for d in dim[:-1]:
        made = ops.fft(made, dim=d, norm="backward")
    return _scaled(made, counts, normalization)


@kernel("_fft_c2r", takes="FD")
def c2r(self: Any, dim: Any, normalization: int, last_dim_size: int) -> Any:
    """self (*, N // 2 + 1, *) -> (*, last_dim_size, *) of real, along the last of `dim`."""
    counts = [*[self.shape[d] for d in dim[:-1]], last_dim_size]
    for d in dim[:-1]:
        self = ops.ifft(self, dim=d, norm="forward")
    return _scaled(ops.irfft(self, last_dim_size, dim[-1], "forward"), counts, normalization)
