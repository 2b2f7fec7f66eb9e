"""All steps of one direction of a recurrent layer, which backends may carry out at once, and the parts of a step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..api import _functions as ops
from ..dispatch.lookup import kernels_of
from ..dispatch.registry import Resolver, find_overload, overrides_built_in
from ..dispatch.registry import register_composite as composite
from ..keys import AUTOGRAD, BACKEND_MASK, FLAGS
from ..shape_rules.recurrent import fit_together
from ..state import effective_keys

_lstm_steps, _recurrent_steps = find_overload("_lstm_steps"), find_overload("_recurrent_steps")


def carried_out_at_once(
    kind: str, from_inputs: Any, sizes: list[int], hx: Any, weight: Any, bias: Any, backwards: bool
) -> tuple[Any, Any] | None:
    """(outputs of all steps, the final state) from the backend's kernel; None where there is none that takes them.

    What does not fit together is left to the first step, for PyTorch's words. Whoever looks at operators (modes,
    transforms, libraries that intercept them) sees those of each step.
    """
    keeps, hidden = True, hx if kind != "lstm" else hx[0]
    if not fit_together(kind, from_inputs, sizes, hidden, weight, bias, hx[1:] if kind == "lstm" else ()):
        return None
    if kind == "lstm":
        overload, args = _lstm_steps, (from_inputs, sizes, *hx, weight, bias, backwards, keeps)
    else:
        overload, args = _recurrent_steps, (kind, from_inputs, sizes, hx, weight, bias, backwards, keeps)
    call_keys = Resolver.call_keys_of(overload, args)
    keys = effective_keys(call_keys)
    backend = keys & BACKEND_MASK
    if keys & ~(FLAGS | AUTOGRAD | BACKEND_MASK) or backend & (backend - 1):
        return None
    if any(overrides_built_in(slot) for slot in (backend, AUTOGRAD)):
        return None
    if not any(kernel.accepts.takes(overload.schema, args) for kernel in kernels_of(overload, backend)):
        return None
    made = overload.cache[call_keys](*args[:-1], bool(keys & AUTOGRAD))
    return made[0], (made[1], made[2]) if kind == "lstm" else made[1]


@composite("_lstm_gates", explicit=True)
def lstm_gates(gates: Any, cell: Any) -> tuple[Any, Any, Any]:
    keep_input, forget, new, output = gates.chunk(4, -1)
    keep_input, forget, new, output = ops.sigmoid(keep_input), ops.sigmoid(forget), ops.tanh(new), ops.sigmoid(output)
    next_cell = forget * cell + keep_input * new
    return output * ops.tanh(next_cell), next_cell, ops.cat([keep_input, forget, new, output], -1)


@composite("_lstm_gates_backward", explicit=True)
def lstm_gates_backward(
    grad_hidden: Any, grad_cell: Any, activated: Any, cell: Any, next_cell: Any, grad_activated: Any = None
) -> tuple[Any, Any]:
    keep_input, forget, new, output = activated.chunk(4, -1)
    shown = ops.tanh(next_cell)
    total = ops.zeros_like(cell) if grad_cell is None else grad_cell
    to_output = ops.zeros_like(cell)
    if grad_hidden is not None:
        total = total + grad_hidden * output * (1 - shown * shown)
        to_output = grad_hidden * shown
    to_activated = ops.cat([total * new, total * cell, total * keep_input, to_output], -1)
    if grad_activated is not None:
        to_activated = to_activated + grad_activated
    slopes = [keep_input - keep_input * keep_input, forget - forget * forget, 1 - new * new, output - output * output]
    return to_activated * ops.cat(slopes, -1), total * forget


# Operators of all steps, step by step


class _Sequences:
    """Which rows each step has, of (T, N, *) or of packed sequences, and which rows come before."""

    def __init__(self, shape: Any, batch_sizes: Any, batch: int, backwards: bool) -> None:
        self.sizes = list(batch_sizes) or [batch] * shape[0]
        self._backwards = backwards

    def order(self) -> Iterator[int]:
        """The steps as they are taken."""
        steps = range(len(self.sizes))
        return reversed(steps) if self._backwards else iter(steps)

    def unknown(self) -> list[Any]:
        """What there will be of each step."""
        return [None] * len(self.sizes)

    def rows(self, tensor: Any) -> Any:
        """The rows of each step."""
        return tensor.reshape(-1, tensor.shape[-1]).split(self.sizes)

    def before(self, step: int, states: Any, first: Any) -> Any:
        """The state before a step, of the states after each and the first."""
        size, previous = self.sizes[step], step + 1 if self._backwards else step - 1
        if not 0 <= previous < len(self.sizes):
            return first[:size]
        known = min(size, self.sizes[previous])
        return ops.cat([states[previous][:known], first[known:size]])


@composite("_lstm_steps", explicit=True)
def lstm_steps(
    inputs: Any, batch_sizes: Any, hidden: Any, cell: Any, weight: Any, bias: Any, backwards: bool, keeps: bool
) -> tuple[Any, Any, Any, Any, Any]:
    at = _Sequences(inputs.shape, batch_sizes, hidden.shape[0], backwards)
    steps, outputs, cells, kept = at.rows(inputs), at.unknown(), at.unknown(), at.unknown()
    first, first_cell = hidden, cell
    for t in at.order():
        gates = steps[t] + ops.linear(at.before(t, outputs, first), weight, bias)
        outputs[t], cells[t], kept[t] = lstm_gates(gates, at.before(t, cells, first_cell))
        hidden, cell = (ops.cat([s[t], old[at.sizes[t] :]]) for s, old in ((outputs, hidden), (cells, cell)))
    made = ops.cat(outputs).reshape(*inputs.shape[:-1], first.shape[1])
    if not keeps:
        return made, hidden, cell, inputs.new_empty((0, weight.shape[0])), inputs.new_empty((0, first.shape[1]))
    return made, hidden, cell, ops.cat(kept), ops.cat(cells)


@composite("_recurrent_steps", explicit=True)
def recurrent_steps(
    kind: str, inputs: Any, batch_sizes: Any, hidden: Any, weight: Any, bias: Any, backwards: bool, keeps: bool
) -> tuple[Any, Any, Any, Any]:
    at = _Sequences(inputs.shape, batch_sizes, hidden.shape[0], backwards)
    steps, outputs, kept = at.rows(inputs), at.unknown(), at.unknown()
    first, size = hidden, hidden.shape[1]
    for t in at.order():
        before = at.before(t, outputs, first)
        gates = ops.linear(before, weight, bias)
        if kind == "gru":
            reset, update = ops.sigmoid(steps[t][:, : 2 * size] + gates[:, : 2 * size]).chunk(2, -1)
            fresh = ops.tanh(steps[t][:, 2 * size :] + reset * gates[:, 2 * size :])
            outputs[t] = (before - fresh) * update + fresh
            kept[t] = ops.cat([reset, update, fresh, gates[:, 2 * size :]], -1)
        else:
            outputs[t] = (ops.tanh if kind == "rnn_tanh" else ops.relu)(steps[t] + gates)
        hidden = ops.cat([outputs[t], hidden[at.sizes[t] :]])
    activated = ops.cat(kept) if keeps and kind == "gru" else inputs.new_empty((0, 4 * size))
    made = ops.cat(outputs).reshape(*inputs.shape[:-1], size)
    return made, hidden, activated, made.clone() if keeps else inputs.new_empty((0, size))


@composite("_recurrent_steps_backward", explicit=True)
def recurrent_steps_backward(
    kind: str, grad_outputs: Any, grad_hidden: Any, grad_cell: Any, batch_sizes: Any, hidden: Any, cell: Any,
    weight: Any, outputs: Any, activated: Any, cells: Any, backwards: bool,
) -> tuple[Any, Any, Any, Any, Any]:  # fmt: skip
    at = _Sequences(outputs.shape, batch_sizes, hidden.shape[0], backwards)
    states = at.rows(outputs)
    arriving = None if grad_outputs is None else at.rows(grad_outputs)
    kept: Any = at.unknown() if kind.startswith("rnn") else at.rows(activated)
    of_hidden = ops.zeros_like(hidden) if grad_hidden is None else grad_hidden
    of_cell = hidden.new_zeros((0,)) if cell is None else ops.zeros_like(cell) if grad_cell is None else grad_cell
    of_inputs, of_states, previous = at.unknown(), at.unknown(), at.unknown()
    for t in reversed(list(at.order())):
        size = at.sizes[t]
        total = of_hidden[:size] if arriving is None else of_hidden[:size] + arriving[t]
        previous[t], through = at.before(t, states, hidden), 0
        if cell is not None:
            old = at.before(t, at.rows(cells), cell)
            of_inputs[t], of_old = lstm_gates_backward(total, of_cell[:size], kept[t], old, at.rows(cells)[t])
            of_cell, of_states[t] = ops.cat([of_old, of_cell[size:]]), of_inputs[t]
        elif kind == "gru":
            reset, update, fresh, from_state = kept[t].chunk(4, -1)
            of_fresh = total * (1 - update) * (1 - fresh * fresh)
            of_reset = of_fresh * from_state * (reset - reset * reset)
            of_update = total * (previous[t] - fresh) * (update - update * update)
            of_inputs[t] = ops.cat([of_reset, of_update, of_fresh], -1)
            of_states[t], through = ops.cat([of_reset, of_update, of_fresh * reset], -1), total * update
        else:
            slope = 1 - states[t] * states[t] if kind == "rnn_tanh" else None
            of_inputs[t] = of_states[t] = ops.where(states[t] <= 0, 0.0, total) if slope is None else total * slope
        of_hidden = ops.cat([of_states[t] @ weight + through, of_hidden[size:]])
    gates = ops.cat(of_states)
    made = ops.cat(of_inputs).reshape(*outputs.shape[:-1], weight.shape[0])
    return made, of_hidden, of_cell, gates.t() @ ops.cat(previous), gates.sum(0)
