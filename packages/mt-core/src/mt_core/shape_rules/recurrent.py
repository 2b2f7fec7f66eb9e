"""Shape rules of recurrent networks."""

from __future__ import annotations

from typing import Any

from ..dispatch.registry import register_shape_rule as shape_rule
from ..spec import Spec


@shape_rule("_lstm_gates")
def lstm_gates(gates: Any, cell: Any) -> tuple[Spec, Spec, Spec]:
    """gates (*, 4 H), cell (*, H) -> hidden (*, H), next cell (*, H), activated gates (*, 4 H)."""
    shape, d = cell._array.shape, cell._dtype
    if gates._dtype is not d or gates._array.shape != (*shape[:-1], 4 * shape[-1]):
        raise RuntimeError(
            f"_lstm_gates: gates {list(gates.shape)} of {gates._dtype!r} do not fit a cell {list(shape)} of {d!r}"
        )
    return Spec(shape, d), Spec(shape, d), Spec(gates._array.shape, d)


@shape_rule("_lstm_gates_backward")
def lstm_gates_backward(
    grad_hidden: Any, grad_cell: Any, activated: Any, cell: Any, next_cell: Any
) -> tuple[Spec, Spec]:
    """grad_hidden, grad_cell, cell, next_cell (*, H), activated (*, 4 H) -> gradients (*, 4 H) and (*, H)."""
    return Spec(activated._array.shape, activated._dtype), Spec(cell._array.shape, cell._dtype)
