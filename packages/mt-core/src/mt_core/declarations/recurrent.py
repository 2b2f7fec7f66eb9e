"""Recurrent networks and sequences of different lengths: declarations.

T is the length of a sequence, N the batch size, H the size of a state, D the number of directions. `params` holds, for
each direction of each layer, the weights of inputs and states, their biases if any, and the projection if any.
"""

from __future__ import annotations

from typing import Any

from ._declare import Family

family = Family("recurrent")

_TOP: dict[str, Any] = {"variants": "function"}

_OPTIONS = "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"
for _name, _state, _result, _doc in (
    ("rnn_tanh", "Tensor hx", "(Tensor, Tensor)", "Elman networks (Elman 1990) with tanh"),
    ("rnn_relu", "Tensor hx", "(Tensor, Tensor)", "Elman networks with max(x, 0)"),
    ("gru", "Tensor hx", "(Tensor, Tensor)", "Gated recurrent units (Cho et al. 2014)"),
    ("lstm", "Tensor[] hx", "(Tensor, Tensor, Tensor)", "Long short-term memory (Hochreiter and Schmidhuber 1997)"),
):
    family.composite(
        f"{_name}.input(Tensor input, {_state}, {_OPTIONS}, bool batch_first) -> {_result}",
        **_TOP,
        doc=f"{_doc}: (T, N, I) and states (layers * D, N, H) to outputs (T, N, D * H) and final states.",
    )
    family.composite(
        f"{_name}.data(Tensor data, Tensor batch_sizes, {_state}, {_OPTIONS}) -> {_result}",
        **_TOP,
        doc=f"{_doc}, of packed sequences.",
    )

_WEIGHTS = "Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None"
for _name in ("rnn_tanh_cell", "rnn_relu_cell", "gru_cell"):
    family.composite(
        f"{_name}(Tensor input, Tensor hx, {_WEIGHTS}) -> Tensor",
        **_TOP,
        doc="One step: (N, I) and the state (N, H) to the next.",
    )
family.composite(
    f"lstm_cell(Tensor input, Tensor[] hx, {_WEIGHTS}) -> (Tensor, Tensor)",
    **_TOP,
    doc="One step: (N, I) and the states (N, H), hidden and cell, to the next.",
)

family.plain(
    "_lstm_gates(Tensor gates, Tensor cell) -> (Tensor, Tensor, Tensor)",
    **_TOP,
    doc=(
        "The states that follow from the gates (N, 4 H) and the cell state (N, H) of long short-term memory: hidden, cell, and "
        "what the gates' activations are, for the gradient."
    ),
)  # fmt: skip
family.plain(
    "_lstm_gates_backward(Tensor? grad_hidden, Tensor? grad_cell, Tensor activated, Tensor cell, Tensor next_cell) -> (Tensor, Tensor)",
    variants="",
)  # fmt: skip

_SEQUENCES = "Tensor weight, Tensor? bias, bool backwards, bool keeps"
family.plain(
    f"_lstm_steps(Tensor inputs, int[] batch_sizes, Tensor hidden, Tensor cell, {_SEQUENCES}) "
    "-> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    **_TOP,
    doc=(
        "All steps of one direction of an LSTM's layer: the inputs' part of the gates (T, N, 4 H), or of packed sequences "
        "(sum of batch_sizes, 4 H), and the first states (N, H) to outputs (T, N, H) or (sum, H) and the last states; then what "
        "is kept for the gradient, if it `keeps`: activated gates and cell states of all steps."
    ),
)  # fmt: skip
family.plain(
    f"_recurrent_steps(str kind, Tensor inputs, int[] batch_sizes, Tensor hidden, {_SEQUENCES}) -> (Tensor, Tensor, Tensor, Tensor)",
    **_TOP,
    doc=(
        'The same of "gru", with 3 H for 4 H, and of "rnn_tanh" and "rnn_relu", with H: outputs, last states, and what is kept: '
        "activated gates of a GRU, and the states of all steps, for the outputs may be written to."
    ),
)  # fmt: skip
family.plain(
    "_recurrent_steps_backward(str kind, Tensor? grad_outputs, Tensor? grad_hidden, Tensor? grad_cell, int[] batch_sizes, "
    "Tensor hidden, Tensor? cell, Tensor weight, Tensor outputs, Tensor activated, Tensor? cells, bool backwards) "
    "-> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    variants="",
)  # fmt: skip

family.composite(
    "_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)", **_TOP,
    doc="The elements of padded sequences, step by step, and how many sequences have each step.",
)  # fmt: skip
family.composite(
    "_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int total_length) "
    "-> (Tensor, Tensor)", **_TOP, doc="Packed sequences, padded, and their lengths.",
)  # fmt: skip
family.composite(
    'pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0., str padding_side="right") '
    "-> Tensor", variants="function", namespace="torch._C._nn",
    doc="Sequences (T, *) padded to the longest: (T, N, *), or (N, T, *).",
)  # fmt: skip
