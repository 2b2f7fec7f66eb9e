"""Shape rules of padding."""

from __future__ import annotations

from typing import Any

from ..dispatch.registry import register_shape_rule as shape_rule
from ..spec import Spec

Ints = tuple[int, ...]


@shape_rule("constant_pad_nd")
def constant_pad_nd(self: Any, pad: Ints, value: Any) -> Spec:
    """self (*S) -> S + pad before + pad after, for the last len(pad) / 2 dimensions, last first."""
    shape = list(self._array.shape)
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * len(shape):
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(pad)} while the input has {len(shape)} dimensions."
        )
    before = list(shape)
    for i in range(len(pad) // 2):
        at = len(shape) - 1 - i
        shape[at] += pad[2 * i] + pad[2 * i + 1]
        if shape[at] < 0:
            raise RuntimeError(
                f"The input size {before[at]}, plus negative padding {pad[2 * i]} and {pad[2 * i + 1]} resulted in "
                f"a negative output size, which is invalid. Check dimension {at} of your input."
            )
    return Spec(shape, self._dtype)
