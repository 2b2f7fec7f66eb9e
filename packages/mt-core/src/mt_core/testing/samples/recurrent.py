"""Sample inputs: recurrent networks and packed sequences."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ... import dtypes
from ...tensor import Tensor
from ..sample import Sample, TensorMaker, call, cases, samples

INPUT, HIDDEN, BATCH, LAYERS = 3, 4, 2, 2
SETTINGS = (True, LAYERS, 0.0, False, False)


def _parameters(make: TensorMaker, gates: int) -> list[Tensor]:
    """Weights and biases of all layers, in PyTorch's order."""
    rows, found = gates * HIDDEN, []
    for width in (INPUT, HIDDEN):
        found += [make(rows, width), make(rows, HIDDEN), make(rows), make(rows)]
    return found


def _state(make: TensorMaker, gates: int) -> Tensor | list[Tensor]:
    first = make(LAYERS, BATCH, HIDDEN)
    return [first, make(LAYERS, BATCH, HIDDEN)] if gates == 4 else first


def _network(gates: int) -> Callable[[TensorMaker], Iterator[Sample]]:
    def generate(make: TensorMaker) -> Iterator[Sample]:
        yield call(make(5, BATCH, INPUT), _state(make, gates), _parameters(make, gates), *SETTINGS, False)
        yield call(make(BATCH, 5, INPUT), _state(make, gates), _parameters(make, gates), *SETTINGS, True)

    return generate


def _packed_network(gates: int) -> Callable[[TensorMaker], Iterator[Sample]]:
    def generate(make: TensorMaker) -> Iterator[Sample]:
        lengths = TensorMaker().of([2, 2, 1], dtypes.int64)  # lengths are read on the CPU
        yield call(make(5, INPUT), lengths, _state(make, gates), _parameters(make, gates), *SETTINGS)

    return generate


def _cell(gates: int) -> Callable[[TensorMaker], Iterator[Sample]]:
    def generate(make: TensorMaker) -> Iterator[Sample]:
        state = make(BATCH, HIDDEN)
        rows = gates * HIDDEN
        weights = make(rows, INPUT), make(rows, HIDDEN)
        yield call(
            make(BATCH, INPUT), [state, make(BATCH, HIDDEN)] if gates == 4 else state, *weights, make(rows), make(rows)
        )

    return generate


for _name, _gates in {"rnn_tanh": 1, "rnn_relu": 1, "gru": 3, "lstm": 4}.items():
    samples(f"{_name}.input")(_network(_gates))
    samples(f"{_name}.data")(_packed_network(_gates))
    samples(f"{_name}_cell")(_cell(_gates))


cases("_lstm_gates", lambda t: call(t(2, 12), t(2, 3)), lambda t: call(t(4), t(1)))
cases(
    "_lstm_gates_backward",
    lambda t: call(t(2, 3), t(2, 3), t(2, 12, low=0.1, high=0.9), t(2, 3), t(2, 3)),
    lambda t: call(None, t(2, 3), t(2, 12, low=0.1, high=0.9), t(2, 3), t(2, 3)),
    lambda t: call(t(2, 3), None, t(2, 12, low=0.1, high=0.9), t(2, 3), t(2, 3)),
)


@samples("_lstm_steps")
def lstm_steps(make: TensorMaker) -> Iterator[Sample]:
    state = make(2, HIDDEN), make(2, HIDDEN)
    weights = make(4 * HIDDEN, HIDDEN), make(4 * HIDDEN)
    yield call(make(3, 2, 4 * HIDDEN), [], *state, *weights, False, True)
    yield call(make(4, 4 * HIDDEN), [2, 1, 1], *state, weights[0], None, True, True)
    yield call(make(1, 2, 4 * HIDDEN), [], *state, *weights, False, False)


@samples("_recurrent_steps")
def recurrent_steps(make: TensorMaker) -> Iterator[Sample]:
    for kind, gates in {"gru": 3, "rnn_tanh": 1, "rnn_relu": 1}.items():
        rows, state = gates * HIDDEN, make(2, HIDDEN)
        yield call(kind, make(3, 2, rows), [], state, make(rows, HIDDEN), make(rows), True, True)
        yield call(kind, make(4, rows), [2, 1, 1], state, make(rows, HIDDEN), None, False, kind == "gru")


@samples("_recurrent_steps_backward")
def recurrent_steps_backward(make: TensorMaker) -> Iterator[Sample]:
    state, cell = make(2, HIDDEN), make(2, HIDDEN)
    outputs, activated = make(3, 2, HIDDEN), make(6, 4 * HIDDEN, low=0.1, high=0.9)
    lstm = (state, cell, make(4 * HIDDEN, HIDDEN), outputs, activated, make(6, HIDDEN))
    yield call("lstm", make(3, 2, HIDDEN), make(2, HIDDEN), None, [], *lstm, True)
    packed = (*lstm[:3], make(4, HIDDEN), make(4, 4 * HIDDEN, low=0.1, high=0.9), make(4, HIDDEN))
    yield call("lstm", make(4, HIDDEN), None, make(2, HIDDEN), [2, 1, 1], *packed, False)
    gru = (state, None, make(3 * HIDDEN, HIDDEN), outputs, activated, None)
    yield call("gru", make(3, 2, HIDDEN), None, None, [], *gru, False)
    yield call(
        "rnn_relu", None, make(2, HIDDEN), None, [], state, None, make(HIDDEN, HIDDEN), outputs, activated, None, False
    )


@samples("_pack_padded_sequence")
def pack(make: TensorMaker) -> Iterator[Sample]:
    lengths = TensorMaker().of([3, 1], dtypes.int64)
    yield call(make(3, 2, 4), lengths, False)
    yield call(make(2, 3, 4), lengths, True)


@samples("_pad_packed_sequence")
def unpack(make: TensorMaker) -> Iterator[Sample]:
    yield call(make(4, 3), TensorMaker().of([2, 1, 1], dtypes.int64), False, 0.5, -1)


cases("pad_sequence", lambda t: call([t(3, 2), t(1, 2)]), lambda t: call([t(3), t(1)], True, -1.0, "left"))


# Arguments away from their defaults.
def _other_settings(gates: int) -> Callable[[TensorMaker], Iterator[Sample]]:
    """In both directions; and one layer without biases."""

    def generate(make: TensorMaker) -> Iterator[Sample]:
        rows, both = gates * HIDDEN, []
        for width in (INPUT, 2 * HIDDEN):
            for _ in range(2):
                both += [make(rows, width), make(rows, HIDDEN), make(rows), make(rows)]
        yield call(make(3, BATCH, INPUT), _states(make, gates, 4), both, True, 2, 0.0, False, True, False)
        plain = [make(rows, INPUT), make(rows, HIDDEN)]
        yield call(make(3, BATCH, INPUT), _states(make, gates, 1), plain, False, 1, 0.0, True, False, False)

    return generate


def _other_packed(gates: int) -> Callable[[TensorMaker], Iterator[Sample]]:
    def generate(make: TensorMaker) -> Iterator[Sample]:
        rows, both = gates * HIDDEN, []
        for _ in range(2):
            both += [make(rows, INPUT), make(rows, HIDDEN)]
        lengths = TensorMaker().of([2, 1], dtypes.int64)
        yield call(make(3, INPUT), lengths, _states(make, gates, 2), both, False, 1, 0.0, True, True)

    return generate


def _states(make: TensorMaker, gates: int, layers: int) -> Tensor | list[Tensor]:
    first = make(layers, BATCH, HIDDEN)
    return [first, make(layers, BATCH, HIDDEN)] if gates == 4 else first


for _name, _gates in {"rnn_tanh": 1, "rnn_relu": 1, "gru": 3, "lstm": 4}.items():
    samples(f"{_name}.input")(_other_settings(_gates))
    samples(f"{_name}.data")(_other_packed(_gates))
cases(
    "rnn_tanh_cell rnn_relu_cell",
    lambda t: call(t(BATCH, INPUT), t(BATCH, HIDDEN), t(HIDDEN, INPUT), t(HIDDEN, HIDDEN)),
)
cases("gru_cell", lambda t: call(t(BATCH, INPUT), t(BATCH, HIDDEN), t(3 * HIDDEN, INPUT), t(3 * HIDDEN, HIDDEN)))
cases(
    "lstm_cell",
    lambda t: call(t(BATCH, INPUT), [t(BATCH, HIDDEN), t(BATCH, HIDDEN)], t(4 * HIDDEN, INPUT), t(4 * HIDDEN, HIDDEN)),
)
cases("_pad_packed_sequence", lambda t: call(t(4, 3), TensorMaker().of([2, 1, 1], dtypes.int64), True, -1.5, 4))
