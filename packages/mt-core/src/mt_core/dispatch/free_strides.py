"""Strides that do not show in a call's keys: along dimensions of size 1, and of tensors without elements.

A tensor (N, C, 1, 1) is row-major in memory whatever its strides along the last two dimensions, so it is not `STRIDED`;
yet these strides tell ``channels_last`` from ``contiguous_format`` (`mt_core.layout.suggested_format`). Few shape rules
ask for them. Which do is seen from the rule itself: it is handed arrays that notice when their strides are read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..tensor import Tensor, new_tensor

__all__ = ["have_free_strides", "reads_strides"]


class _Watched:
    """An array whose `strides` note that they were read; everything else is the array's."""

    __slots__ = ("_array", "_note")

    def __init__(self, array: Any, note: Callable[[], None]) -> None:
        self._array = array
        self._note = note

    @property
    def strides(self) -> tuple[int, ...]:
        self._note()
        return self._array.strides

    def __getattr__(self, name: str) -> Any:
        return getattr(self._array, name)


def have_free_strides(args: Sequence[Any]) -> bool:
    """Whether a tensor among arguments, or in a list among them, has a dimension of at most one element."""
    for value in args:
        if isinstance(value, Tensor):
            if any(size <= 1 for size in value._array.shape):
                return True
        elif isinstance(value, (list, tuple)) and have_free_strides(value):
            return True
    return False


def reads_strides(rule: Callable[..., Any], args: Sequence[Any]) -> bool:
    """Whether a shape rule reads strides of tensors in a call that it accepts.

    What it does up to the first reading follows from shapes, dtypes and plain arguments, so the answer is the same for
    all calls that agree in these.
    """
    reads: list[None] = []

    def watched(value: Any) -> Any:
        if isinstance(value, Tensor):
            array: Any = _Watched(value._array, lambda: reads.append(None))
            return new_tensor(array, value._dtype, value._keys)
        return type(value)(map(watched, value)) if type(value) in (list, tuple) else value

    rule(*map(watched, args))
    return bool(reads)
