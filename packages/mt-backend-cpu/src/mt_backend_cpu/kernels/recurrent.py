"""Recurrent networks over NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..registry import kernel
from .activation import sigmoid

Array = np.ndarray


def _four(gates: Array) -> tuple[Array, Array, Array, Array]:
    """Views of the parts of (*, 4 H): keep input, forget, new, output."""
    size = gates.shape[-1] // 4
    return gates[..., :size], gates[..., size : 2 * size], gates[..., 2 * size : 3 * size], gates[..., 3 * size :]


@kernel("_lstm_gates")
def lstm_gates(gates: Array, cell: Array) -> tuple[Array, Array, Array]:
    """gates (*, 4 H), cell (*, H) -> hidden (*, H), next cell (*, H), activated gates (*, 4 H)."""
    activated = sigmoid(gates)
    keep_input, forget, new, output = _four(activated)
    np.tanh(_four(gates)[2], new)
    next_cell = forget * cell
    next_cell += keep_input * new
    hidden = np.tanh(next_cell)
    return np.multiply(output, hidden, hidden), next_cell, activated


@kernel("_lstm_gates_backward")
def lstm_gates_backward(
    grad_hidden: Any, grad_cell: Any, activated: Array, cell: Array, next_cell: Array
) -> tuple[Array, Array]:
    """grad_hidden, grad_cell, cell, next_cell (*, H), activated (*, 4 H) -> gradients (*, 4 H) and (*, H)."""
    keep_input, forget, new, output = _four(activated)
    # The derivative of the sigmoid at s = sigmoid(x) is s - s^2, that of tanh at t = tanh(x) is 1 - t^2.
    grad_gates = activated - activated * activated
    to_input, to_forget, to_new, to_output = _four(grad_gates)
    np.subtract(1, new * new, to_new)
    total = grad_cell
    if grad_hidden is None:
        to_output[...] = 0
    else:
        shown = np.tanh(next_cell)
        to_output *= grad_hidden * shown
        through_hidden = grad_hidden * output
        through_hidden *= 1 - shown * shown
        total = through_hidden if total is None else total + through_hidden
    to_input *= total * new
    to_forget *= total * cell
    to_new *= total * keep_input
    return grad_gates, total * forget
