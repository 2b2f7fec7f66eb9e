"""The operators of two masked tensors, or one and an ordinary one, that PyTorch names."""

from __future__ import annotations

from typing import Any

from mt_library import ops

__all__: list[str] = []

#: Operators that work element by element.
BINARY_NAMES: list[str] = """
    add atan2 arctan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div divide
    floor_divide fmod logaddexp logaddexp2 mul multiply nextafter remainder sub subtract true_divide eq ne le ge
    greater greater_equal gt less_equal lt less maximum minimum fmax fmin not_equal
""".split()
#: Those of them that cannot be carried out in place.
_OUT_OF_PLACE = frozenset("fmax fmin logaddexp logaddexp2 maximum minimum".split())
INPLACE_BINARY_NAMES = [f"{name}_" for name in BINARY_NAMES if name not in _OUT_OF_PLACE]

NATIVE_BINARY_FNS: list[Any] = [getattr(ops.aten, name) for name in BINARY_NAMES]
NATIVE_INPLACE_BINARY_FNS: list[Any] = [getattr(ops.aten, name) for name in INPLACE_BINARY_NAMES]
