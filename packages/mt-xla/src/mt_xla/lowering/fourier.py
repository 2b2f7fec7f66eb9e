"""Fourier transforms."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp

from ..calls import Call, Value
from .table import dimension, lower

__all__: list[str] = []


def _scaled(value: Value, normalization: int, count: int) -> Value:
    return value / (1.0, math.sqrt(count), float(count))[normalization]


def _count(shape: Any, dims: Any) -> int:
    return math.prod([shape[d] for d in dims])


@lower("_fft_c2c")
def _c2c(call: Call, self: Value, dim: Any, normalization: int, forward: bool) -> Value:
    dims = [dimension(d, self.ndim) for d in dim]
    count = _count(self.shape, dims)
    found = jnp.fft.fftn(self, axes=dims) if forward else jnp.fft.ifftn(self, axes=dims) * count
    return call.result(_scaled(found, normalization, count))


@lower("_fft_r2c")
def _r2c(call: Call, self: Value, dim: Any, normalization: int, onesided: bool) -> Value:
    dims = [dimension(d, self.ndim) for d in dim]
    found = jnp.fft.rfftn(self, axes=dims) if onesided else jnp.fft.fftn(self, axes=dims)
    return call.result(_scaled(found, normalization, _count(self.shape, dims)))


@lower("_fft_c2r")
def _c2r(call: Call, self: Value, dim: Any, normalization: int, last_dim_size: int) -> Value:
    dims = [dimension(d, self.ndim) for d in dim]
    count = _count(call.shape, dims)
    sizes = [call.shape[d] for d in dims]
    return call.result(_scaled(jnp.fft.irfftn(self, s=sizes, axes=dims) * count, normalization, count))
