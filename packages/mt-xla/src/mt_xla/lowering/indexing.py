"""Elements taken and put by index. An index out of range is found by the program and refused after it has run."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from ..calls import Call, Value, convert, jax_dtype, opmath
from .table import dimension, lower

__all__: list[str] = []


def _in_range(call: Call, index: Value, size: int, text: str, low: int = 0) -> Value:
    """An index, checked; negative ones counted from the end where they are allowed."""
    call.check(((index >= low) & (index < size)).all(), IndexError, text)
    return jnp.where(index < 0, index + size, index) if low else index


def _indices(call: Call, self: Value, indices: Any) -> tuple[Any, ...]:
    """What `self` is indexed with: None is a whole dimension."""
    found: list[Any] = []
    for index in indices:
        if index is None:
            found.append(slice(None))
            continue
        if index.dtype == jnp.bool_ or index.dtype == jnp.uint8:
            raise call.refuse("with a mask: how many elements it takes is not known before")
        dim = len(found)
        size = self.shape[dim]
        text = f"index is out of bounds for dimension {dim} with size {size}"
        found.append(_in_range(call, index, size, text, -size))
    return tuple(found)


@lower("index.Tensor", "_unsafe_index.Tensor")
def _index(call: Call, self: Value, indices: Any) -> Value:
    return self[_indices(call, self, indices)]


@lower("index_put", "_unsafe_index_put", "_index_put_impl")
def _index_put(call: Call, self: Value, indices: Any, values: Value, accumulate: bool, *_: Any) -> Value:
    places = self.at[_indices(call, self, indices)]
    values = convert(values, self.dtype)
    return places.add(values) if accumulate else places.set(values)


@lower("index_select")
def _index_select(call: Call, self: Value, dim: int, index: Value) -> Value:
    if self.ndim == 0:
        return self.reshape(call.shape)
    dim = dimension(dim, self.ndim)
    index = _in_range(call, index.reshape(-1), self.shape[dim], "index out of range in self")
    return jnp.take(self, index, axis=dim, mode="clip")


@lower("embedding")
def _embedding(call: Call, weight: Value, indices: Value, *_: Any) -> Value:
    return jnp.take(
        weight, _in_range(call, indices, weight.shape[0], "index out of range in self"), axis=0, mode="clip"
    )


@lower("embedding_dense_backward")
def _embedding_backward(
    call: Call, grad: Value, indices: Value, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Value:
    wide = jax_dtype(opmath(call.dtype))
    g = convert(grad, wide).reshape(-1, grad.shape[-1])
    flat = indices.reshape(-1)
    if scale_grad_by_freq:
        counts = jnp.zeros((num_weights,), wide).at[flat].add(1)
        g = g / counts[flat][:, None]
    g = jnp.where((flat == padding_idx)[:, None], 0, g)
    return call.result(jnp.zeros((num_weights, grad.shape[-1]), wide).at[flat].add(g))


@lower("gather")
def _gather(call: Call, self: Value, dim: int, index: Value, sparse_grad: bool) -> Value:
    if self.ndim == 0 or index.ndim == 0:
        return jnp.broadcast_to(self.reshape(-1)[:1], (index.size,)).reshape(call.shape)
    return self[_along(call, self, dim, index)]


def _along(call: Call, self: Value, dim: int, index: Value) -> tuple[Value, ...]:
    """The places that an index names along a dimension, every other one its own."""
    dim = dimension(dim, self.ndim)
    size = self.shape[dim]
    index = _in_range(call, index, size, f"index is out of bounds for dimension {dim} with size {size}")
    grid = jnp.meshgrid(*[jnp.arange(n) for n in index.shape], indexing="ij", sparse=True)
    return tuple([index if d == dim else grid[d] for d in range(self.ndim)])


@lower("scatter.src", "scatter.value", "scatter_add")
def _scatter(call: Call, self: Value, dim: int, index: Value, src: Any) -> Value:
    if self.ndim == 0 or index.ndim == 0:
        raise call.refuse("without dimensions")
    src = convert(src, self.dtype)
    if src.ndim:
        src = src[tuple([slice(0, n) for n in index.shape])]
    places = self.at[_along(call, self, dim, index)]
    return places.add(src) if call.name == "scatter_add" else places.set(src)


def _start(dtype: Any, reduce: str) -> Any:
    """What leaves any element as it is."""
    is_float = jnp.issubdtype(dtype, jnp.floating)
    limits = (-jnp.inf, jnp.inf) if is_float else (jnp.iinfo(dtype).min, jnp.iinfo(dtype).max)
    return {"sum": 0, "prod": 1, "amax": limits[0], "amin": limits[1]}[reduce]


@lower("scatter_reduce.two")
def _scatter_reduce(
    call: Call, self: Value, dim: int, index: Value, src: Value, reduce: str, include_self: bool
) -> Value:
    if self.ndim == 0 or reduce == "mean":
        raise call.refuse(f"with reduce={reduce!r} or without dimensions")
    places = _along(call, self, dim, index)
    src = convert(src, self.dtype)[tuple([slice(0, n) for n in index.shape])]
    base = self
    if not include_self:
        base = self.at[places].set(jnp.asarray(_start(self.dtype, reduce), self.dtype))
    found = base.at[places]
    return {"sum": found.add, "prod": found.multiply, "amax": found.max, "amin": found.min}[reduce](src)


@lower("index_add", "index_copy")
def _index_add(call: Call, self: Value, dim: int, index: Value, source: Value, alpha: Any = 1) -> Value:
    if self.ndim == 0:
        raise call.refuse("without dimensions")
    dim = dimension(dim, self.ndim)
    index = _in_range(call, index.reshape(-1), self.shape[dim], "index out of range in self")
    places = self.at[(*(slice(None),) * dim, index)]
    source = convert(source, self.dtype)
    if call.name == "index_copy":
        return places.set(source)
    return places.add(source if alpha == 1 else source * convert(alpha, self.dtype))


@lower("index_fill.int_Scalar", "index_fill.int_Tensor")
def _index_fill(call: Call, self: Value, dim: int, index: Value, value: Any) -> Value:
    if self.ndim == 0:
        raise call.refuse("without dimensions")
    dim = dimension(dim, self.ndim)
    size = self.shape[dim]
    index = _in_range(call, index.reshape(-1), size, "index out of range in self", -size)
    return self.at[(*(slice(None),) * dim, index)].set(convert(value, self.dtype))


@lower("take")
def _take(call: Call, self: Value, index: Value) -> Value:
    size = self.size
    return self.reshape(-1)[_in_range(call, index, size, "out of range: tried to access index", -size)]


@lower("put")
def _put(call: Call, self: Value, index: Value, source: Value, accumulate: bool) -> Value:
    places = self.reshape(-1).at[_in_range(call, index.reshape(-1), self.size, _PUT, -self.size)]
    values = convert(source.reshape(-1), self.dtype)
    return (places.add(values) if accumulate else places.set(values)).reshape(self.shape)


_PUT = "put_(): index out of range"


@lower("index_reduce")
def _index_reduce(
    call: Call, self: Value, dim: int, index: Value, source: Value, reduce: str, include_self: bool
) -> Value:
    if self.ndim == 0 or reduce == "mean":
        raise call.refuse(f"with reduce={reduce!r} or without dimensions")
    dim = dimension(dim, self.ndim)
    index = _in_range(call, index.reshape(-1), self.shape[dim], "index out of range in self")
    places = (*(slice(None),) * dim, index)
    base = self if include_self else self.at[places].set(jnp.asarray(_start(self.dtype, reduce), self.dtype))
    found = base.at[places]
    return {"prod": found.multiply, "amax": found.max, "amin": found.min}[reduce](convert(source, self.dtype))


@lower("repeat_interleave.Tensor")
def _repeat_interleave(call: Call, repeats: Value, output_size: int | None) -> Value:
    if output_size is None:
        raise call.refuse("without output_size: how many elements it gives is not known before")
    call.check((repeats >= 0).all(), RuntimeError, "repeats can not be negative")
    call.check(repeats.sum() == output_size, RuntimeError, "allocated size does not match required size")
    return call.result(jnp.repeat(jnp.arange(repeats.size), repeats, total_repeat_length=output_size))
