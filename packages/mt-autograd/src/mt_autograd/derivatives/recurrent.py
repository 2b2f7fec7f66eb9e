"""Derivatives of recurrent networks."""

from __future__ import annotations

from typing import Any

from mt_core.autograd_state import is_grad_enabled
from mt_core.decomp.recurrent_steps import lstm_gates_backward
from mt_core.dispatch.registry import find_overload

from ..rules import joint_derivative
from ._parts import derivative_of_parts, parts_formula


def _lstm_gates(grads: Any, mask: Any, cell: Any, result1: Any, result2: Any) -> tuple[Any, Any]:
    """Fused where the gradient itself is not recorded; else in operators that can be differentiated again."""
    hidden, next_cell, activated = grads
    if hidden is None and next_cell is None and activated is None:
        return None, None
    if not is_grad_enabled() and activated is None:
        return find_overload("_lstm_gates_backward").call(hidden, next_cell, result2, cell, result1)  # type: ignore[no-any-return]
    return lstm_gates_backward(hidden, next_cell, result2, cell, result1, activated)


joint_derivative("_lstm_gates", ("gates", "cell"), _lstm_gates)
derivative_of_parts("_pack_padded_sequence", "input")


# All steps at once. Where the gradient itself is recorded, or nothing was kept for it, the steps are taken again.

_LSTM_SOURCES = ("inputs", "hidden", "cell", "weight", "bias")
_SOURCES = ("inputs", "hidden", "weight", "bias")
_lstm_parts = parts_formula("_lstm_steps", *_LSTM_SOURCES)
_parts = parts_formula("_recurrent_steps", *_SOURCES)


def _lstm_steps(
    grads: Any, mask: Any, inputs: Any, batch_sizes: Any, hidden: Any, cell: Any, weight: Any, bias: Any,
    backwards: Any, keeps: Any, result0: Any, result3: Any, result4: Any,
) -> tuple[Any, ...]:  # fmt: skip
    if is_grad_enabled() or not keeps:
        return _lstm_parts(grads, mask, inputs, batch_sizes, hidden, cell, weight, bias, backwards, keeps)
    found = find_overload("_recurrent_steps_backward").call(
        "lstm", *grads[:3], batch_sizes, hidden, cell, weight, result0, result3, result4, backwards
    )
    return tuple(found) if mask[4] else (*found[:4], None)


def _recurrent_steps(
    grads: Any, mask: Any, kind: Any, inputs: Any, batch_sizes: Any, hidden: Any, weight: Any, bias: Any,
    backwards: Any, keeps: Any, result2: Any, result3: Any,
) -> tuple[Any, ...]:  # fmt: skip
    if is_grad_enabled() or not keeps:
        return _parts(grads, mask, kind, inputs, batch_sizes, hidden, weight, bias, backwards, keeps)
    of_inputs, of_hidden, _, of_weight, of_bias = find_overload("_recurrent_steps_backward").call(
        kind, *grads[:2], None, batch_sizes, hidden, None, weight, result3, result2, None, backwards
    )
    return of_inputs, of_hidden, of_weight, of_bias if mask[3] else None


# The nodes are named as PyTorch's are: of its kernel for LSTMs, and of what puts the steps of others together.
joint_derivative(
    "_lstm_steps", _LSTM_SOURCES, _lstm_steps, node="MkldnnRnnLayerBackward0", forward="parts",
    differentiable_outputs=(True, True, True, False, False),
)  # fmt: skip
joint_derivative(
    "_recurrent_steps", _SOURCES, _recurrent_steps, node="StackBackward0", forward="parts",
    differentiable_outputs=(True, True, False, False),
)  # fmt: skip
