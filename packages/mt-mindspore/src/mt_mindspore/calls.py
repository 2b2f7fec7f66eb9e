"""What every kernel over MindSpore's tensors needs: arrays opened, numbers known, errors translated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .array import MindSporeArray

__all__ = ["NUMBERS", "first_array", "opener", "unavailable"]

#: Classes of Python's numbers.
NUMBERS = frozenset((bool, int, float, complex))


def first_array(args: Any) -> Any:
    """The NumPy dtype of the first array among arguments, also within lists; None where there is none."""
    for value in args:
        if value.__class__ is MindSporeArray:
            return value.dtype
        if value.__class__ is list or value.__class__ is tuple:
            found = first_array(value)
            if found is not None:
                return found
    return None


def _first_line(error: Exception) -> str:
    text = next((line for line in str(error).splitlines() if line.strip()), error.__class__.__name__)
    return f"MindSpore says: {text.strip()}"


def opener(backend: Any) -> Callable[..., Any]:
    """What gives MindSpore's tensors for arrays, also within lists."""
    opened = backend.memory.opened
    # Some kernels of the CPU target misread strides, without an error; those of Ascend take them.
    row_major = backend.target == "CPU"

    def open_one(value: Any) -> Any:
        if value.__class__ is MindSporeArray:
            tensor = value.tensor
            if tensor is None:
                tensor = opened(value)
            if tensor is value.base or not row_major or tensor.is_contiguous():
                return tensor
            return tensor.contiguous()
        if value.__class__ is list or value.__class__ is tuple:
            return value.__class__([open_one(item) for item in value])
        return value

    return open_one


def unavailable(name: str, error: Exception) -> NotImplementedError:
    """What MindSpore raises, as an error of ours.

    What the operator may refuse has been refused before: MindSpore lacks a kernel for this.
    """
    return NotImplementedError(f"{name}: {_first_line(error)}")
