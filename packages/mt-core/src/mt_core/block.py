"""The memory block behind tensors: what ``storage()`` shows, and what moves when a tensor is resized.

A block is made only when something asks for it (a view by geometry, a storage method, `detach`, `.data`); plain results
have none, and their array is all there is.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

from . import dtypes
from .cell import Cell, cell_of
from .keys import AUTOGRAD, BACKEND_MASK, CONJUGATE, FLAGS, NEGATIVE, OTHER_INDEX, STRIDED
from .spec import is_contiguous

__all__ = ["Block", "block_of", "move_block", "rebind", "resize_block", "set_geometry", "share_block"]


class Block:
    """A flat byte array of a backend, and the cells of the tensors that lie on it."""

    __slots__ = ("owner", "backend", "cells", "keys", "attributes", "__weakref__")

    def __init__(self, owner: Any, backend: Any, keys: int) -> None:
        self.owner = owner
        self.backend = backend
        self.keys = keys & BACKEND_MASK
        self.cells: list[Any] = []
        #: Facts that storage objects keep (shared, file name of a mapping).
        self.attributes: dict[str, Any] = {}

    @property
    def nbytes(self) -> int:
        return self.owner.shape[0]

    def offset_of(self, tensor: Any) -> int:
        """Byte offset of a tensor's first element."""
        return self.backend.offset(self.owner, tensor._array)

    def enter(self, cell: Cell) -> None:
        """Make this the block of a cell."""
        cell.block = self
        self.cells = [r for r in self.cells if r() is not None]
        self.cells.append(ref(cell))

    def tensors(self) -> list[Any]:
        """The living tensors on this block, whatever version counter they have."""
        return [
            t for r in self.cells for cell in [r()] if cell is not None and cell.block is self for t in cell.tensors()
        ]


def block_of(tensor: Any) -> Block:
    """The block a tensor lies on, made from its base's array if there is none yet."""
    cell = cell_of(tensor)
    if cell.block is None:
        base = tensor if tensor._base is None else tensor._base
        backend = base._backend
        Block(backend.owner(base._array), backend, base._keys).enter(cell)
    return cell.block


def share_block(alias: Any, source: Any) -> None:
    """Put a new tensor on the source's block with a version counter of its own (``.data``)."""
    block = block_of(source)
    cell = alias._cell = Cell(alias)
    block.enter(cell)


def rebind(tensor: Any, value: Any) -> None:
    """``tensor.data = value``: the tensor takes the value's memory, dtype and geometry; its history and version stay.

    Raises
    ------
    RuntimeError
        When the types are incompatible, as in PyTorch.
    """
    if (
        (tensor._keys ^ value._keys) & BACKEND_MASK
        and tensor._autograd is not None
        and tensor._autograd.grad_fn is not None
    ):
        raise RuntimeError(
            "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor "
            f"type. ({tensor.device} and {value.device})"
        )
    version = 0
    if tensor._cell is not None:
        version = tensor._cell.version
        block_of(tensor)  # views of the tensor find the memory that it leaves by their cell
    block = block_of(value)
    tensor._array = value._array
    tensor._dtype = value._dtype
    taken = BACKEND_MASK | STRIDED | OTHER_INDEX | CONJUGATE | NEGATIVE
    kept = AUTOGRAD | (tensor._keys & ~(taken | FLAGS))
    tensor._keys = (tensor._keys & kept) | (value._keys & taken)
    tensor._base = None
    tensor._cell = cell = Cell(tensor)
    cell.version = version
    block.enter(cell)


def set_geometry(tensor: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, d: Any = None) -> None:
    """Lay a tensor out anew on its own block; strides and offset in elements."""
    block = block_of(tensor)
    d = d or tensor._dtype
    size = d.itemsize
    tensor._array = block.backend.as_strided(block.owner, shape, tuple(s * size for s in strides), offset * size, d)
    tensor._dtype = d
    mark_layout(tensor, is_contiguous(shape, strides))


def mark_layout(tensor: Any, contiguous: bool) -> None:
    """Set or clear the flag of a non-contiguous layout."""
    tensor._keys = tensor._keys & ~STRIDED if contiguous else tensor._keys | STRIDED


def resize_block(block: Block, nbytes: int) -> None:
    """Give a block another size, keeping its bytes as far as they fit; every tensor on it follows.

    Raises
    ------
    RuntimeError
        When the memory belongs to something else: an array, a file, a shared mapping.
    """
    if nbytes == block.nbytes:
        return
    if not block.attributes.get("resizable", True):
        raise RuntimeError("Trying to resize storage that is not resizable")
    backend = block.backend
    resized = backend.empty((nbytes,), dtypes.uint8, None, backend.index_of(block.owner))
    common = min(nbytes, block.nbytes)
    if common:
        backend.copy(_front(backend, resized, common), _front(backend, block.owner, common))
    move_block(block, resized)


def move_block(block: Block, owner: Any) -> None:
    """Put a block on other memory, which begins with the same bytes; every tensor that fits there follows."""
    tensors = block.tensors()
    offsets = [block.offset_of(t) for t in tensors]
    nbytes = owner.shape[0]
    block.owner = owner
    for tensor, offset in zip(tensors, offsets, strict=True):
        array = tensor._array
        end = offset + array.itemsize + sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True))
        if 0 in array.shape or end <= nbytes:
            tensor._array = block.backend.as_strided(
                owner, array.shape, array.strides, min(offset, nbytes), tensor._dtype
            )


def _front(backend: Any, owner: Any, count: int) -> Any:
    return backend.as_strided(owner, (count,), (1,), 0, dtypes.uint8)
