"""The memory block behind tensors: what ``storage()`` shows, and what moves when a tensor is resized.

A block is made only when something asks for it (a view by geometry, a storage method, `detach`, `.data`); plain results
have none, and their array is all there is.
"""

from __future__ import annotations

import math
from typing import Any
from weakref import ref

from . import dtypes
from .cell import AliasCell, Cell, cell_of, counts_writes, moved_cell
from .checks.memory import refuse_size
from .formats import sparse_coo
from .keys import (
    AUTOGRAD,
    BACKEND_MASK,
    CONJUGATE,
    FLAGS,
    INFERENCE,
    NEGATIVE,
    OTHER_INDEX,
    QUANTIZED,
    SPARSE,
    STRIDED,
)
from .meta_array import HollowArray
from .meta_backend import backend as meta
from .spec import is_contiguous

__all__ = [
    "Block", "block_of", "end_of", "have_one_kind", "mark_exported", "move_block", "placed_on", "rebind",
    "refuse_beyond", "refuse_rebinding", "resize_block", "set_geometry", "share_block",
]  # fmt: skip


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
        beyond = self.attributes.get("beyond")
        if beyond is not None:
            offset: int = self.backend.offset(beyond, tensor._array)
            if 0 <= offset < beyond.shape[0]:
                return offset
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
        # A hollow tensor has no memory, whatever its device.
        backend = meta if isinstance(base._array, HollowArray) else base._backend
        block = Block(backend.owner(base._array), backend, base._keys)
        block.enter(cell)
        if isinstance(base._array, HollowArray):
            block.attributes["hollow"] = True
        if cell.is_exported:
            block.attributes["resizable"] = False
    return cell.block


def mark_exported(tensor: Any) -> None:
    """Note that something outside of the core has the tensor's memory, which must stay where it is from now on."""
    cell = cell_of(tensor)
    if cell.block is None:
        cell.is_exported = True
    else:
        cell.block.attributes["resizable"] = False


def share_block(alias: Any, source: Any) -> None:
    """Put a new tensor on the source's block with a version counter of its own (``.data``)."""
    block = block_of(source)
    cell = alias._cell = AliasCell(alias) if alias._keys & INFERENCE else Cell(alias)
    block.enter(cell)


def placed_on(memory: Any, backend: Any, tensor: Any) -> Any:
    """A fresh tensor, on a block of a backend's bytes of which its array is a part."""
    cell = tensor._cell = Cell(tensor)
    Block(memory, backend, tensor._keys).enter(cell)
    return tensor


def have_one_kind(tensor: Any, other: Any) -> bool:
    """Whether ``tensor.data = other`` is possible: both dense, quantized, of coordinates, compressed; or meta."""
    if (tensor._keys ^ other._keys) & (SPARSE | QUANTIZED):
        return False
    if tensor._keys & SPARSE and (tensor._array.layout is sparse_coo) != (other._array.layout is sparse_coo):
        return False
    return bool(tensor.is_meta == other.is_meta)


def refuse_rebinding(tensor: Any, value: Any) -> None:
    """Refuse ``tensor.data = value`` of incompatible types.

    Raises
    ------
    RuntimeError
        As in PyTorch.
    """
    if tensor._keys & AUTOGRAD and not (value._dtype.is_floating_point or value._dtype.is_complex):
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
    if not have_one_kind(tensor, value):
        raise RuntimeError(
            "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type."
        )
    if (
        (tensor._keys ^ value._keys) & BACKEND_MASK
        and tensor._autograd is not None
        and tensor._autograd.grad_fn is not None
    ):
        raise RuntimeError(
            "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor "
            f"type. ({tensor.device} and {value.device})"
        )


def rebind(tensor: Any, value: Any) -> None:
    """``tensor.data = value``: takes the value's memory, dtype and geometry, keeps history, base and version."""
    if tensor._cell is not None:
        block_of(tensor)  # views of the tensor find the memory that it leaves by their cell
    block = block_of(value)
    tensor._array = value._array
    tensor._dtype = value._dtype
    taken = BACKEND_MASK | STRIDED | OTHER_INDEX | CONJUGATE | NEGATIVE
    kept = AUTOGRAD | (tensor._keys & ~(taken | FLAGS))
    inference = (tensor._keys | value._keys) & INFERENCE
    counts = bool(inference) and (not tensor._keys & INFERENCE or counts_writes(tensor))
    tensor._keys = (tensor._keys & kept) | (value._keys & taken) | inference
    cell = moved_cell(tensor)
    if counts and cell.__class__ is Cell:
        cell.__class__ = AliasCell
    block.enter(cell)


def set_geometry(tensor: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, d: Any = None) -> None:
    """Lay a tensor out anew on its own block; strides and offset in elements."""
    block = block_of(tensor)
    d = d or tensor._dtype
    size = d.itemsize
    tensor._array = block.backend.as_strided(block.owner, shape, tuple(s * size for s in strides), offset * size, d)
    tensor._dtype = d
    mark_layout(tensor, is_contiguous(shape, strides))


def give_shape(tensor: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Lay a tensor out anew where it begins, on its own block, which grows where it must; its version stays.

    Returns
    -------
    int
        How many elements the block held before, from the first on.
    """
    block = block_of(tensor)
    step, offset, before = tensor._dtype.itemsize, block.offset_of(tensor), block.nbytes
    needed = offset + math.prod(shape) * step
    if needed > before:
        refuse_size(shape, step, counted_first=True)
        resize_block(block, needed)
    elif 0 in shape:
        refuse_size(shape, step)
    set_geometry(tensor, shape, strides, offset // step)
    return max(0, before - offset) // step


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
    # What reaches beyond the end shares the bytes up to it.
    reach = max(nbytes, max((end_of(block, tensor) for tensor in block.tensors()), default=0))
    memory = backend.empty((reach,), dtypes.uint8, None, backend.index_of(block.owner))
    common = min(nbytes, block.nbytes)
    if common:
        backend.copy(_front(backend, memory, common), _front(backend, block.owner, common))
    if reach > nbytes:
        move_block(block, _front(backend, memory, nbytes), memory)
    else:
        move_block(block, memory)


def move_block(block: Block, owner: Any, beyond: Any = None) -> None:
    """Put a block on other memory, which begins with the same bytes; every tensor on it follows.

    Tensors that reach beyond its end keep their geometry, and lie on the memory `beyond`, of which `owner` is the
    front, until the block has grown again: elements past the end are lost, as in PyTorch, where they are what happens
    to lie there. Where `owner` cannot be a part of more memory, all of their elements lie on memory of their own.
    """
    placed = [(tensor, block.offset_of(tensor), end_of(block, tensor)) for tensor in block.tensors()]
    nbytes = owner.shape[0]
    last = max((end for _, _, end in placed), default=0)
    block.attributes.pop("beyond", None)
    if last > nbytes:
        if beyond is None:
            beyond = block.backend.empty((last,), dtypes.uint8, None, block.backend.index_of(owner))
        block.attributes["beyond"] = beyond
    block.owner = owner
    for tensor, offset, end in placed:
        place = owner if end <= nbytes else block.attributes["beyond"]
        array = tensor._array
        offset = min(offset, nbytes) if not end else offset
        tensor._array = block.backend.as_strided(place, array.shape, array.strides, offset, tensor._dtype)


def end_of(block: Block, tensor: Any) -> int:
    """Byte offset of the end of a tensor's last element; 0 without elements."""
    array = tensor._array
    if 0 in array.shape:
        return 0
    span = sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True))
    return block.offset_of(tensor) + array.itemsize + span


def refuse_beyond(tensor: Any) -> None:
    """Refuse to describe a tensor whose storage has become too small for it.

    Raises
    ------
    RuntimeError
        With PyTorch's words for such a geometry.
    """
    block = block_of(tensor)
    needed = end_of(block, tensor) if "beyond" in block.attributes else 0
    if needed > block.nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(tensor.shape)}, strides {list(tensor.stride())}, storage offset "
            f"{tensor.storage_offset()}, and itemsize {tensor._dtype.itemsize} requiring a storage size of {needed} "
            f"are out of bounds for storage of size {block.nbytes}"
        )


def _front(backend: Any, owner: Any, count: int) -> Any:
    return backend.as_strided(owner, (count,), (1,), 0, dtypes.uint8)
