"""Causal masks that say which corner they start from."""

from __future__ import annotations

from enum import IntEnum, auto

import mt_core as mt
from mt_core import Tensor

__all__ = ["CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """Where the diagonal of a causal mask that is not square starts or ends."""

    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()


def _two_sizes(size: tuple[int, ...]) -> tuple[int, int]:
    if len(size) != 2:
        raise AssertionError("causal masks only supports 2D tensors")
    return size[0], size[1]


def causal_upper_left(*size: int) -> Tensor:
    """The boolean mask of shape (L, S) that is True where the key is not later than the query, both counted from 0."""
    queries, keys = _two_sizes(size)
    return mt.tril(mt.ones(queries, keys, dtype=mt.bool))


def causal_lower_right(*size: int) -> Tensor:
    """The boolean mask of shape (L, S) that is True where the key is not later than the query, counted from the end."""
    queries, keys = _two_sizes(size)
    return mt.tril(mt.ones(queries, keys, dtype=mt.bool), diagonal=keys - queries)
