"""Tensors that stand for others: a layout, a dtype and a device, and no memory of their own.

Wrappers of subclasses, fake tensors and the wrappers of ``torch.func`` are such tensors. A dispatch key above the
backends' says who carries their calls out; without one, no kernel would know what to make of their array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .devices import backend_key, device
from .dtypes import dtype as DType
from .keys import BACKEND_MASK, COMPOUND, INFERENCE, META, OTHER_INDEX, PIPELINE, STRIDED
from .meta_array import HollowArray, contiguous_strides
from .spec import is_contiguous
from .tensor import Tensor

__all__ = ["HollowArray", "ShadowArray", "hollow_tensor", "is_hollow", "seen_through", "shadow", "within_reach"]


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


#: What a tensor that stands for another has of that one's keys: where it is, and how it is laid out.
_LIKE = BACKEND_MASK | OTHER_INDEX | INFERENCE


class ShadowArray(HollowArray):
    """The layout of a tensor that stands for another, one level further out, which is its `value`.

    Device and offset are those of that tensor, looked up when they are asked for.
    """

    __slots__ = ("value",)

    value: Tensor

    @property
    def device(self) -> Any:  # type: ignore[override]
        return self.value.device

    @property
    def offset(self) -> int:  # type: ignore[override]
        return self.value.storage_offset() * self.itemsize

    @property
    def nbytes_owned(self) -> int:  # type: ignore[override]
        return self.extent()


def shadow(
    array_type: type[ShadowArray], value: Tensor, shape: tuple[int, ...], strides: tuple[int, ...], keys: int
) -> Any:
    """A tensor that stands for `value`, without memory; strides in bytes, `keys` besides those that it has from there.

    A call inside of a transform makes one or two of them: nothing is looked up that few ask for.
    """
    if value._keys & COMPOUND:
        raise NotImplementedError("nested and masked tensors are not supported inside of transforms of torch.func")
    array = object.__new__(array_type)
    d = value._dtype
    array.shape, array.strides = shape, strides
    array.dtype, array.itemsize = d.numpy_dtype, d.itemsize
    array.value = value
    made = object.__new__(Tensor)
    made._array, made._dtype = array, d
    made._keys = value._keys & _LIKE | keys
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


def has_elements(tensor: Tensor) -> bool:
    """Whether the elements of a tensor, or of the one behind the wrappers of transforms, can be read.

    Where they cannot, on the meta device and of fake tensors, nothing that depends on them is refused.
    """
    tensor = seen_through(tensor)
    array = tensor._array
    return array.has_elements if isinstance(array, HollowArray) else not tensor._keys & META


def seen_through(tensor: Tensor) -> Any:
    """The tensor with elements behind the wrappers of transforms; of one under ``vmap``, those of all lanes.

    For refusals that depend on elements, which are the same whichever lane has them.
    """
    while isinstance(tensor._array, HollowArray) and hasattr(tensor._array, "value"):
        tensor = tensor._array.value
    return tensor
