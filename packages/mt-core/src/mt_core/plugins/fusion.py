"""What a backend that fuses is told of a chain of elementwise calls (the member ``fuse`` of a `Backend`)."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["FusedCall", "FusedInput", "Given"]


class Given(NamedTuple):
    """In an argument's place: a tensor, which is the result of a call of the chain, or one of its inputs.

    `is_result` tells which of the two, and `place` which one, counted from 0.
    """

    is_result: bool
    place: int


class FusedInput(NamedTuple):
    """A tensor that a chain is given; strides are in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any


class FusedCall(NamedTuple):
    """One call of a chain.

    Attributes
    ----------
    operator
        Its name with the overload: ``mul.Tensor``.
    arguments
        All of the schema's, in order: a `Given` for each tensor, else what the caller gave.
    shape, strides, dtype
        Of its result; strides are in elements. The computation is to be that of the call alone, bit for bit: the
        arguments broadcast to the shape, and promoted as the operator promotes them.
    """

    operator: str
    arguments: tuple[Any, ...]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any
