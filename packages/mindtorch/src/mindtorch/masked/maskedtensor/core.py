"""The class of masked tensors."""

import math
import warnings
from typing import Any

import mt_core as mt
from mt_core import Tensor
from mt_core.formats import contiguous_format

from ..._compound.layer import Rules, elements
from ..._compound.parts import CompoundArray, CompoundTensor, compound
from .matching import _masks_match as _masks_match
from .matching import _tensors_match as _tensors_match

__all__ = ["LAYOUTS", "RULES", "MaskedArray", "MaskedTensor", "is_masked_tensor", "masked", "with_values"]

#: The layouts that data and mask may have.
LAYOUTS = (mt.strided, mt.sparse_coo, mt.sparse_csr)
#: Their dtypes in PyTorch.
_DTYPES = frozenset((mt.float16, mt.float32, mt.float64, mt.bool, mt.int8, mt.int16, mt.int32, mt.int64))


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
    layout = mt.strided
    writes_memory = False

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

    def elements_for(self, use: str) -> Any:
        return super().elements_for(use) if use == "memory" else self.data

    def parts(self) -> tuple[Tensor, Tensor]:
        """Data and mask as they are told."""
        return self.data, self.mask

    def whole(self, data: Tensor) -> Tensor:
        """The elements as they are."""
        return data


class SparseMaskedArray(CompoundArray):
    """The values of a tensor of a sparse layout, and a mask with the same indices.

    Attributes
    ----------
    data : Tensor
        The values, one for each index.
    mask : Tensor
        bool, one for each index: true for those that are there.
    pattern : Tensor
        The mask with its indices, of the sparse layout, coalesced.
    """

    __slots__ = ("layout", "mask", "pattern")
    mask: Tensor
    pattern: Tensor
    writes_memory = False

    def __init__(self, values: Tensor, pattern: Tensor) -> None:
        shape = tuple(pattern.shape)
        super().__init__(shape, values._dtype, (0,) * len(shape), 0, values.device)
        self.layout = pattern.layout
        self.data, self.mask, self.pattern = values, pattern.values(), pattern

    def with_data(self, data: Tensor) -> "SparseMaskedArray":
        return SparseMaskedArray(data, self.pattern)

    def gradient(self, grad: Any) -> Tensor:
        if is_masked_tensor(grad):
            same = grad._array.layout is self.layout and grad._array.data.shape == self.data.shape
            given = elements(grad) if same else grad.to_dense().get_data()
        else:
            given = grad.to_dense() if grad.layout is not mt.strided else grad
        if given.shape != self.data.shape:
            coo = self.pattern if self.layout is mt.sparse_coo else self.pattern.to_sparse()
            given = given[tuple(coo.coalesce().indices().unbind(0))]
        return mt.where(self.mask, given, mt.zeros_like(given))

    def take(self, other: Any) -> None:
        if other.shape != self.shape or other.layout is not self.layout:
            raise RuntimeError(f"what has the shape {list(other.shape)} cannot be written to {list(self.shape)}")
        self.data, self.mask, self.pattern = other.data, other.mask, other.pattern

    def parts(self) -> tuple[Tensor, Tensor]:
        """Data and mask as they are told."""
        return self.whole(self.data), self.pattern

    def whole(self, values: Tensor) -> Tensor:
        """A tensor of the layout around values; it is recorded."""
        pattern = self.pattern
        if self.layout is mt.sparse_coo:
            return mt.sparse_coo_tensor(pattern.indices(), values, self.shape, is_coalesced=True)
        return mt.sparse_csr_tensor(pattern.crow_indices(), pattern.col_indices(), values, self.shape)


def with_values(pattern: Tensor, values: Tensor) -> Any:
    """A masked tensor of a sparse layout, of its mask and the values beside it; it is recorded."""
    return compound(SparseMaskedArray(values.detach(), pattern), values)


class MaskedTensor(CompoundTensor):
    """A tensor some elements of which are not there; see ``torch.masked.masked_tensor``."""

    _array: Any

    def __new__(cls, data: Any, mask: Any, requires_grad: bool = False) -> Any:
        data, mask = fitted(data, mask)
        if data.requires_grad:
            warnings.warn(
                "It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid this, you "
                "can use data.detach().clone()",
                UserWarning,
                stacklevel=2,
            )
        made = masked(data.detach(), mask)
        if requires_grad and not (data.is_floating_point() or data.is_complex()):
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        return made.requires_grad_() if requires_grad else made

    @property
    def layout(self) -> Any:
        """That of the data and the mask."""
        return self._array.layout

    @property
    def is_sparse(self) -> bool:
        """Whether data and mask are coordinates."""
        return self._array.layout is mt.sparse_coo

    def is_sparse_coo(self) -> bool:
        """Whether data and mask are coordinates; a method, as in PyTorch."""
        return self._array.layout is mt.sparse_coo

    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        """Whether data and mask are compressed rows; a method, as in PyTorch."""
        return self._array.layout is mt.sparse_csr

    @property
    def _masked_data(self) -> Tensor:
        return self._array.parts()[0]

    @property
    def _masked_mask(self) -> Tensor:
        return self._array.parts()[1]

    def get_data(self) -> Tensor:
        """All elements, also those that are not there, as an ordinary tensor; the gradient is masked."""
        found = self._array.whole(elements(self))
        return found.detach() if found is self._array.data else found

    def get_mask(self) -> Tensor:
        """Which elements are there."""
        return self._array.parts()[1]

    def to_tensor(self, value: float) -> Tensor:
        """An ordinary tensor, with `value` in place of the elements that are not there."""
        dense = self if self._array.layout is mt.strided else self.to_dense()
        return elements(dense).masked_fill(~dense._array.mask, value)

    def to_dense(self, dtype: Any = None, *, masked_grad: Any = None) -> Any:
        """The elements stored one by one; itself where they are."""
        made = self
        if self._array.layout is not mt.strided:
            made = masked(self._array.whole(elements(self)).to_dense(), self._array.parts()[1].to_dense())
        return made if dtype is None else made.to(dtype)

    def to_sparse(self, *args: Any, layout: Any = None, **kwargs: Any) -> Any:
        """The elements that are there, as coordinates or compressed rows.

        Raises
        ------
        TypeError
            For other layouts, and for a number of dimensions.
        """
        if args or kwargs or layout not in (None, mt.sparse_coo, mt.sparse_csr):
            raise TypeError(f"MaskedTensor.to_sparse: {(*args, *kwargs.items(), layout)} is not supported")
        return self._as_layout(layout or mt.sparse_coo)

    def to_sparse_coo(self) -> Any:
        """The elements that are there, as coordinates."""
        return self._as_layout(mt.sparse_coo)

    def to_sparse_csr(self, dense_dim: int | None = None) -> Any:
        """The elements that are there, as compressed rows."""
        if dense_dim:
            raise TypeError("MaskedTensor.to_sparse_csr: dense_dim= is not supported")
        return self._as_layout(mt.sparse_csr)

    def _as_layout(self, layout: Any) -> Any:
        if layout is self._array.layout:
            return self
        mask = self._array.parts()[1].to_sparse(layout=layout)
        if layout is mt.sparse_coo:
            mask = mask.coalesce()
        values = elements(self)
        # Both layouts of a matrix go by rows, and so does what a mask selects.
        return with_values(mask, values[self._array.mask] if self._array.layout is mt.strided else values)

    def is_contiguous(self, memory_format: Any = contiguous_format) -> bool:
        if self._array.layout is not mt.strided:
            raise ValueError("MaskedTensors with sparse data do not have is_contiguous")
        return self._array.data.is_contiguous(memory_format)

    def stride(self, dim: int | None = None) -> Any:
        """Steps of the data in elements; those of a contiguous tensor of the size for sparse layouts."""
        if self._array.layout is mt.strided:
            return super().stride(dim)
        steps: list[int] = []
        step = 1
        for size in reversed(self._array.shape):
            steps.insert(0, step)
            step *= max(size, 1)
        return tuple(steps) if dim is None else steps[dim]

    def numel(self) -> int:
        """Number of elements, of those that are not there too."""
        return math.prod(self._array.shape)

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        data, mask = self._array.parts()
        if self._array.layout is not mt.strided:
            data, mask = data.to_dense(), mask.to_dense()
        return f"MaskedTensor({_text(data, mask)})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        if not self.is_leaf:
            raise RuntimeError("MaskedTensor: only leaves can be saved; detach() it first")
        return _rebuild, (*self._array.parts(), self.requires_grad)


def _rebuild(data: Tensor, mask: Tensor, requires_grad: bool) -> Any:
    return MaskedTensor(data, mask, requires_grad)


MaskedArray.made = SparseMaskedArray.made = MaskedTensor


def is_masked_tensor(obj: Any, /) -> bool:
    """Whether an object is a masked tensor."""
    return isinstance(obj, MaskedTensor)


def masked(data: Tensor, mask: Tensor) -> Any:
    """A masked tensor, of data and mask of one layout; it is recorded."""
    if data.layout is not mt.strided:
        if data.layout is mt.sparse_coo:
            data, mask = data.coalesce(), mask.coalesce()
        return with_values(mask, data.values())
    return compound(MaskedArray(data.detach(), mask), data)


def fitted(data: Any, mask: Any) -> tuple[Tensor, Tensor]:
    """Data and mask of a masked tensor: of sparse layouts coalesced, and the data at the indices of the mask.

    Raises
    ------
    TypeError, ValueError
        In PyTorch's words.
    """
    for name, part in (("data", data), ("mask", mask)):
        if not isinstance(part, Tensor) or isinstance(part, CompoundTensor):
            raise TypeError(f"{name} must be a Tensor")
    if data.layout is not mask.layout:
        raise TypeError("data and mask must have the same layout.")
    if data.layout not in LAYOUTS:
        raise TypeError(f"data layout of {data.layout} is not supported.")
    if mask.dtype is not mt.bool:
        raise TypeError("mask must have dtype bool.")
    if data.dtype not in _DTYPES:
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
    if data.dim() != mask.dim():
        raise ValueError("data.dim() must equal mask.dim()")
    if data.size() != mask.size():
        raise ValueError("data.size() must equal mask.size()")
    if data.layout is mt.sparse_coo:
        data, mask = data.coalesce(), mask.coalesce()
    if data.layout is not mt.strided and data._nnz() != mask._nnz():
        data = data.sparse_mask(mask)
    if data.layout is mt.sparse_coo:
        if not mt.equal(data.indices(), mask.indices()):
            raise ValueError("data and mask are both sparse COO tensors but do not have the same indices.")
    elif data.layout is mt.sparse_csr:
        if not _same(data.crow_indices(), mask.crow_indices()) or not _same(data.col_indices(), mask.col_indices()):
            raise ValueError("data and mask are both sparse CSR tensors but do not share either crow or col indices.")
    return data, mask


def _same(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and bool(mt.equal(a, b))


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
        "clip", "clip.Tensor",
    ),
    families=("elementwise", "comparison"),
    refusal=lambda name: TypeError(
        f"Multiple dispatch failed for 'torch._ops.aten.{name}'; all __torch_dispatch__ handlers returned "
        "NotImplemented: no rule for MaskedTensor"
    ),
)  # fmt: skip
MaskedArray.rules = SparseMaskedArray.rules = RULES
