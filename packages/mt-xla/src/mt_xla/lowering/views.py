"""Other looks at the same elements, and tensors put together of others. Here each is a value of its own."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from ..calls import Call, Value, convert, jax_dtype
from .table import dimension, dimensions, lower

__all__: list[str] = []


@lower(
    "view", "reshape", "_unsafe_view", "_reshape_alias", "squeeze", "squeeze.dim", "squeeze.dims", "unsqueeze",
    "flatten.using_ints", "view_copy", "_reshape_copy", "unsqueeze_copy", "squeeze_copy", "squeeze_copy.dim",
    "squeeze_copy.dims",
)  # fmt: skip
def _reshape(call: Call, self: Value, *_: Any) -> Value:
    return self.reshape(call.shape)


@lower("alias", "detach", "clone", "contiguous", "lift_fresh", "lift", "alias_copy", "detach_copy", "lift_fresh_copy")
def _same(call: Call, self: Value, *_: Any) -> Value:
    return self


@lower("_to_copy", "to.dtype")
def _to(call: Call, self: Value, *_: Any) -> Value:
    return convert(self, jax_dtype(call.dtype))


@lower("copy")
def _copy(call: Call, self: Value, src: Value, non_blocking: bool) -> Value:
    return call.result(src)


@lower("copy_")
def _copy_into(call: Call, self: Value, src: Value, non_blocking: bool) -> Value:
    value = call.result(src)
    call.write(0, value)
    return value


@lower("permute", "permute_copy")
def _permute(call: Call, self: Value, dims: Any) -> Value:
    return self.transpose([dimension(d, self.ndim) for d in dims])


@lower("transpose.int", "transpose_copy.int")
def _transpose(call: Call, self: Value, dim0: int, dim1: int) -> Value:
    return self.swapaxes(dim0, dim1) if self.ndim else self


@lower("t", "t_copy")
def _t(call: Call, self: Value) -> Value:
    return self.T


@lower("expand", "expand_copy")
def _expand(call: Call, self: Value, *_: Any) -> Value:
    return jnp.broadcast_to(self, call.shape)


@lower("select.int", "select_copy.int")
def _select(call: Call, self: Value, dim: int, index: int) -> Value:
    return lax.index_in_dim(self, index, dimension(dim, self.ndim), keepdims=False)


@lower("slice.Tensor", "slice_copy.Tensor")
def _slice(call: Call, self: Value, dim: int, start: int | None, end: int | None, step: int) -> Value:
    return self[_along(dimension(dim, self.ndim), slice(start, end, step))]


def _along(dim: int, index: Any) -> Any:
    return (*(slice(None),) * dim, index)


@lower("split.Tensor", "split_with_sizes", "split_copy.Tensor", "split_with_sizes_copy")
def _split(call: Call, self: Value, sizes: Any, dim: int) -> list[Value]:
    dim = dimension(dim, self.ndim)
    parts, start = [], 0
    for out in call.outs:
        size = out.shape[dim]
        parts.append(lax.slice_in_dim(self, start, start + size, axis=dim))
        start += size
    return parts


@lower("unbind.int", "unbind_copy.int")
def _unbind(call: Call, self: Value, dim: int) -> list[Value]:
    dim = dimension(dim, self.ndim)
    return [lax.index_in_dim(self, i, dim, keepdims=False) for i in range(self.shape[dim])]


@lower("diagonal", "diagonal_copy")
def _diagonal(call: Call, self: Value, offset: int, dim1: int, dim2: int) -> Value:
    return jnp.diagonal(self, offset, dim1, dim2)


@lower("unfold", "unfold_copy")
def _unfold(call: Call, self: Value, dimension_: int, size: int, step: int) -> Value:
    if self.ndim == 0:
        return self.reshape(1)[:size]
    dim = dimension(dimension_, self.ndim)
    count = call.shape[dim]
    places = jnp.arange(count)[:, None] * step + jnp.arange(size)
    return jnp.moveaxis(jnp.take(self, places, axis=dim), dim + 1, -1)


@lower("as_strided", "as_strided_copy")
def _as_strided(call: Call, self: Value, size: Any, stride: Any, storage_offset: int | None) -> Value:
    """Of a tensor that lies in its storage without gaps, from its beginning: there each place is an element."""
    like = call.fakes[0]
    if not like.is_contiguous() or like.storage_offset() or like.untyped_storage().nbytes() != like.nbytes:
        raise call.refuse("of a tensor that is a part of its storage")
    places = jnp.full((), storage_offset or 0)
    for count, step in zip(size, stride, strict=True):
        places = places[..., None] + jnp.arange(count) * step
    return self.reshape(-1)[places]


@lower("view.dtype", "view_copy.dtype")
def _view_dtype(call: Call, self: Value, dtype: Any) -> Value:
    wanted = jax_dtype(call.dtype)
    if jnp.issubdtype(self.dtype, jnp.complexfloating) or jnp.issubdtype(wanted, jnp.complexfloating):
        raise call.refuse("of complex numbers")
    if jnp.bool_ in (self.dtype, wanted):
        raise call.refuse("of bool")
    before, after = self.dtype.itemsize, jnp.dtype(wanted).itemsize
    if after > before:
        self = self.reshape(*self.shape[:-1], -1, after // before)
    return lax.bitcast_convert_type(self, wanted).reshape(call.shape)


@lower("view_as_real", "view_as_real_copy")
def _view_as_real(call: Call, self: Value) -> Value:
    return jnp.stack([self.real, self.imag], -1)


@lower("view_as_complex", "view_as_complex_copy")
def _view_as_complex(call: Call, self: Value) -> Value:
    return lax.complex(self[..., 0], self[..., 1])


@lower("complex")
def _complex(call: Call, real: Value, imag: Value) -> Value:
    return call.result(lax.complex(*jnp.broadcast_arrays(real, imag)))


@lower("polar")
def _polar(call: Call, abs: Value, angle: Value) -> Value:
    size, angle = jnp.broadcast_arrays(abs, angle)
    return call.result(lax.complex(size * jnp.cos(angle), size * jnp.sin(angle)))


@lower("real")
def _real(call: Call, self: Value) -> Value:
    return self.real


@lower("imag")
def _imag(call: Call, self: Value) -> Value:
    return self.imag


@lower("_conj", "conj", "_conj_physical", "conj_physical", "_conj_copy", "resolve_conj")
def _conj(call: Call, self: Value) -> Value:
    if call.name == "resolve_conj":
        return self
    return jnp.conj(self)


@lower("_neg_view", "_neg_view_copy")
def _neg_view(call: Call, self: Value) -> Value:
    return -self


@lower("flip")
def _flip(call: Call, self: Value, dims: Any) -> Value:
    return jnp.flip(self, [dimension(d, self.ndim) for d in dims]) if self.ndim else self


@lower("roll")
def _roll(call: Call, self: Value, shifts: Any, dims: Any) -> Value:
    if not dims:
        return jnp.roll(self.reshape(-1), shifts[0]).reshape(self.shape)
    return jnp.roll(self, tuple(shifts), tuple([dimension(d, self.ndim) for d in dims]))


@lower("repeat")
def _repeat(call: Call, self: Value, repeats: Any) -> Value:
    return jnp.tile(self, tuple(repeats)).reshape(call.shape)


@lower("cat")
def _cat(call: Call, tensors: Any, dim: int) -> Value:
    dtype = jax_dtype(call.dtype)
    rank = len(call.shape)
    parts = [convert(t, dtype) for t in tensors if t.ndim == rank]
    return jnp.concatenate(parts, dimension(dim, rank))


@lower("stack")
def _stack(call: Call, tensors: Any, dim: int) -> Value:
    dtype = jax_dtype(call.dtype)
    return jnp.stack([convert(t, dtype) for t in tensors], dimension(dim, len(call.shape)))


@lower("constant_pad_nd")
def _constant_pad(call: Call, self: Value, pad: Any, value: Any) -> Value:
    pairs = list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    widths = [(0, 0, 0)] * (self.ndim - len(pairs)) + [(low, high, 0) for low, high in pairs]
    return lax.pad(self, convert(value, self.dtype), widths)


@lower("tril", "triu")
def _triangle(call: Call, self: Value, diagonal: int) -> Value:
    return (jnp.tril if call.name == "tril" else jnp.triu)(self, diagonal)


@lower("select_scatter")
def _select_scatter(call: Call, self: Value, src: Value, dim: int, index: int) -> Value:
    return self.at[_along(dimension(dim, self.ndim), index)].set(src)


@lower("slice_scatter")
def _slice_scatter(
    call: Call, self: Value, src: Value, dim: int, start: int | None, end: int | None, step: int
) -> Value:
    return self.at[_along(dimension(dim, self.ndim), slice(start, end, step))].set(convert(src, self.dtype))


@lower("diagonal_scatter")
def _diagonal_scatter(call: Call, self: Value, src: Value, offset: int, dim1: int, dim2: int) -> Value:
    dim1, dim2 = dimensions([dim1, dim2], self.ndim)
    moved = jnp.moveaxis(self, (dim1, dim2), (-2, -1))
    count = src.shape[-1]
    row, col = jnp.arange(count) + max(-offset, 0), jnp.arange(count) + max(offset, 0)
    return jnp.moveaxis(moved.at[..., row, col].set(src), (-2, -1), (dim1, dim2))
