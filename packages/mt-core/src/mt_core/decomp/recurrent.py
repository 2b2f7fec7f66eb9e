"""Recurrent networks written in other operators, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, Protocol

from .. import dtypes
from ..api import _functions as ops
from ..construct import tensor
from ..dispatch.registry import register_composite as composite
from ..dtypes import int64, scalar_type_name
from .recurrent_steps import carried_out_at_once, lstm_gates

#: (contribution of the input, state, weight of the state, its bias) -> the next state.
Step = Callable[..., Any]


def _rnn_tanh(from_input: Any, hx: Any, w_hh: Any, b_hh: Any) -> Any:
    return ops.tanh(from_input + ops.linear(hx, w_hh, b_hh))


def _rnn_relu(from_input: Any, hx: Any, w_hh: Any, b_hh: Any) -> Any:
    return ops.relu(from_input + ops.linear(hx, w_hh, b_hh))


def _gru(from_input: Any, hx: Any, w_hh: Any, b_hh: Any) -> Any:
    update, new = _gru_gates(from_input, hx, w_hh, b_hh)
    return (hx - new) * update + new


def _gru_in_place(from_input: Any, hx: Any, w_hh: Any, b_hh: Any) -> Any:
    """`_gru`, whose result has been written to twice, as PyTorch's cells count."""
    update, new = _gru_gates(from_input, hx, w_hh, b_hh)
    return (hx - new).mul_(update).add_(new)


def _gru_gates(from_input: Any, hx: Any, w_hh: Any, b_hh: Any) -> tuple[Any, Any]:
    """(how much of the state stays, what takes the place of the rest)"""
    input_reset, input_update, input_new = from_input.chunk(3, -1)
    hidden_reset, hidden_update, hidden_new = ops.linear(hx, w_hh, b_hh).chunk(3, -1)
    reset = ops.sigmoid(input_reset + hidden_reset)
    update = ops.sigmoid(input_update + hidden_update)
    return update, ops.tanh(input_new + reset * hidden_new)


def _lstm(from_input: Any, hx: tuple[Any, Any], w_hh: Any, b_hh: Any, w_hr: Any = None) -> tuple[Any, Any]:
    hidden, cell = hx
    gates = from_input + ops.linear(hidden, w_hh, b_hh)
    d = gates._dtype
    # Half types are rounded after each operation, as in PyTorch.
    fused = d.native_real_float and cell._dtype is d
    hidden, cell, _ = ops._lstm_gates(gates, cell) if fused else lstm_gates(gates, cell)
    return (hidden if w_hr is None else ops.linear(hidden, w_hr)), cell


def _lstm_in_place(from_input: Any, hx: tuple[Any, Any], w_hh: Any, b_hh: Any) -> tuple[Any, Any]:
    """`_lstm` in parts, as PyTorch's cells are: each result has the node of its own last operator."""
    hidden, cell = hx
    keep_input, forget, new, output = (ops.linear(hidden, w_hh, b_hh) + from_input).chunk(4, -1)
    next_cell = (ops.sigmoid(forget) * cell).add_(ops.sigmoid(keep_input) * ops.tanh(new))
    return ops.sigmoid(output) * ops.tanh(next_cell), next_cell


#: What backends call the networks whose steps they may carry out at once.
_KINDS = {_rnn_tanh: "rnn_tanh", _rnn_relu: "rnn_relu", _gru: "gru", _lstm: "lstm"}


class _Steps(Protocol):
    """What takes one step of a network."""

    def step(self, from_input: Any, hx: Any) -> Any: ...


class _Direction:
    """The weights of one direction of one layer."""

    def __init__(self, step: Step, weights: list[Any], has_biases: bool, projected: bool) -> None:
        self._step = step
        self._w_ih, w_hh, *rest = weights
        self._b_ih: Any
        self._b_ih, b_hh = rest[:2] if has_biases else (None, None)
        self._state_weights = (w_hh, b_hh, rest[-1]) if projected else (w_hh, b_hh)

    def from_inputs(self, inputs: Any) -> Any:
        """What the inputs of all steps contribute, at once."""
        return ops.linear(inputs, self._w_ih, self._b_ih)

    def step(self, from_input: Any, hx: Any) -> Any:
        return self._step(from_input, hx, *self._state_weights)

    def all_steps(self, from_inputs: Any, sizes: list[int], hx: Any, backwards: bool) -> tuple[Any, Any] | None:
        """(outputs of all steps, the final state) from a backend's kernel; None where it has none that takes them."""
        if len(self._state_weights) > 2:
            return None
        return carried_out_at_once(_KINDS[self._step], from_inputs, sizes, hx, *self._state_weights, backwards)


def _each(function: Callable[..., Any], *states: Any) -> Any:
    """A function of states, each a tensor or a pair of them."""
    if isinstance(states[0], tuple):
        return tuple(function(*parts) for parts in zip(*states))
    return function(*states)


def _hidden(state: Any) -> Any:
    return state[0] if isinstance(state, tuple) else state


class _Padded:
    """Runs a direction over (T, N, I)."""

    def run(self, direction: _Direction, inputs: Any, hx: Any, backwards: bool) -> tuple[Any, Any]:
        """(outputs of all steps, the final state)"""
        from_inputs = direction.from_inputs(inputs)
        at_once = direction.all_steps(from_inputs, [], hx, backwards)
        return at_once or self.steps(direction, from_inputs, hx, backwards)

    @staticmethod
    def steps(direction: _Steps, from_inputs: Any, hx: Any, backwards: bool) -> tuple[Any, Any]:
        steps = list(from_inputs.unbind(0))
        outputs = []
        for from_input in reversed(steps) if backwards else steps:
            hx = direction.step(from_input, hx)
            outputs.append(_hidden(hx))
        return ops.stack(outputs[::-1] if backwards else outputs), hx


def _counts(batch_sizes: Any) -> list[int]:
    """How many sequences there are at each step, told by a tensor of int64."""
    if batch_sizes.dtype is not int64:
        raise RuntimeError(f"expected scalar type Long but found {scalar_type_name(batch_sizes.dtype)}")
    return batch_sizes.tolist()


class _Packed:
    """Runs a direction over packed sequences: (sum of lengths, I), `sizes[t]` of them at step t."""

    def __init__(self, sizes: list[int]) -> None:
        self._sizes = sizes

    def run(self, direction: _Direction, inputs: Any, hx: Any, backwards: bool) -> tuple[Any, Any]:
        """(outputs of all steps, the final state)"""
        from_inputs = direction.from_inputs(inputs)
        at_once = direction.all_steps(from_inputs, self._sizes, hx, backwards)
        return at_once or self.steps(direction, from_inputs, hx, backwards)

    def steps(self, direction: _Steps, from_inputs: Any, hx: Any, backwards: bool) -> tuple[Any, Any]:
        steps = from_inputs.split(self._sizes)
        return self._backwards(direction, steps, hx) if backwards else self._forwards(direction, steps, hx)

    def _forwards(self, direction: _Steps, steps: Any, hx: Any) -> tuple[Any, Any]:
        """The batch shrinks as sequences end; their states are put aside."""
        outputs, ended = [], []
        for from_input in steps:
            size = from_input.shape[0]
            if size < _hidden(hx).shape[0]:
                ended.append(_each(lambda state: state[size:], hx))  # noqa: B023 - called at once
                hx = _each(lambda state: state[:size], hx)  # noqa: B023
            hx = direction.step(from_input, hx)
            outputs.append(_hidden(hx))
        final = _each(lambda *states: ops.cat(states), hx, *reversed(ended))
        return ops.cat(outputs), final

    def _backwards(self, direction: _Steps, steps: Any, initial: Any) -> tuple[Any, Any]:
        """The batch grows as longer sequences come to their ends."""
        outputs: list[Any] = []
        hx = _each(lambda state: state[:0], initial)
        for from_input in reversed(steps):
            size, present = from_input.shape[0], _hidden(hx).shape[0]
            if size > present:
                hx = _each(lambda state, start: ops.cat([state, start[present:size]]), hx, initial)  # noqa: B023
            hx = direction.step(from_input, hx)
            outputs.append(_hidden(hx))
        return ops.cat(outputs[::-1]), hx


def _layers(
    step: Step, params: list[Any], has_biases: bool, num_layers: int, bidirectional: bool, projected: bool = False
) -> Iterator[list[_Direction]]:
    """The directions of each layer."""
    directions = 2 if bidirectional else 1
    count = (4 if has_biases else 2) + projected
    if len(params) != count * directions * num_layers:
        raise RuntimeError("got an incorrect number of RNN parameters")
    groups = [params[i : i + count] for i in range(0, len(params), count)]
    for layer in range(num_layers):
        chosen = groups[layer * directions : (layer + 1) * directions]
        yield [_Direction(step, weights, has_biases, projected) for weights in chosen]


def _run_layers(
    runner: Any,
    layers: Iterator[list[_Direction]],
    num_layers: int,
    inputs: Any,
    states: list[Any],
    dropout: float,
    train: bool,
) -> tuple[Any, list[Any]]:
    """(outputs of the last layer, the final state of each direction of each layer)"""
    remaining = iter(states)
    final = []
    for number, layer in enumerate(layers, 1):
        outputs = []
        for position, direction in enumerate(layer):
            output, state = runner.run(direction, inputs, next(remaining), backwards=position == 1)
            outputs.append(output)
            final.append(state)
        inputs = ops.cat(outputs, -1) if len(outputs) > 1 else outputs[0]
        if dropout != 0 and train and number < num_layers:
            inputs = ops.dropout(inputs, dropout, True)
    return inputs, final


def _register_network(name: str, step: Step) -> None:
    """A network whose state is one tensor."""

    @composite(f"{name}.input")
    def padded(
        input: Any,
        hx: Any,
        params: Any,
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[Any, Any]:
        layers = _layers(step, list(params), has_biases, num_layers, bidirectional)
        inputs = input.transpose(0, 1) if batch_first else input
        outputs, final = _run_layers(_Padded(), layers, num_layers, inputs, list(hx.unbind(0)), dropout, train)
        # In place, as in PyTorch: the outputs are no view.
        return outputs.transpose_(0, 1) if batch_first else outputs, ops.stack(final)

    @composite(f"{name}.data")
    def packed(
        data: Any,
        batch_sizes: Any,
        hx: Any,
        params: Any,
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
    ) -> tuple[Any, Any]:
        layers = _layers(step, list(params), has_biases, num_layers, bidirectional)
        runner = _Packed(_counts(batch_sizes))
        outputs, final = _run_layers(runner, layers, num_layers, data, list(hx.unbind(0)), dropout, train)
        return outputs, ops.stack(final)


_register_network("rnn_tanh", _rnn_tanh)
_register_network("rnn_relu", _rnn_relu)
_register_network("gru", _gru)


def _pairs(hx: Any) -> list[tuple[Any, Any]]:
    if len(hx) != 2:
        raise RuntimeError("lstm expects two hidden states")
    return list(zip(hx[0].unbind(0), hx[1].unbind(0)))


def _stacked_pairs(final: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    return ops.stack([hidden for hidden, _ in final]), ops.stack([cell for _, cell in final])


@composite("lstm.input")
def lstm_input(
    input: Any,
    hx: Any,
    params: Any,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Any, Any, Any]:
    """input (T, N, I) or (N, T, I), hx 2 (L D, N, H) -> output (T, N, D H), h and c (L D, N, H)."""
    states = _pairs(hx)
    projected = hx[0].shape[2] != hx[1].shape[2]
    layers = _layers(_lstm, list(params), has_biases, num_layers, bidirectional, projected)
    inputs = input.transpose(0, 1) if batch_first else input
    outputs, final = _run_layers(_Padded(), layers, num_layers, inputs, states, dropout, train)
    return outputs.transpose(0, 1) if batch_first else outputs, *_stacked_pairs(final)


@composite("lstm.data")
def lstm_data(
    data: Any,
    batch_sizes: Any,
    hx: Any,
    params: Any,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Any, Any, Any]:
    """data (sum of batch_sizes, I), batch_sizes (T,), hx 2 (L D, N, H) -> output (sum, D H), h and c (L D, N, H)."""
    states = _pairs(hx)
    projected = hx[0].shape[2] != hx[1].shape[2]
    layers = _layers(_lstm, list(params), has_biases, num_layers, bidirectional, projected)
    outputs, final = _run_layers(_Packed(_counts(batch_sizes)), layers, num_layers, data, states, dropout, train)
    return outputs, *_stacked_pairs(final)


# Cells


def _check_cell(input: Any, hx: Sequence[Any], w_ih: Any, w_hh: Any, gates: int) -> None:
    """Refuse sizes that do not fit, in PyTorch's order: it asks each for a dimension that it may not have."""
    if gates == 1:
        _check_rows(w_ih, gates, w_hh.size(1))
    elif gates == 4:
        w_hh.size(1)
    _check_input(input, w_ih)
    hidden = w_hh.size(1)
    if gates == 4:
        _check_rows(w_ih, gates, hidden)
    _check_hidden(input, hx[0], hidden, 0)
    for state in hx[1:]:
        _check_hidden(input, state, w_hh.size(0) // gates, 1)
    if gates == 3:
        _check_rows(w_ih, gates, hidden)


def _check_rows(w_ih: Any, gates: int, hidden: int) -> None:
    if w_ih.size(0) != gates * hidden:
        raise RuntimeError(
            f"weight_ih first dim must be {gates} * hidden_size = {gates * hidden}, but got {w_ih.size(0)}"
        )


def _check_input(input: Any, w_ih: Any) -> None:
    wanted, width = w_ih.size(1), input.size(1)
    if width != wanted:
        raise RuntimeError(f"input has inconsistent input_size: got {width} expected {wanted}")


def _check_hidden(input: Any, state: Any, expected: int, position: int) -> None:
    batch, rows = input.size(0), state.size(0)
    if batch != rows:
        raise RuntimeError(f"Input batch size {batch} doesn't match hidden{position} batch size {rows}")
    if state.size(1) != expected:
        raise RuntimeError(f"hidden{position} has inconsistent hidden_size: got {state.size(1)}, expected {expected}")


def _register_cell(name: str, step: Step, gates: int) -> None:
    @composite(name)
    def cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
        _check_cell(input, (hx,), w_ih, w_hh, gates)
        return step(ops.linear(input, w_ih, b_ih), hx, w_hh, b_hh)


_register_cell("rnn_tanh_cell", _rnn_tanh, 1)
_register_cell("rnn_relu_cell", _rnn_relu, 1)
_register_cell("gru_cell", _gru_in_place, 3)


@composite("lstm_cell")
def lstm_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> tuple[Any, Any]:
    """input (N, I), hx 2 (N, H), w_ih (4 H, I), w_hh (4 H, H), biases (4 H,) -> h and c (N, H)."""
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    _check_cell(input, hx, w_ih, w_hh, 4)
    return _lstm_in_place(ops.linear(input, w_ih, b_ih), (hx[0], hx[1]), w_hh, b_hh)


# Sequences of different lengths


@composite("_pack_padded_sequence")
def pack_padded_sequence(input: Any, lengths: Any, batch_first: bool) -> tuple[Any, Any]:
    """input (T, N, *), lengths (N,), falling -> data (sum of lengths, *), batch_sizes (T,)."""
    steps = input.transpose(0, 1) if batch_first else input
    counts = _checked_lengths(steps, lengths)
    longest = counts[0]
    sizes = [sum(length > step for length in counts) for step in range(longest)]
    data = ops.cat([steps[step, :size] for step, size in enumerate(sizes) if step < steps.shape[0]])
    return data, tensor(sizes, dtype=dtypes.int64, device="cpu")  # sizes are read on the host


def _checked_lengths(steps: Any, lengths: Any) -> list[int]:
    """The lengths of sequences (T, N, *), from the longest to the shortest."""
    if steps.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    counts = lengths.tolist()
    batch = steps.shape[1]
    if len(counts) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} (batch_size={batch})"
        )
    if counts[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if counts != sorted(counts, reverse=True):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need ONNX exportability."
        )
    return counts


@composite("_pad_packed_sequence")
def pad_packed_sequence(
    data: Any, batch_sizes: Any, batch_first: bool, padding_value: Any, total_length: int
) -> tuple[Any, Any]:
    """data (sum of batch_sizes, *), batch_sizes (T,) -> padded (T, N, *), lengths (N,)."""
    sizes = batch_sizes.tolist()
    batch = sizes[0]
    if total_length > 0 and total_length < len(sizes):
        raise RuntimeError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {len(sizes)}"
        )
    steps = max(total_length, len(sizes))
    padded = data.new_empty((steps, batch, *data.shape[1:])).fill_(padding_value)
    step = start = 0
    for size, alike in groupby(sizes):
        count = len(list(alike))
        end = start + count * size
        padded[step : step + count, :size].copy_(data[start:end].view(count, size, *data.shape[1:]))
        step, start = step + count, end
    lengths = [sum(size > sample for size in sizes) for sample in range(batch)]
    return padded.transpose(0, 1) if batch_first else padded, tensor(lengths, dtype=dtypes.int64, device="cpu")


@composite("pad_sequence")
def pad_sequence(sequences: Any, batch_first: bool, padding_value: float, padding_side: str) -> Any:
    """sequences (L_i, *) -> (T, N, *) or (N, T, *), T the longest, in the dtype of the first."""
    if len(sequences) == 0:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    first = sequences[0]
    if not first.dim():
        raise RuntimeError("ArrayRef: invalid slice, N = 1; size = 0")
    longest = max(sequence.size(0) for sequence in sequences)
    outer = (len(sequences), longest) if batch_first else (longest, len(sequences))
    padded = first.new_empty((*outer, *first.shape[1:])).fill_(padding_value)
    for i, sequence in enumerate(sequences):
        start = 0 if padding_side == "right" else longest - sequence.shape[0]
        padded.select(0 if batch_first else 1, i).narrow(0, start, sequence.shape[0]).copy_(sequence)
    return padded
