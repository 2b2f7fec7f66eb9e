"""Softmax for backends that have kernels for ``exp``, ``sum``, ``amax`` and arithmetic alone."""

from __future__ import annotations

from typing import Any

from ..api import _functions as ops
from ..dispatch.registry import register_composite as composite
from ..dtypes import dtype


def _shifted(self: Any, dim: int) -> Any:
    """self (*) less its maximum along `dim`, which keeps exp from overflowing; nothing has no maximum."""
    return ops.sub(self, ops.amax(self, (dim,), True)) if self._array.size else self


@composite("_softmax", explicit=True)
def softmax(self: Any, dim: int, half_to_float: bool) -> Any:
    """self (*) -> (*), of sum 1 along `dim`."""
    raised = ops.exp(_shifted(self, dim))
    return ops.div(raised, ops.sum(raised, (dim,), True))


@composite("_log_softmax", explicit=True)
def log_softmax(self: Any, dim: int, half_to_float: bool) -> Any:
    """self (*) -> (*)."""
    shifted = _shifted(self, dim)
    return ops.sub(shifted, ops.log(ops.sum(ops.exp(shifted), (dim,), True)))


@composite("_softmax_backward_data", explicit=True)
def softmax_backward(grad_output: Any, output: Any, dim: int, input_dtype: dtype) -> Any:
    """grad_output (*), output (*) -> (*)."""
    along = ops.sum(ops.mul(grad_output, output), (dim,), True)
    return ops.mul(ops.sub(grad_output, along), output)


@composite("_log_softmax_backward_data", explicit=True)
def log_softmax_backward(grad_output: Any, output: Any, dim: int, input_dtype: dtype) -> Any:
    """grad_output (*), output (*) -> (*)."""
    return ops.sub(grad_output, ops.mul(ops.exp(output), ops.sum(grad_output, (dim,), True)))
