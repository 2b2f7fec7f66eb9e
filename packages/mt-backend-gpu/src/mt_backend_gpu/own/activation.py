"""Activations, softmax and their gradients in one launch each."""

from __future__ import annotations

from typing import Any

from mt_core.dispatch.kernel import Accepts

from ..compiled import softmax as rows
from ..compiled.elementwise import pointwise
from ..compiled.on_cupy import FLOATING, compiled, machine, row_major

_FLOATING = Accepts(dtypes=FLOATING)


def plain(name: str, functor: str) -> None:
    """Enter an activation without options."""

    @compiled(name, accepts=_FLOATING)
    def run(self: Any) -> Any:
        return pointwise(machine(), functor, self)


def gradient(name: str, functor: str) -> None:
    """Enter the gradient of an activation without options: of the output's gradient and an array."""

    @compiled(name, accepts=_FLOATING)
    def run(grad: Any, array: Any) -> Any:
        return pointwise(machine(), functor, grad, array)


for _name in ("sigmoid", "silu", "relu", "mish", "hardsigmoid", "hardswish"):
    plain(_name, _name)
for _name in ("sigmoid_backward", "tanh_backward", "silu_backward", "hardswish_backward", "hardsigmoid_backward"):
    gradient(_name, _name)


@compiled("gelu", accepts=_FLOATING)
def gelu(self: Any, approximate: str) -> Any:
    """self (*) -> (*)."""
    return pointwise(machine(), "gelu_tanh" if approximate == "tanh" else "gelu", self)


@compiled("gelu_backward", accepts=_FLOATING)
def gelu_backward(grad: Any, self: Any, approximate: str) -> Any:
    """grad (*), self (*), broadcast -> the common shape."""
    return pointwise(machine(), "gelu_tanh_backward" if approximate == "tanh" else "gelu_backward", grad, self)


@compiled("threshold_backward", accepts=_FLOATING)
def threshold_backward(grad_output: Any, self: Any, threshold: Any) -> Any:
    """grad_output (*), self (*), broadcast -> the common shape."""
    return pointwise(machine(), "threshold_backward", grad_output, self, numbers=(threshold,))


#: With `half_to_float` the result is of another dtype than the array; that is left to the ordinary kernels.
_SOFTMAX = Accepts(dtypes=FLOATING, also=lambda self, dim, half_to_float: not half_to_float)
_SOFTMAX_BACKWARD = Accepts(dtypes=FLOATING, also=lambda grad, output, dim, dtype: dtype is output._dtype)


@compiled("_softmax", accepts=_SOFTMAX)
def softmax(self: Any, dim: int, half_to_float: bool) -> Any:
    """self (*) -> (*), normalized along `dim`."""
    return rows.softmax(machine(), row_major(self), dim, log=False)


@compiled("_log_softmax", accepts=_SOFTMAX)
def log_softmax(self: Any, dim: int, half_to_float: bool) -> Any:
    """self (*) -> (*), normalized along `dim`."""
    return rows.softmax(machine(), row_major(self), dim, log=True)


@compiled("_softmax_backward_data", accepts=_SOFTMAX_BACKWARD)
def softmax_backward(grad: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    """grad (*), output (*) -> (*)."""
    return rows.softmax_backward(machine(), row_major(grad), row_major(output), dim, log=False)


@compiled("_log_softmax_backward_data", accepts=_SOFTMAX_BACKWARD)
def log_softmax_backward(grad: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    """grad (*), output (*) -> (*)."""
    return rows.softmax_backward(machine(), row_major(grad), row_major(output), dim, log=True)
