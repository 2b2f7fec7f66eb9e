"""Tensors that stand for others: a layout, a dtype and a device, and no memory of their own.

Wrappers of subclasses, fake tensors and the wrappers of ``torch.func`` are such tensors. A dispatch key above the
backends' says who carries their calls out; without one, no kernel would know what to make of their array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .devices import backend_key, device
from .dtypes import dtype as DType
from .keys import OTHER_INDEX, PIPELINE, STRIDED
from .meta_array import HollowArray, contiguous_strides
from .spec import is_contiguous
from .tensor import Tensor

__all__ = ["HollowArray", "hollow_tensor", "is_hollow", "seen_through", "within_reach"]


def hollow_tensor(
    cls: type[Tensor], shape: Sequence[int], d: DType, on: device, keys: int, strides: Sequence[int] | None = None,
    offset: int = 0, array_type: type[HollowArray] = HollowArray,
) -> Any:  # fmt: skip
    """A tensor of a class, of shape, strides and offset (in elements), without memory.

    Parameters
    ----------
    keys
        The dispatch keys of whoever carries its calls out; those of the device and of the layout are added.
    """
    contiguous = contiguous_strides(tuple(shape))
    strides = contiguous if strides is None else tuple(strides)
    is_plain = strides == contiguous or is_contiguous(tuple(shape), strides)
    made = object.__new__(cls)
    made._array = array_type(tuple(shape), d, strides, offset, on)
    made._dtype = d
    made._keys = keys | backend_key(on.type) | (0 if is_plain else STRIDED) | _flag_of(on)
    made._autograd = made._cell = made._base = None
    return made


def _flag_of(on: device) -> int:
    return OTHER_INDEX if on.index else 0


def is_hollow(tensor: Tensor) -> bool:
    """Whether a tensor has no memory of its own, not even of the meta device."""
    return isinstance(tensor._array, HollowArray)


def within_reach(tensor: Tensor) -> Tensor:
    """The tensor, whose memory no pipeline keeps from being read and written to."""
    if tensor._keys & PIPELINE:
        tensor._array.settle()
    return tensor


def seen_through(tensor: Tensor) -> Any:
    """The tensor with elements behind the wrappers of transforms; of one under ``vmap``, those of all lanes.

    For refusals that depend on elements, which are the same whichever lane has them.
    """
    while isinstance(tensor._array, HollowArray) and hasattr(tensor._array, "value"):
        tensor = tensor._array.value
    return tensor
