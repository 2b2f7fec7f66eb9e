"""Windows over images."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..calls import Call, Value, convert, jax_dtype, opmath
from .table import lower

__all__: list[str] = []


def _spread(value: Any, rank: int) -> tuple[int, ...]:
    """One number for each dimension, of one for all or one each."""
    if isinstance(value, int):
        return (value,) * rank
    return tuple(value) * rank if len(value) == 1 else tuple(value)


def _windows(x: Value, out: tuple[int, ...], kernel: Any, stride: Any, padding: Any, dilation: Any, fill: Any) -> Value:
    """The elements of each window in a dimension of its own, the last; and their places in the image."""
    rank = len(kernel)
    size = x.shape[-rank:]
    reach = [(o - 1) * s + d * (k - 1) + 1 for o, s, d, k in zip(out, stride, dilation, kernel, strict=True)]
    widths = [(0, 0, 0)] * (x.ndim - rank) + [
        (p, max(r - p - n, 0), 0) for p, r, n in zip(padding, reach, size, strict=True)
    ]
    padded = lax.pad(x, jnp.asarray(fill, x.dtype), widths)
    parts, places = [], []
    for offset in itertools.product(*map(range, kernel)):
        index = [
            slice(o * d, o * d + (n - 1) * s + 1, s) for o, d, n, s in zip(offset, dilation, out, stride, strict=True)
        ]
        parts.append(padded[(..., *index)])
        place = jnp.zeros((), jnp.int64)
        for axis, (o, d, n, s, p) in enumerate(zip(offset, dilation, out, stride, padding, strict=True)):
            along = jnp.arange(n) * s + o * d - p
            place = place * size[axis] + along.reshape(-1, *(1,) * (rank - 1 - axis))
        places.append(jnp.broadcast_to(place, out))
    return jnp.stack(parts, -1), jnp.stack(places, -1)


def _inside(size: Any, out: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> np.ndarray:
    """Whether each element of each window lies within the image; elements of a window are the last dimension."""
    parts = []
    for offset in itertools.product(*map(range, kernel)):
        within = np.ones(tuple(out), bool)
        for axis, (o, d, n, s, p) in enumerate(zip(offset, dilation, out, stride, padding, strict=True)):
            along = np.arange(n) * s + o * d - p
            within &= ((along >= 0) & (along < size[axis])).reshape(-1, *(1,) * (len(out) - 1 - axis))
        parts.append(within)
    return np.stack(parts, -1)


@lower("max_pool2d_with_indices", "max_pool3d_with_indices")
def _max_pool(
    call: Call, self: Value, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> list[Value]:
    rank = 2 if "2d" in call.name else 3
    kernel = _spread(kernel, rank)
    stride = _spread(stride, rank) if stride else kernel
    padding, dilation = _spread(padding, rank), _spread(dilation, rank)
    out = call.shape[-rank:]
    low = -jnp.inf if jnp.issubdtype(self.dtype, jnp.floating) else jnp.iinfo(self.dtype).min
    parts, places = _windows(self, out, kernel, stride, padding, dilation, low)
    inside = _inside(self.shape[-rank:], out, kernel, stride, padding, dilation)
    # The first element of the window where none is larger; the last NaN where there is one.
    if jnp.issubdtype(self.dtype, jnp.floating):
        nan = jnp.isnan(parts)
        last = parts.shape[-1] - 1 - jnp.argmax(jnp.flip(nan, -1), -1)
        best = jnp.argmax(jnp.where(nan, -jnp.inf, jnp.where(inside, parts, -jnp.inf)), -1)
        first = np.broadcast_to(np.argmax(inside, -1), best.shape)
        best = jnp.where(jnp.max(jnp.where(inside, parts, -jnp.inf), -1) == -jnp.inf, first, best)
        best = jnp.where(nan.any(-1), last, best)
    else:
        best = jnp.argmax(parts, -1)
    values = jnp.take_along_axis(parts, best[..., None], -1)[..., 0]
    found = jnp.take_along_axis(jnp.broadcast_to(places, parts.shape), best[..., None], -1)[..., 0]
    return [call.result(values, 0), call.result(found, 1)]


@lower("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward")
def _max_pool_backward(call: Call, grad: Value, self: Value, *rest: Any) -> Value:
    indices = rest[-1]
    rank = 2 if "2d" in call.name else 3
    lead = self.shape[:-rank]
    count = 1
    for n in lead:
        count *= n
    area = self.size // max(count, 1)
    wide = jax_dtype(opmath(call.dtype))
    rows = jnp.arange(count)[:, None]
    flat = (
        jnp.zeros((count, area), wide).at[rows, indices.reshape(count, -1)].add(convert(grad, wide).reshape(count, -1))
    )
    return call.result(flat.reshape(self.shape))


def _average(x: Value, out: Any, kernel: Any, stride: Any, padding: Any, counts_padding: bool, divisor: Any) -> Value:
    rank = len(kernel)
    ones = (1,) * rank
    parts, _ = _windows(x, out, kernel, stride, padding, ones, 0)
    total = parts.sum(-1)
    if divisor is not None:
        return total / divisor
    size = x.shape[-rank:]
    number = jnp.ones((), x.dtype)
    for axis, (n, k, s, p, o) in enumerate(zip(size, kernel, stride, padding, out, strict=True)):
        start = jnp.arange(o) * s - p
        end = jnp.minimum(start + k, n + p)
        if not counts_padding:
            start, end = jnp.maximum(start, 0), jnp.minimum(end, n)
        number = number * (end - start).astype(x.dtype).reshape(-1, *(1,) * (rank - 1 - axis))
    return total / number


def _average_settings(name: str, settings: Any) -> list[Any]:
    kernel, stride, padding, _, counts_padding, divisor = settings
    rank = 2 if "2d" in name else 3
    kernel = _spread(kernel, rank)
    return [kernel, _spread(stride, rank) if stride else kernel, _spread(padding, rank), counts_padding, divisor]


@lower("avg_pool2d", "avg_pool3d")
def _avg_pool(call: Call, self: Value, *settings: Any) -> Value:
    x = convert(self, jax_dtype(opmath(call.dtype)))
    chosen = _average_settings(call.name, settings)
    return call.result(_average(x, call.shape[-len(chosen[0]) :], *chosen))


@lower("avg_pool2d_backward", "avg_pool3d_backward")
def _avg_pool_backward(call: Call, grad: Value, self: Value, *settings: Any) -> Value:
    wide = jax_dtype(opmath(call.dtype))
    chosen = _average_settings(call.name, settings)
    out = grad.shape[-len(chosen[0]) :]
    _, pull = jax.vjp(lambda x: _average(x, out, *chosen), convert(self, wide))
    return call.result(pull(convert(grad, wide))[0])


@lower("adaptive_max_pool2d", "adaptive_max_pool3d")
def _adaptive_max_pool(call: Call, self: Value, output_size: Any) -> list[Value]:
    rank = 2 if "2d" in call.name else 3
    if not jnp.issubdtype(self.dtype, jnp.floating) or self.size == 0:
        raise call.refuse("of integers, or of nothing")
    lead, size, out = self.shape[:-rank], self.shape[-rank:], call.shape[-rank:]
    places, inside = np.zeros((1,) * (2 * rank), np.int64), np.ones((1,) * (2 * rank), bool)
    for axis, (n, o) in enumerate(zip(size, out, strict=True)):
        start = np.arange(o) * n // o
        end = -(-(np.arange(1, o + 1) * n) // o)
        along = start[:, None] + np.arange((end - start).max())
        shape = [1] * (2 * rank)
        shape[axis], shape[rank + axis] = along.shape
        inside = inside & (along < end[:, None]).reshape(shape)
        places = places * n + np.minimum(along, n - 1).reshape(shape)
    # Windows by their place in the image: the first of the largest elements, or the last NaN.
    count = np.prod(places.shape[rank:])
    places, inside = (np.broadcast_to(x, places.shape).reshape(*out, count) for x in (places, inside))
    parts = self.reshape(*lead, -1)[..., places]
    nan = jnp.isnan(parts) & inside
    best = jnp.argmax(jnp.where(inside & ~nan, parts, -jnp.inf), -1)
    last = parts.shape[-1] - 1 - jnp.argmax(jnp.flip(nan, -1), -1)
    best = jnp.where(nan.any(-1), last, best)[..., None]
    values = jnp.take_along_axis(parts, best, -1)[..., 0]
    found = jnp.take_along_axis(jnp.broadcast_to(places, parts.shape), best, -1)[..., 0]
    return [call.result(values, 0), call.result(found, 1)]


def _columns(x: Value, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Value:
    """Images (..., c, h, w) as columns (..., c * kh * kw, blocks)."""
    sizes = zip(x.shape[-2:], kernel, dilation, padding, stride, strict=True)
    out = tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in sizes])
    parts, _ = _windows(x, out, kernel, stride, padding, dilation, 0)
    return jnp.moveaxis(parts, -1, -3).reshape(*x.shape[:-3], -1, out[0] * out[1])


@lower("im2col")
def _im2col(call: Call, self: Value, *settings: Any) -> Value:
    return call.result(_columns(self, *[_spread(value, 2) for value in settings]).reshape(call.shape))


@lower("col2im")
def _col2im(call: Call, self: Value, output_size: Any, *settings: Any) -> Value:
    if not jnp.issubdtype(self.dtype, jnp.inexact):
        raise call.refuse("of bool")
    x = convert(self, jax_dtype(opmath(call.dtype)))
    like = jnp.zeros(call.shape, x.dtype)
    chosen = [_spread(value, 2) for value in settings]
    _, pull = jax.vjp(lambda image: _columns(image, *chosen), like)
    return call.result(pull(x)[0])
