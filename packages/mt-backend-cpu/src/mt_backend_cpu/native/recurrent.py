"""Recurrent networks by the native library: all steps of one direction of a layer."""

from __future__ import annotations

from typing import Any

import numpy as np

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import float32

from ..registry import kernel
from . import library
from .view import row_by_row

Array = np.ndarray

#: The library's numbers of the kinds of networks.
_KINDS = {"lstm": 0, "gru": 1, "rnn_tanh": 2, "rnn_relu": 3}

if library is not None:
    _forward, _backward = library.recurrent_forward, library.recurrent_backward

    def _has_steps(inputs: Any, batch_sizes: Any) -> bool:
        """Whether there are elements, and several steps: for one, the weights are not packed in vain."""
        return inputs._array.size > 0 and (len(batch_sizes) or inputs._array.shape[0]) > 1

    def _are_lstm_steps(inputs: Any, batch_sizes: Any, hidden: Any, *rest: Any) -> bool:
        return _has_steps(inputs, batch_sizes) and _fit(inputs, batch_sizes, hidden)

    def _are_steps(kind: str, *given: Any) -> bool:
        return _are_lstm_steps(*given)

    def _fit(inputs: Any, batch_sizes: Any, hidden: Any) -> bool:
        """Whether each step of packed sequences has at most as many as the one before, and the first all."""
        batch = hidden._array.shape[0]
        if not batch_sizes:
            return batch > 0
        falls = all(0 < size <= before for size, before in zip(batch_sizes, [batch, *batch_sizes]))
        return batch_sizes[0] == batch and falls and sum(batch_sizes) == inputs._array.shape[0]

    _SINGLE = frozenset((float32,))

    def _sizes(batch_sizes: Any, rows: Array) -> Array:
        return np.array(batch_sizes or [rows.shape[1]] * rows.shape[0], np.int64)

    def _rows(array: Array) -> Array:
        return row_by_row(array).reshape(-1, array.shape[-1])

    def _steps(
        kind: str, inputs: Array, batch_sizes: Any, hidden: Array, cell: Any, weight: Array, bias: Any, backwards: bool,
        keeps: bool,
    ) -> tuple[Array, ...]:  # fmt: skip
        made = _forward(
            _KINDS[kind], _rows(inputs), _sizes(batch_sizes, inputs), row_by_row(hidden),
            None if cell is None else row_by_row(cell), row_by_row(weight),
            None if bias is None else row_by_row(bias), backwards, keeps,
        )  # fmt: skip
        outputs: Array = made[0]
        return (outputs.reshape(*inputs.shape[:-1], hidden.shape[1]), *made[1:])

    def _none(width: int) -> Array:
        return np.empty((0, width), np.float32)

    @kernel("_lstm_steps", accepts=Accepts(dtypes=_SINGLE, also=_are_lstm_steps))
    def lstm_steps(
        inputs: Array, batch_sizes: Any, hidden: Array, cell: Array, weight: Array, bias: Any, backwards: bool,
        keeps: bool,
    ) -> tuple[Array, ...]:  # fmt: skip
        """inputs (T, N, 4 H) or (sum, 4 H), states (N, H) -> outputs (.., H), both states, (rows, 4 H), (rows, H)."""
        made = _steps("lstm", inputs, batch_sizes, hidden, cell, weight, bias, backwards, keeps)
        return made if keeps else (*made[:3], _none(weight.shape[0]), _none(hidden.shape[1]))

    @kernel("_recurrent_steps", accepts=Accepts(dtypes=_SINGLE, also=_are_steps))
    def recurrent_steps(
        kind: str,
        inputs: Array,
        batch_sizes: Any,
        hidden: Array,
        weight: Array,
        bias: Any,
        backwards: bool,
        keeps: bool,
    ) -> tuple[Array, ...]:
        """inputs (.., G H), hidden (N, H) -> outputs (.., H), hidden (N, H), activated (rows, 4 H), states (.., H)."""
        size = hidden.shape[1]
        outputs, last, _, activated, _ = _steps(kind, inputs, batch_sizes, hidden, None, weight, bias, backwards, keeps)
        states = outputs.copy() if keeps else _none(size)
        return outputs, last, _none(4 * size) if activated is None else activated, states

    @kernel("_recurrent_steps_backward", accepts=Accepts(dtypes=_SINGLE))
    def recurrent_steps_backward(
        kind: str, grad_outputs: Any, grad_hidden: Any, grad_cell: Any, batch_sizes: Any, hidden: Array, cell: Any,
        weight: Array, outputs: Array, activated: Array, cells: Any, backwards: bool,
    ) -> tuple[Array, ...]:  # fmt: skip
        """-> gradients of inputs (.., G H), hidden and cell (N, H), weight (G H, H) and bias (G H,)."""

        def rows(array: Any) -> Any:
            return None if array is None else _rows(array)

        of_inputs, of_states, previous, of_hidden, of_cell = _backward(
            _KINDS[kind], rows(grad_outputs), _sizes(batch_sizes, outputs), rows(hidden), rows(cell), rows(weight),
            rows(outputs), rows(activated), rows(cells), rows(grad_hidden), rows(grad_cell), backwards,
        )  # fmt: skip
        return (
            of_inputs.reshape(*outputs.shape[:-1], weight.shape[0]), of_hidden,
            np.empty(0, np.float32) if of_cell is None else of_cell, np.matmul(of_states.T, previous),
            of_states.sum(0),
        )  # fmt: skip
