"""layer_norm and group_norm, forward and backward: one launch, and two or three for their gradients; rms_norm."""

from __future__ import annotations

import math
from typing import Any

import numpy

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import float32, float64

from ..compiled import norm
from ..compiled.elementwise import pointwise
from ..compiled.on_cupy import compiled, machine, row_major

#: Statistics of halves are float32 in the kernels; PyTorch has them in the array's dtype on the CPU, which the ordinary
#: kernels follow.
_SINGLE = frozenset((float32, float64))


def _some(input: Any, *rest: Any) -> bool:
    return input._array.size > 0


@compiled("native_layer_norm", accepts=Accepts(dtypes=_SINGLE, also=_some))
def native_layer_norm(
    input: Any, normalized_shape: tuple[int, ...], weight: Any, bias: Any, eps: float
) -> tuple[Any, Any, Any]:
    """input (*L, *S), weight (*S), bias (*S) -> result (*L, *S), mean and 1/deviation (*L, 1, ..., 1)."""
    columns, lead = math.prod(normalized_shape), input.ndim - len(normalized_shape)
    statistics = input.shape[:lead] + (1,) * len(normalized_shape)
    out, mean, scale = norm.layer_norm(machine(), row_major(input), columns, row_major(weight), row_major(bias), eps)
    return out, mean.reshape(statistics), scale.reshape(statistics)


@compiled(
    "native_layer_norm_backward",
    accepts=Accepts(dtypes=_SINGLE, also=lambda grad_out, input, *rest: input._array.size > 0),
)
def native_layer_norm_backward(
    grad_out: Any, input: Any, normalized_shape: tuple[int, ...], mean: Any, rstd: Any, weight: Any, bias: Any,
    output_mask: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """grad_out and input (*L, *S), mean and rstd (*L, 1, ..., 1) -> gradients of input, weight (*S), bias (*S)."""
    columns, wanted = math.prod(normalized_shape), tuple(output_mask)
    return norm.layer_norm_backward(
        machine(), row_major(grad_out), row_major(input), columns, row_major(mean), row_major(rstd), row_major(weight),
        bias, wanted, shape=tuple(normalized_shape),
    )  # fmt: skip


def _last(input: Any, normalized_shape: tuple[int, ...], weight: Any, eps: Any) -> bool:
    """Whether the rows are what the shape says, with elements, and the weight has the input's dtype."""
    return (
        input._array.size > 0
        and input._array.shape[-len(normalized_shape) :] == tuple(normalized_shape)
        and (weight is None or weight._dtype is input._dtype)
    )


_ROOTS = Accepts(dtypes=_SINGLE, also=_last)


@compiled("_fused_rms_norm", accepts=_ROOTS, recorded=False)
def fused_rms_norm(input: Any, normalized_shape: tuple[int, ...], weight: Any, eps: float | None) -> tuple[Any, Any]:
    """input (*L, *S), weight (*S) -> result (*L, *S), 1 / root mean square (*L, 1, ..., 1)."""
    columns, lead = math.prod(normalized_shape), input.ndim - len(normalized_shape)
    least = float(numpy.finfo(input.dtype).eps) if eps is None else eps
    array, own = row_major(input), row_major(weight)
    out, _, scale = norm.layer_norm(machine(), array, columns, own, None, least, rms=True)
    return out, scale.reshape(input.shape[:lead] + (1,) * len(normalized_shape))


@compiled("rms_norm", accepts=_ROOTS, recorded=False)
def rms_norm(input: Any, normalized_shape: tuple[int, ...], weight: Any, eps: float | None) -> Any:
    """input (*L, *S), weight (*S) -> (*L, *S)."""
    return fused_rms_norm(input, normalized_shape, weight, eps)[0]


@compiled("native_group_norm", accepts=Accepts(dtypes=_SINGLE, also=_some))
def native_group_norm(
    input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Any, Any, Any]:
    """input (N, C, *), weight (C,), bias (C,) -> result (N, C, *), mean (N, G), 1/deviation (N, G)."""
    array = row_major(input)
    out, mean, scale = norm.group_norm(machine(), array, group, row_major(weight), row_major(bias), eps)
    return out, mean.reshape(N, group), scale.reshape(N, group)


@compiled(
    "native_group_norm_backward",
    accepts=Accepts(dtypes=_SINGLE, also=lambda grad_out, input, *rest: input._array.size > 0),
)
def native_group_norm_backward(
    grad_out: Any, input: Any, mean: Any, rstd: Any, weight: Any, N: int, C: int, HxW: int, group: int, output_mask: Any
) -> tuple[Any, Any, Any]:
    """grad_out and input (N, C, *), mean and rstd (N, G), weight (C,) -> gradients of input, weight (C,), bias (C,)."""
    return norm.group_norm_backward(
        machine(), row_major(grad_out), row_major(input), group, row_major(mean), row_major(rstd), row_major(weight),
        tuple(output_mask),
    )  # fmt: skip


def _of_one_type(input: Any, *parameters: Any) -> bool:
    return input._array.size > 0 and all(p is None or p._dtype is input._dtype for p in parameters)


@compiled(
    "_batch_norm",
    accepts=Accepts(
        dtypes={"input": _SINGLE}, also=lambda input, w, b, mean, var, eps: _of_one_type(input, w, b, mean, var)
    ),
)
def batch_norm(input: Any, weight: Any, bias: Any, mean: Any, variance: Any, eps: float) -> tuple[Any, Any, Any, Any]:
    """input (N, C, *), all others (C,) -> result (N, C, *), mean, 1/deviation (or (0,) where given), variance (C,)."""
    array, own = row_major(input), (row_major(weight), row_major(bias))
    if mean is None:
        found = machine().empty((input.shape[1],), input.dtype)
        out, mean, scale = norm.batch_norm(machine(), array, *own, None, None, True, 0.0, eps, variance=found)
        return out, mean, found, scale
    given = row_major(mean), row_major(variance)
    out, nothing, none = norm.batch_norm(machine(), array, *own, *given, False, 0.0, eps)
    return out, nothing, none, pointwise(machine(), "rsqrt_of_sum", given[1], numbers=(eps,))


@compiled(
    "_batch_norm_backward",
    accepts=Accepts(
        dtypes={"input": _SINGLE},
        also=lambda grad, input, w, mean, rstd, *rest: _of_one_type(input, grad, w, mean, rstd) and rest[0],
    ),
)
def batch_norm_backward(
    grad_out: Any, input: Any, weight: Any, mean: Any, rstd: Any, training: bool, output_mask: Any
) -> tuple[Any, Any, Any]:
    """grad_out and input (N, C, *), all others (C,) -> gradients of input, weight (C,), bias (C,)."""
    return norm.batch_norm_backward(
        machine(), row_major(grad_out), row_major(input), row_major(weight), row_major(mean), row_major(rstd), True,
        0.0, tuple(output_mask),
    )  # fmt: skip
