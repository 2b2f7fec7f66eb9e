"""Shape rules of recurrent networks."""

from __future__ import annotations

import math
from collections.abc import Sequence
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


#: How many gates a kind of network has; activated gates of all but plain networks take 4 H.
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def fit_together(
    kind: str, inputs: Any, batch_sizes: Any, hidden: Any, weight: Any, bias: Any, others: Sequence[Any] = ()
) -> bool:
    """Whether sizes are those of the steps of a direction, of which there is one at least."""
    shape, given = hidden._array.shape, inputs._array.shape
    if len(shape) != 2 or 0 in shape or 0 in given:
        return False
    width = GATES[kind] * shape[1]
    if batch_sizes:
        falls = all(0 < size <= before for size, before in zip(batch_sizes, [shape[0], *batch_sizes]))
        if not falls or batch_sizes[0] != shape[0] or given != (sum(batch_sizes), width):
            return False
    elif given != (*given[:1], shape[0], width):
        return False
    if weight._array.shape != (width, shape[1]) or bias is not None and bias._array.shape != (width,):
        return False
    return all(t._array.shape == shape for t in others)


def _check_steps(kind: str, inputs: Any, batch_sizes: Any, hidden: Any, weight: Any, bias: Any, others: Any) -> None:
    """Refuse sizes and dtypes that do not fit."""
    if kind not in GATES:
        raise RuntimeError(f"_recurrent_steps: no network is called {kind!r}")
    tensors = [t for t in (inputs, hidden, weight, bias, *others) if t is not None]
    if len({t._dtype for t in tensors}) > 1:
        raise RuntimeError("_recurrent_steps: all tensors must have one dtype")
    if not fit_together(kind, inputs, batch_sizes, hidden, weight, bias, others):
        raise RuntimeError(
            f"_recurrent_steps: inputs {list(inputs.shape)}, batch sizes {list(batch_sizes)} and a weight "
            f"{list(weight.shape)} do not fit states {list(hidden.shape)} of {kind}"
        )


@shape_rule("_lstm_steps")
def lstm_steps(
    inputs: Any, batch_sizes: Any, hidden: Any, cell: Any, weight: Any, bias: Any, backwards: bool, keeps: bool
) -> tuple[Spec, ...]:
    """inputs (.., 4 H), states (N, H) -> outputs (.., H), both states, (rows, 4 H), (rows, H)."""
    _check_steps("lstm", inputs, batch_sizes, hidden, weight, bias, (cell,))
    d, shape, lead = hidden._dtype, hidden._array.shape, inputs._array.shape[:-1]
    rows = math.prod(lead) if keeps else 0
    kept = Spec((rows, 4 * shape[1]), d), Spec((rows, shape[1]), d)
    return Spec((*lead, shape[1]), d), Spec(shape, d), Spec(shape, d), *kept


@shape_rule("_recurrent_steps")
def recurrent_steps(
    kind: str, inputs: Any, batch_sizes: Any, hidden: Any, weight: Any, bias: Any, backwards: bool, keeps: bool
) -> tuple[Spec, ...]:
    """inputs (.., G H), states (N, H) -> outputs (.., H), states, (rows, 4 H) of a GRU, (.., H)."""
    _check_steps(kind, inputs, batch_sizes, hidden, weight, bias, ())
    d, shape, lead = hidden._dtype, hidden._array.shape, inputs._array.shape[:-1]
    rows = math.prod(lead) if keeps else 0
    activated = Spec((rows if kind == "gru" else 0, 4 * shape[1]), d)
    states = (*lead, shape[1]) if keeps else (0, shape[1])
    return Spec((*lead, shape[1]), d), Spec(shape, d), activated, Spec(states, d)


@shape_rule("_recurrent_steps_backward")
def recurrent_steps_backward(
    kind: str, grad_outputs: Any, grad_hidden: Any, grad_cell: Any, batch_sizes: Any, hidden: Any, cell: Any,
    weight: Any, outputs: Any, activated: Any, cells: Any, backwards: bool,
) -> tuple[Spec, ...]:  # fmt: skip
    """-> gradients of inputs (.., G H), states (N, H), cells (N, H) or (0,), weight (G H, H), bias (G H,)."""
    d, shape = hidden._dtype, hidden._array.shape
    width = GATES[kind] * shape[1]
    of_cell = Spec(shape if kind == "lstm" else (0,), d)
    of_inputs = Spec((*outputs._array.shape[:-1], width), d)
    return of_inputs, Spec(shape, d), of_cell, Spec(weight._array.shape, d), Spec((width,), d)
