"""Shape rules of padding."""

from __future__ import annotations

from typing import Any

from ..dispatch.registry import register_shape_rule as shape_rule
from ..layout import copied_strides, strides_like
from ..number_range import check_number
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
    if any(n > 0 for n in pad):
        check_number(value, self._dtype)
    before = list(shape)
    if any(shape[-1 - i // 2] + pad[i] + min(pad[i - 1], 0) * (i % 2) < 0 for i in range(len(pad)) if pad[i] < 0):
        raise RuntimeError("narrow(): length must be non-negative.")
    for i in range(len(pad) // 2):
        at = len(shape) - 1 - i
        shape[at] += pad[2 * i] + pad[2 * i + 1]
        if shape[at] < 0:
            raise RuntimeError(
                f"The input size {before[at]}, plus negative padding {pad[2 * i]} and {pad[2 * i + 1]} resulted in "
                f"a negative output size, which is invalid. Check dimension {at} of your input."
            )
    if not any(n > 0 for n in pad):
        return Spec(shape, self._dtype, copied_strides(tuple(shape), self.stride()))  # a copy of a part
    return Spec(shape, self._dtype, strides_like(self, tuple(shape)))


def _check(self: Any, pad: Ints, spatial: int, name: str) -> None:
    if len(pad) != 2 * spatial:
        raise RuntimeError(f"padding size is expected to be {2 * spatial}, but got: {len(pad)}")
    shape = tuple(self._array.shape)
    if len(shape) not in (spatial + 1, spatial + 2) or 0 in shape[-1 - spatial :]:
        raise RuntimeError(
            f"Expected {spatial + 1}D or {spatial + 2}D (batch mode) tensor with possibly 0 batch size and other "
            f"non-zero dimensions for input, but got: {list(shape)}"
        )
    for i in range(spatial):
        at = len(shape) - 1 - i
        size, before, after = shape[at], pad[2 * i], pad[2 * i + 1]
        if name == "reflection" and (before >= size or after >= size):
            raise RuntimeError(
                f"Argument #{4 + 2 * i}: Padding size should be less than the corresponding input dimension, but "
                f"got: padding ({before}, {after}) at dimension {at} of input {list(shape)}"
            )
        if size + before + after < 1:
            letter = ("W", "H", "D")[i]
            raise RuntimeError(
                f"input ({letter}: {size}) is too small. Calculated output {letter}: {size + before + after}"
            )


def _declare(name: str, spatial: int) -> None:
    def pad(self: Any, padding: Ints) -> Spec:
        """self (N, C, *S) or (C, *S) -> (N, C, *T) or (C, *T), T = S + before + after."""
        _check(self, padding, spatial, name)
        shape = list(self._array.shape)
        for i in range(spatial):
            shape[-1 - i] += padding[2 * i] + padding[2 * i + 1]
        return Spec(shape, self._dtype, strides_like(self, tuple(shape)))

    def backward(grad_output: Any, self: Any, padding: Ints) -> Spec:
        """grad_output (N, C, *T) or (C, *T), self (N, C, *S) or (C, *S) -> like self."""
        shape = tuple(self._array.shape)
        return Spec(shape, grad_output._dtype, strides_like(self, shape))

    shape_rule(f"{name}_pad{spatial}d")(pad)
    shape_rule(f"{name}_pad{spatial}d_backward")(backward)


for _spatial in (1, 2, 3):
    _declare("reflection", _spatial)
    _declare("replication", _spatial)
