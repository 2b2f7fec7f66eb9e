"""Sobol' sequences.

Joe and Kuo, "Constructing Sobol sequences with better two-dimensional projections" (2008): point n + 1 is point n
with the bits of one direction number of each dimension turned over, that of the rightmost zero bit of n.
"""

from __future__ import annotations

import functools
from importlib.resources import files
from typing import Any

import numpy as np

from ..registry import kernel

#: Bits of a direction number.
BITS = 30
#: How many primitive polynomials modulo 2 there are of each degree from 1 on.
POLYNOMIALS = (1, 1, 2, 2, 6, 6, 18, 16, 48, 60, 176, 144, 630, 756, 1800, 2048, 7710, 7776)


@functools.cache
def _table() -> list[tuple[np.ndarray, np.ndarray]]:
    """For each degree: inner coefficients of its polynomials (count, degree - 1), m_1 to m_degree (count, degree).

    ``sobol_directions.bin`` (by ``tests/pack_sobol_directions.py``) holds them as bits, one entry after the
    other: the coefficients between the first and the last, which are 1, then of m_i, which is odd and below 2**i, the
    bits above the lowest.
    """
    packed = files(__package__).joinpath("sobol_directions.bin").read_bytes()
    bits, tables, at = np.unpackbits(np.frombuffer(packed, np.uint8)), [], 0
    for degree, count in enumerate(POLYNOMIALS, 1):
        width = degree - 1 + degree * (degree - 1) // 2
        rows = bits[at : at + count * width].reshape(count, width).astype(np.int64)
        at += count * width
        numbers, place = np.ones((count, degree), np.int64), degree - 1
        for i in range(1, degree):
            for bit in range(i):
                numbers[:, i] |= rows[:, place + bit] << (i - bit)
            place += i
        tables.append((rows[:, : degree - 1], numbers))
    return tables


@functools.cache
def _directions() -> np.ndarray:
    """(21201, 30): the direction numbers of all dimensions, with 30 bits."""
    blocks = [np.ones((1, BITS), np.int64)]
    for coefficients, first in _table():
        count, degree = first.shape
        numbers = np.empty((count, BITS), np.int64)
        numbers[:, :degree] = first
        for j in range(degree, BITS):
            new = numbers[:, j - degree] ^ (numbers[:, j - degree] << degree)
            for k in range(1, degree):
                new ^= coefficients[:, k - 1] * (numbers[:, j - k] << k)
            numbers[:, j] = new
        blocks.append(numbers)
    directions = np.concatenate(blocks) << np.arange(BITS - 1, -1, -1)
    directions.flags.writeable = False
    return directions


def _turned(count: int, n: int, sobolstate: np.ndarray) -> np.ndarray:
    """(dimension): what the numbers turn over between the points `count` and `count` + n.

    The bits turned over an odd number of times are those that the reflected binary codes of both differ in.
    """
    differing = (count ^ count >> 1) ^ (count + n ^ count + n >> 1)
    chosen = [bit for bit in range(BITS) if differing >> bit & 1]
    return np.bitwise_xor.reduce(sobolstate[:, chosen], axis=1)


@kernel("_sobol_engine_initialize_state_", half="native")
def initialize_state(self: np.ndarray, dimension: int) -> np.ndarray:
    """self (dimension, 30) -> (dimension, 30)."""
    self[...] = _directions()[:dimension]
    return self


@kernel("_sobol_engine_scramble_", half="native")
def scramble(self: np.ndarray, ltm: np.ndarray, dimension: int) -> np.ndarray:
    """self (dimension, 30), ltm (dimension, 30, 30), whose diagonals count as 1 -> (dimension, 30).

    Matousek, "On the L2-discrepancy for anchored boxes" (1998): bit p of a number becomes the parity of what row p of
    the matrix chooses of its bits.
    """
    matrices = ltm.copy()
    matrices[:, range(BITS), range(BITS)] = 1
    rows = (matrices << np.arange(BITS - 1, -1, -1)).sum(axis=-1)
    made = np.zeros_like(self)
    for p in range(BITS):
        chosen = rows[:, p, None] & self
        for shift in (32, 16, 8, 4, 2, 1):
            chosen ^= chosen >> shift
        made |= (chosen & 1) << (BITS - 1 - p)
    self[...] = made
    return self


@kernel("_sobol_engine_ff_", half="native")
def fast_forward(self: np.ndarray, n: int, sobolstate: np.ndarray, dimension: int, num_generated: int) -> np.ndarray:
    """self (dimension), sobolstate (dimension, 30) -> (dimension)."""
    if n > 0:
        self ^= _turned(num_generated, n, sobolstate)
    return self


@kernel("_sobol_engine_draw", half="native")
def draw(quasi: Any, n: int, sobolstate: Any, dimension: int, num_generated: int, dtype: Any) -> tuple[Any, Any]:
    """quasi (dimension), sobolstate (dimension, 30) -> (n, dimension), (dimension)."""
    counts = np.arange(num_generated, num_generated + n)
    rightmost_zero = np.log2(~counts & counts + 1).astype(np.intp)
    points = sobolstate.T[rightmost_zero]
    points[:1] ^= quasi
    points = np.bitwise_xor.accumulate(points, axis=0)
    last = points[-1].copy() if n else quasi.copy()
    return points.astype(dtype.numpy_dtype) * dtype.numpy_dtype.type(2.0**-BITS), last
