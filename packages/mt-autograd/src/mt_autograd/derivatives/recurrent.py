"""Derivatives of recurrent networks."""

from __future__ import annotations

from typing import Any

from mt_core.autograd_state import is_grad_enabled
from mt_core.decomp.recurrent import lstm_gates_backward
from mt_core.dispatch.registry import find_overload

from ..rules import joint_derivative
from ._parts import derivative_of_parts


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
