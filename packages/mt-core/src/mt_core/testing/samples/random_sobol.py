"""Sample inputs: Sobol' sequences."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ..sample import TensorMaker, call, cases


def _state(t: TensorMaker, dimension: int) -> Any:
    """Direction numbers of their form: bit 29 - i is the lowest that number i has."""
    return t.of([[(2 * (i + d) % 2**i | 1) << (29 - i) for i in range(30)] for d in range(dimension)], dtypes.int64)


def _matrices(t: TensorMaker, dimension: int) -> Any:
    return t(dimension, 30, 30, dtype=dtypes.int64, low=0, high=2).tril()


cases(
    "_sobol_engine_initialize_state_",
    lambda t: call(t(1, 30, dtype=dtypes.int64), 1),
    lambda t: call(t(40, 30, dtype=dtypes.int64), 40),
)
cases(
    "_sobol_engine_scramble_",
    lambda t: call(_state(t, 3), _matrices(t, 3), 3),
    lambda t: call(_state(t, 2), _matrices(t, 2), 2),
)
cases(
    "_sobol_engine_ff_",
    lambda t: call(t.of([1 << 29, 5], dtypes.int64), 5, _state(t, 2), 2, 3),
    lambda t: call(t.of([0, 1 << 28, 7], dtypes.int64), 0, _state(t, 3), 3, 0),
)
cases(
    "_sobol_engine_draw",
    lambda t: call(t.of([1 << 29, 5], dtypes.int64), 4, _state(t, 2), 2, 2, dtypes.float32),
    lambda t: call(t.of([0, 1 << 28, 7], dtypes.int64), 1, _state(t, 3), 3, 0, dtypes.float64),
    lambda t: call(t.of([0, 1 << 28, 7], dtypes.int64), 0, _state(t, 3), 3, 1, None),
)
