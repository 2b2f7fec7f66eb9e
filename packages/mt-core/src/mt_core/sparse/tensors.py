"""What sparse tensors are made of: `Coordinates` or `Compressed` in place of an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..cell import cell_of
from ..devices import backend_key, device
from ..dispatch.registry import find_overload
from ..dtypes import dtype
from ..formats import layout as Layout
from ..formats import sparse_coo, sparse_csc, sparse_csr
from ..hollow import has_elements
from ..keys import BACKEND_MASK, OTHER_INDEX, SPARSE, STRIDED
from ..meta_array import HollowArray
from ..state import mode_triple, tls
from ..tensor import Tensor

__all__ = [
    "Compressed", "Coordinates", "SparseArray", "compressed", "coordinates", "empty_coordinates", "flat_indices",
    "is_coo", "is_sparse", "layout_name", "replace",
]  # fmt: skip

#: What a write may change: where the parts are.
_WHERE = BACKEND_MASK | OTHER_INDEX
#: PyTorch's names of layouts in messages.
_NAMES = {sparse_coo: "Sparse", sparse_csr: "SparseCsr", sparse_csc: "SparseCsc"}


class SparseArray(HollowArray):
    """What sparse tensors have in place of memory.

    Attributes
    ----------
    layout : torch.layout
        How indices and values are to be read.
    values : Tensor
        One element, or one block of the dense dimensions, for each index.
    """

    __slots__ = ("layout", "values")
    layout: Layout
    values: Tensor

    def __init__(self, shape: tuple[int, ...], values: Tensor, laid_out: Layout) -> None:
        super().__init__(shape, values._dtype, (0,) * len(shape), 0, values.device)
        self.values = values
        self.layout = laid_out

    @property
    def has_elements(self) -> bool:  # type: ignore[override]
        return has_elements(self.values)

    def elements_for(self, use: str) -> Any:
        if use == "memory":
            raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
        return find_overload("_to_dense").call(_around(self, self.values._dtype, self.device), None, None)


class Coordinates(SparseArray):
    """Coordinates (COO): `indices` (sparse_dim, nnz), int64, and `values` (nnz, *dense sizes).

    `is_coalesced`: the indices are sorted, and none comes twice.
    """

    __slots__ = ("indices", "is_coalesced")
    indices: Tensor
    is_coalesced: bool

    @property
    def sparse_dim(self) -> int:
        return int(self.indices.shape[0])

    @property
    def dense_dim(self) -> int:
        return len(self.shape) - int(self.indices.shape[0])

    @property
    def nnz(self) -> int:
        return int(self.values.shape[0])


class Compressed(SparseArray):
    """Compressed rows (CSR) or columns (CSC) of matrices, or of equally filled batches of them.

    `pointers` (*batch, n + 1) says where each row, or column, begins in `plain` (*batch, nnz), the indices of the other
    dimension, and in `values` (*batch, nnz, *dense sizes).
    """

    __slots__ = ("pointers", "plain")
    pointers: Tensor
    plain: Tensor

    @property
    def batch_dim(self) -> int:
        return int(self.plain.ndim) - 1

    @property
    def dense_dim(self) -> int:
        return int(self.values.ndim) - int(self.plain.ndim)

    @property
    def nnz(self) -> int:
        return int(self.plain.shape[-1])

    @property
    def by_rows(self) -> bool:
        return self.layout is sparse_csr


def is_sparse(value: Any) -> bool:
    """Whether a value is a tensor of a sparse layout."""
    return isinstance(getattr(value, "_array", None), SparseArray)


def is_coo(value: Any) -> bool:
    """Whether a value is a tensor of coordinates."""
    return isinstance(getattr(value, "_array", None), Coordinates)


def layout_name(tensor: Tensor) -> str:
    """What PyTorch's messages call a tensor's layout."""
    return _NAMES[tensor._array.layout] if is_sparse(tensor) else "Strided"


def coordinates(indices: Tensor, values: Tensor, size: Sequence[int], is_coalesced: bool = False) -> Tensor:
    """A tensor of coordinates. Indices of at most one element are sorted."""
    array = Coordinates(tuple(size), values, sparse_coo)
    array.indices = indices
    array.is_coalesced = is_coalesced or int(values.shape[0]) < 2
    return _around(array, values._dtype, values.device)


def compressed(pointers: Tensor, plain: Tensor, values: Tensor, size: Sequence[int], laid_out: Layout) -> Tensor:
    """A tensor of compressed rows or columns, by its layout."""
    array = Compressed(tuple(size), values, laid_out)
    array.pointers, array.plain = pointers, plain
    return _around(array, values._dtype, values.device)


def empty_coordinates(size: Sequence[int], sparse_dim: int, d: dtype, on: device) -> Tensor:
    """A tensor of coordinates without any."""
    from ..api import _functions as ops  # lazy: the operators import what is here

    indices = ops.zeros([sparse_dim, 0], dtype=dtypes.int64, device=on)
    return coordinates(indices, ops.zeros([0, *size[sparse_dim:]], dtype=d, device=on), size)


def _around(array: SparseArray, d: dtype, on: device) -> Tensor:
    made = object.__new__(Tensor)
    made._array, made._dtype = array, d
    made._keys = SPARSE | STRIDED | backend_key(on.type) | (OTHER_INDEX if on.index else 0) | mode_triple(tls.mode)[2]
    made._autograd = made._cell = made._base = None
    return made


def replace(tensor: Tensor, made: Tensor) -> Tensor:
    """Let a sparse tensor be what another is, as a write to it."""
    tensor._array, tensor._dtype = made._array, made._dtype
    tensor._keys = tensor._keys & ~_WHERE | made._keys & _WHERE
    cell_of(tensor).version += 1
    return tensor


def flat_indices(indices: Tensor, sizes: Sequence[int]) -> Tensor:
    """Coordinates (sparse_dim, nnz) as one number each, in the order of rows."""
    flat: Any = None
    for dim, size in enumerate(sizes):
        row = indices[dim]
        flat = row if flat is None else flat * size + row
    if flat is None:
        flat = indices.new_zeros(indices.shape[1:])
    return flat
