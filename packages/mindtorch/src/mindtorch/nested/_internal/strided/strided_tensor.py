"""The class of nested tensors of the strided layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mt_core as mt
from mt_core import Size, Tensor, int64
from mt_core.formats import contiguous_format
from mt_core.formats import layout as TensorLayout
from mt_core.serialization import rebuild
from mt_core.tensor import wrap_dim

from ...._compound.layer import Rules, elements
from ...._compound.parts import CompoundArray, CompoundTensor, compound
from .layouts import Layout, contiguous_layout

__all__ = [
    "RULES", "StridedArray", "StridedNestedTensor", "around", "buffer", "components", "joined", "like", "placed_as",
]  # fmt: skip


class StridedArray(CompoundArray):
    """A buffer, and where the components lie in it.

    Attributes
    ----------
    data : Tensor
        The buffer, a vector; views of a nested tensor have the buffer of their base.
    placed : Layout
        Sizes, strides and beginnings of the components.
    """

    __slots__ = ("placed",)
    placed: Layout
    layout = mt.strided

    def __init__(self, data: Tensor, placed: Layout) -> None:
        self.data, self.placed = data, placed
        self.dtype, self.itemsize, self.device = data._dtype.numpy_dtype, data._dtype.itemsize, data.device
        self.shape = placed.shape()
        self.strides = (0,) * len(self.shape)
        self.offset, self.nbytes_owned = 0, 0

    def with_data(self, data: Tensor) -> StridedArray:
        return StridedArray(data, self.placed)

    def gradient(self, grad: Any) -> Tensor:
        if not isinstance(grad, StridedNestedTensor):
            raise RuntimeError(f"expected the gradient of a nested tensor to be nested, but got {type(grad).__name__}")
        given = grad._array
        if given.placed == self.placed and given.data.shape == self.data.shape and self.covered:
            return elements(grad)
        return placed_as(components(grad), self)

    @property
    def covered(self) -> bool:
        """Whether every element of the buffer belongs to one component."""
        return self.placed.covers(self.data.numel())

    def take(self, other: Any) -> None:
        if other.placed.sizes != self.placed.sizes:
            raise RuntimeError("output with shape [*] doesn't match the broadcast shape [*]")
        if other.placed == self.placed and self.covered and other.data.shape == self.data.shape:
            self.data.copy_(other.data)
            return
        for target, source in zip(_views(self.data, self), _views(other.data, other), strict=True):
            target.copy_(source)

    def elements_for(self, use: str) -> Any:
        if use == "memory":
            return self.data
        return _views(self.data, self)[0] if self.size == 1 else super().elements_for(use)

    @property
    def size(self) -> Any:  # type: ignore[override]
        return sum(self.placed.numels())


class StridedNestedTensor(CompoundTensor):
    """Tensors of several sizes as one; see ``torch.nested.nested_tensor``."""

    _array: StridedArray

    @property
    def layout(self) -> TensorLayout:
        """``torch.strided``."""
        return mt.strided

    @property
    def is_nested(self) -> bool:  # type: ignore[override]
        return True

    # Sizes

    @property
    def shape(self) -> Size:
        """Components have shapes of their own.

        Raises
        ------
        RuntimeError
            Always, in PyTorch's words.
        """
        raise RuntimeError("Internal error: NestedTensorImpl doesn't support sizes. Please file an issue.")

    def size(self, dim: int | None = None) -> Any:
        """The size of one dimension, where all components have it.

        Raises
        ------
        RuntimeError
            Without a dimension, and for one that differs between components.
        """
        if dim is None:
            return self.shape
        at = wrap_dim(dim, self.dim())
        placed = self._array.placed
        found = len(placed.sizes) if at == 0 else placed.regular(at - 1)
        if found is None:
            raise RuntimeError(f"Given dimension {dim} is irregular and does not have a size.")
        return found

    def stride(self, dim: int | None = None) -> Any:
        """Components have strides of their own.

        Raises
        ------
        RuntimeError
            Always, in PyTorch's words.
        """
        raise RuntimeError("Internal error: NestedTensorImpl doesn't support strides. Please file an issue.")

    def __getitem__(self, key: Any) -> Any:
        first = key[0] if isinstance(key, tuple) and key else key
        if isinstance(first, slice):
            raise RULES.refused("slice.Tensor")
        return super().__getitem__(key)

    def __len__(self) -> int:
        return len(self.shape)

    def __iter__(self) -> Any:
        return iter(self.unbind(0))

    def numel(self) -> int:
        """Number of elements of all components."""
        return self._array.size  # type: ignore[no-any-return]

    def storage_offset(self) -> int:
        return 0

    def is_contiguous(self, memory_format: Any = contiguous_format) -> bool:
        """Whether the components lie one behind the other in memory, by rows."""
        return self._array.placed.is_contiguous()

    def _nested_tensor_size(self) -> Tensor:
        """(components, dimensions): the sizes."""
        return _table(self._array.placed.sizes)

    def _nested_tensor_strides(self) -> Tensor:
        """(components, dimensions): the strides, in elements."""
        return _table(self._array.placed.strides)

    def _nested_tensor_storage_offsets(self) -> Tensor:
        """Where each component begins in the buffer."""
        return mt.tensor(list(self._array.placed.starts), dtype=int64)

    @property
    def nbytes(self) -> int:
        return self.numel() * self.itemsize

    # Memory

    def values(self) -> Tensor:
        """The buffer: a vector of all elements, in the memory of the nested tensor."""
        return elements(self).view(-1)

    def data_ptr(self) -> int:
        """Where the buffer begins."""
        return self._array.data.data_ptr()

    def untyped_storage(self) -> Any:
        """The memory of the buffer."""
        return self._array.data.untyped_storage()

    def storage(self) -> Any:
        """The memory of the buffer."""
        return self._array.data.storage()

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Tensor:
        """All components as one ordinary tensor (see ``torch.nested.to_padded_tensor``)."""
        return RULES.named("to_padded_tensor")(self, padding, output_size)  # type: ignore[no-any-return]

    def is_same_size(self, other: Any) -> bool:
        """Whether another nested tensor has components of the same sizes."""
        return isinstance(other, StridedNestedTensor) and self._array.placed.sizes == other._array.placed.sizes

    def tolist(self) -> Any:
        raise RuntimeError("Internal error: NestedTensorImpl doesn't support strides. Please file an issue.")

    def numpy(self, *, force: bool = False) -> Any:
        raise RuntimeError("Internal error: NestedTensorImpl doesn't support sizes. Please file an issue.")

    # Text and files

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        parts = _views(self._array.data.detach(), self._array)
        if self.requires_grad:
            parts = [part.detach().requires_grad_() for part in parts]
        text = ",\n".join("\n".join(f"  {line}" for line in str(part).split("\n")) for part in parts)
        history = ""
        if self.grad_fn is not None:
            history = f", grad_fn=<{self.grad_fn.name()}>"
        elif self.requires_grad:
            history = ", requires_grad=True"
        return f"nested_tensor([\n{text}\n]{history})"

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def __reduce_ex__(self, protocol: Any) -> Any:
        if not self.is_leaf:
            raise RuntimeError("nested tensors: only leaves can be saved; detach() it first")
        data = self._array.data.detach().requires_grad_(self.requires_grad)
        tables = self._nested_tensor_size(), self._nested_tensor_strides(), self._nested_tensor_storage_offsets()
        return rebuild._rebuild_nested_tensor, (data, *tables)


StridedArray.made = StridedNestedTensor


def _table(rows: Sequence[Sequence[int]]) -> Tensor:
    if not rows:
        return mt.tensor([], dtype=int64)
    return mt.tensor([list(row) for row in rows], dtype=int64).reshape(len(rows), len(rows[0]))


def _views(data: Tensor, array: StridedArray) -> list[Tensor]:
    placed = array.placed
    return [
        data.as_strided(size, steps, start + data.storage_offset())
        for size, steps, start in zip(placed.sizes, placed.strides, placed.starts, strict=True)
    ]


def placed_as(parts: Sequence[Tensor], array: StridedArray) -> Tensor:
    """A buffer in which parts lie as the components of an array do, and zeros elsewhere; it is recorded."""
    placed = array.placed
    if placed.is_contiguous() and array.covered:
        return mt.cat([part.reshape(-1) for part in parts]) if parts else mt.zeros_like(array.data)
    numbers = mt.arange(array.data.numel(), device=array.data.device)
    places = [one.reshape(-1) for one in _views(numbers, array)]
    flat = mt.zeros(array.data.shape, dtype=parts[0].dtype, device=parts[0].device)
    return flat.index_copy(0, mt.cat(places), mt.cat([part.reshape(-1) for part in parts]))


def around(data: Tensor, placed: Layout) -> Any:
    """A nested tensor on a buffer; it is recorded."""
    return compound(StridedArray(data.detach(), placed), data)


def like(self: Any, data: Tensor) -> Any:
    """A nested tensor with the layout of another on another buffer; it is recorded."""
    return around(data, self._array.placed)


def joined(parts: Sequence[Tensor]) -> Any:
    """A contiguous nested tensor of components, at least one; it is recorded."""
    return around(mt.cat([part.reshape(-1) for part in parts]), contiguous_layout([part.shape for part in parts]))


def components(self: Any) -> list[Tensor]:
    """The components, in the memory of the nested tensor; they are recorded."""
    array = self._array
    placed = array.placed
    if not placed.sizes:
        return []
    data = elements(self)
    if data.requires_grad and placed.is_contiguous() and array.covered:  # one operation with a gradient, not many
        pieces = data.split_with_sizes(placed.numels())
        return [piece.view(size) for piece, size in zip(pieces, placed.sizes, strict=True)]
    return _views(data, array)


def buffer(self: Any) -> Tensor:
    """The buffer of a contiguous nested tensor.

    Raises
    ------
    RuntimeError
        Where it is not contiguous, in PyTorch's words.
    """
    if not self._array.placed.is_contiguous():
        raise RuntimeError("NestedTensor must be contiguous to get buffer.")
    data = elements(self)
    numel = self._array.size
    return data if data.numel() == numel else data[:numel]


RULES = Rules(
    "nested tensors of the strided layout",
    composites=(
        "absolute", "negative", "subtract.Tensor", "multiply.Tensor", "divide.Tensor", "true_divide.Tensor", "mT",
        "swapaxes", "swapdims", "softmax.int", "log_softmax.int", "movedim.int", "isreal", "type_as", "adjoint",
    ),
    families=(),
    refusal=lambda name: NotImplementedError(
        f"Could not run 'aten::{name.removesuffix('.default')}' with arguments from the 'NestedTensorCPU' backend. "
        "This operator is not implemented for nested tensors of the strided layout."
    ),
)  # fmt: skip


def _no_rule(overload: Any) -> Callable[..., Any]:
    def refuse(*args: Any) -> Any:
        raise RULES.refused(overload.name)

    return refuse


RULES.elementwise = _no_rule
StridedArray.rules = RULES
