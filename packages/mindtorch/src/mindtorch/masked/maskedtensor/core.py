"""The class of masked tensors."""

import warnings
from typing import Any

import mt_core as mt
from mt_core import Tensor
from mt_core.formats import contiguous_format

from ..._compound.layer import Rules, elements
from ..._compound.parts import CompoundArray, CompoundTensor, compound

__all__ = ["RULES", "MaskedArray", "MaskedTensor", "is_masked_tensor", "masked"]


class MaskedArray(CompoundArray):
    """Elements, and a mask of their shape that says which are there.

    Attributes
    ----------
    data : Tensor
        All elements; those that are not there have any value.
    mask : Tensor
        bool, true for the elements that are there.
    """

    __slots__ = ("mask",)
    mask: Tensor

    def __init__(self, data: Tensor, mask: Tensor) -> None:
        super().__init__(tuple(data.shape), data._dtype, data.stride(), 0, data.device)
        self.data, self.mask = data, mask

    def with_data(self, data: Tensor) -> "MaskedArray":
        return MaskedArray(data, self.mask)

    def gradient(self, grad: Any) -> Tensor:
        given = elements(grad) if is_masked_tensor(grad) else grad
        return mt.where(self.mask, given, mt.zeros_like(given))

    def take(self, other: Any) -> None:
        if other.shape != self.shape:
            raise RuntimeError(
                f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(other.shape)}"
            )
        self.data, self.mask = other.data, other.mask


class MaskedTensor(CompoundTensor):
    """A tensor some elements of which are not there; see ``torch.masked.masked_tensor``."""

    _array: MaskedArray

    def __new__(cls, data: Any, mask: Any, requires_grad: bool = False) -> Any:
        refuse_misfits(data, mask)
        if data.requires_grad:
            warnings.warn(
                "It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid this, you "
                "can use data.detach().clone()",
                UserWarning,
                stacklevel=2,
            )
        made = masked(data.detach(), mask)
        return made.requires_grad_() if requires_grad else made

    @property
    def _masked_data(self) -> Tensor:
        return self._array.data

    @property
    def _masked_mask(self) -> Tensor:
        return self._array.mask

    def get_data(self) -> Tensor:
        """All elements, also those that are not there, as an ordinary tensor; the gradient is masked."""
        found = elements(self)
        return found.detach() if found is self._array.data else found

    def get_mask(self) -> Tensor:
        """Which elements are there."""
        return self._array.mask

    def to_tensor(self, value: float) -> Tensor:
        """An ordinary tensor, with `value` in place of the elements that are not there."""
        return elements(self).masked_fill(~self._array.mask, value)

    def to_dense(self, dtype: Any = None, *, masked_grad: Any = None) -> Any:
        """Itself, as the elements are stored one by one."""
        return self if dtype is None else self.to(dtype)

    def is_contiguous(self, memory_format: Any = contiguous_format) -> bool:
        return self._array.data.is_contiguous(memory_format)

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        return f"MaskedTensor({_text(self._array.data, self._array.mask)})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        if not self.is_leaf:
            raise RuntimeError("MaskedTensor: only leaves can be saved; detach() it first")
        return _rebuild, (self._array.data, self._array.mask, self.requires_grad)


def _rebuild(data: Tensor, mask: Tensor, requires_grad: bool) -> Any:
    return MaskedTensor(data, mask, requires_grad)


MaskedArray.made = MaskedTensor


def is_masked_tensor(obj: Any, /) -> bool:
    """Whether an object is a masked tensor."""
    return isinstance(obj, MaskedTensor)


def masked(data: Tensor, mask: Tensor) -> Any:
    """A masked tensor; it is recorded."""
    return compound(MaskedArray(data.detach(), mask), data)


def refuse_misfits(data: Any, mask: Any) -> None:
    """Refuse what is no data and mask of a masked tensor.

    Raises
    ------
    TypeError, ValueError
        In PyTorch's words.
    """
    for name, part in (("data", data), ("mask", mask)):
        if not isinstance(part, Tensor) or isinstance(part, CompoundTensor):
            raise TypeError(f"{name} must be a Tensor")
    if mask.dtype is not mt.bool:
        raise TypeError("mask must have dtype bool.")
    if data.layout is not mt.strided or mask.layout is not mt.strided:
        raise NotImplementedError("masked tensors of sparse layouts are not supported by mindtorch")
    if data.dim() != mask.dim():
        raise ValueError("data.dim() must equal mask.dim()")
    if data.size() != mask.size():
        raise ValueError("data.size() must equal mask.size()")


def _word(number: Any) -> str:
    return f"{number:8.4f}" if isinstance(number, float) else str(number)


def _text(data: Tensor, mask: Tensor) -> str:
    if not data.dim():
        return f"{_word(data.item())}, True" if mask.item() else "--, False"
    return f"\n{_indented(_rows(data.tolist(), mask.tolist()))}\n"


def _rows(data: Any, mask: Any) -> str:
    if not isinstance(data[0] if data else 0, list):
        words = [_word(number) for number in data]
        width = max([8 if not there else len(word) for word, there in zip(words, mask, strict=True)], default=0)
        return f"[{', '.join(w if there else '--'.rjust(width) for w, there in zip(words, mask, strict=True))}]"
    inner = ",\n".join(_rows(*pair) for pair in zip(data, mask, strict=True))
    return f"[\n{_indented(inner)}\n]"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


RULES = Rules(
    "MaskedTensor",
    composites=(
        "narrow", "movedim.int", "movedim.intlist", "swapaxes", "swapdims", "view_as", "reshape_as", "expand_as",
        "isclose", "split.sizes", "softmax.int", "log_softmax.int", "rand_like", "randn_like", "log_sigmoid", "reshape",
        "flatten.using_ints", "unflatten.int", "chunk", "type_as", "t", "hsplit.int", "vsplit.int", "ravel",
    ),
    families=("elementwise",),
    refusal=lambda name: TypeError(
        f"Multiple dispatch failed for 'torch._ops.aten.{name}'; all __torch_dispatch__ handlers returned "
        "NotImplemented: no rule for MaskedTensor"
    ),
)  # fmt: skip
MaskedArray.rules = RULES
