"""Convolutions of one to three dimensions, and their gradients, which are those of the function below."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ..calls import Call, Value, convert, jax_dtype, opmath
from .table import lower

__all__: list[str] = []

_NAMES = "XYZ"


def _convolve(
    x: Value,
    weight: Value,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Value:
    rank = x.ndim - 2
    space = _NAMES[:rank]
    sizes = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    numbers = (f"NC{space}", f"OI{space}", f"NC{space}")
    if not transposed:
        return lax.conv_general_dilated(
            x, weight, stride, [(p, p) for p in padding], rhs_dilation=dilation, dimension_numbers=numbers,
            feature_group_count=groups, precision=lax.Precision.HIGHEST,
        )  # fmt: skip
    # (in, out / groups, ...) -> (out, in / groups, ...), turned around
    count, out = weight.shape[0], weight.shape[1]
    kernel = weight.reshape(groups, count // groups, out, *weight.shape[2:]).swapaxes(1, 2)
    kernel = jnp.flip(kernel.reshape(groups * out, count // groups, *weight.shape[2:]), range(2, rank + 2))
    pads = [(s - p, s - p + o) for s, p, o in zip(sizes, padding, output_padding, strict=True)]
    return lax.conv_general_dilated(
        x, kernel, (1,) * rank, pads, lhs_dilation=stride, rhs_dilation=dilation, dimension_numbers=numbers,
        feature_group_count=groups, precision=lax.Precision.HIGHEST,
    )  # fmt: skip


def _settings(call: Call, rank: int, settings: Any) -> list[Any]:
    stride, padding, dilation, transposed, output_padding, groups = settings
    spread = [tuple(v) * rank if len(v) == 1 else tuple(v) for v in (stride, padding, dilation, output_padding)]
    return [spread[0], spread[1], spread[2], transposed, spread[3], groups]


@lower("convolution")
def _convolution(call: Call, input: Value, weight: Value, bias: Value | None, *settings: Any) -> Value:
    wide = jax_dtype(opmath(call.dtype))
    if not jnp.issubdtype(wide, jnp.inexact):
        raise call.refuse("of integers")
    batched = input.ndim == weight.ndim
    x = convert(input if batched else input[None], wide)
    found = _convolve(x, convert(weight, wide), *_settings(call, weight.ndim - 2, settings))
    if bias is not None:
        found = found + convert(bias, wide).reshape(-1, *(1,) * (weight.ndim - 2))
    return call.result(found if batched else found[0])


@lower("convolution_backward")
def _convolution_backward(
    call: Call, grad: Value, input: Value, weight: Value, bias_sizes: Any, *rest: Any
) -> list[Value | None]:
    *settings, mask = rest
    wide = jax_dtype(opmath(call.fakes[0].dtype))
    g, x, w = (convert(value, wide) for value in (grad, input, weight))
    chosen = _settings(call, weight.ndim - 2, settings)
    _, pull = jax.vjp(lambda a, b: _convolve(a, b, *chosen), x, w)
    dx, dw = pull(g)
    db = g.sum((0, *range(2, g.ndim)))
    found: list[Value | None] = []
    for place, (value, wanted) in enumerate(zip((dx, dw, db), mask, strict=True)):
        found.append(call.result(value, place) if wanted else None)
    return found
