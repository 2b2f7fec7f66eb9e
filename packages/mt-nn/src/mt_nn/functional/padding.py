"""Putting values around a tensor."""

import mt_core as mt
from mt_core import Tensor

__all__ = ["pad"]


def pad(input: Tensor, pad: list[int] | tuple[int, ...], mode: str = "constant", value: float | None = None) -> Tensor:
    """A tensor with values put before and after it along its last dimensions.

    Parameters
    ----------
    input
        Any shape for ``mode="constant"``; otherwise shape (N, C, *) or (C, *) with 1 to 3 dimensions ``*``.
    pad
        How many to put before and after: two numbers for the last dimension, two for the one before it, and so on.
        Negative numbers cut off.
    mode
        ``"constant"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
    value
        The value to put; 0 by default, and for ``mode="constant"`` only.
    """
    return mt.pad(input, pad, mode, value)
