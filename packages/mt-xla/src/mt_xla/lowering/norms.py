"""Normalization that writes running statistics; other norms are written in other operators."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from ..calls import Call, Value, convert, jax_dtype, opmath
from .table import lower

__all__: list[str] = []


@lower("native_batch_norm")
def _batch_norm(
    call: Call, input: Value, weight: Value | None, bias: Value | None, running_mean: Value | None,
    running_var: Value | None, training: bool, momentum: float, eps: float,
) -> list[Value]:  # fmt: skip
    x = convert(input, jax_dtype(opmath(call.fakes[0].dtype)))
    rest = (0, *range(2, x.ndim))
    along = (1, -1, *(1,) * (x.ndim - 2))
    if training:
        mean = x.mean(rest)
        variance = jnp.square(x - mean.reshape(along)).mean(rest)
        count = x.size // x.shape[1]
        unbiased = variance * (count / max(count - 1, 1))
        for place, old, new in ((3, running_mean, mean), (4, running_var, unbiased)):
            if old is not None:
                wide = convert(old, jax_dtype(opmath(call.fakes[place].dtype)))
                call.write(place, convert((1 - momentum) * wide + momentum * new, old.dtype))
    else:
        mean, variance = (convert(value, x.dtype) for value in (running_mean, running_var))
    scale = lax.rsqrt(variance + jnp.asarray(eps, x.dtype))
    found = (x - mean.reshape(along)) * scale.reshape(along)
    if weight is not None:
        found = found * convert(weight, x.dtype).reshape(along)
    if bias is not None:
        found = found + convert(bias, x.dtype).reshape(along)
    saved = (mean, scale) if training else (jnp.zeros(0, x.dtype),) * 2
    return [call.result(found, 0), call.result(saved[0], 1), call.result(saved[1], 2)]
