"""Tensors laid out on a storage: made there (``rebuild_tensor``), or moved there (``Tensor.set_``)."""

from __future__ import annotations

import functools
import math
from typing import Any

from .block import Block, block_of, resize_block
from .cell import Cell, cell_of, moved_cell
from .devices import device as Device
from .dispatch.dispatcher import check_written, layer_for
from .dtypes import cpp_type_name, dtype, get_default_dtype, int64, scalar_type_name
from .formats import layout, strided
from .hollow import within_reach
from .keys import AUTOGRAD, BACKEND_MASK, FORWARD_GRAD, INFERENCE, STRIDED
from .meta_array import HollowArray, contiguous_strides
from .schema import MISSING
from .spec import is_contiguous
from .state import mode_triple, tls
from .storage import UntypedStorage, untyped
from .tensor import Tensor, new_tensor
from .typed_storage import TypedStorage

__all__ = ["checked_geometry", "from_file", "on_storage", "rebuild_tensor", "set_tensor"]

#: No tensor has more dimensions: NumPy, the array library of the CPU, ends there.
_MAX_DIMENSIONS = 64
_MAX_BYTES = 2**63 - 1


_SET_FORMS = (
    " * ()\n"
    " * (torch.Storage source)\n"
    " * (torch.Storage source, int storage_offset, tuple of ints size, tuple of ints stride = None)\n"
    " * (Tensor source)\n"
    " * (Tensor source, int storage_offset, tuple of ints size, tuple of ints stride = None)\n"
)

Ints = tuple[int, ...]


def rebuild_tensor(storage: UntypedStorage, d: dtype, offset: int, size: Any, stride: Any) -> Tensor:
    """The tensor of a geometry (in elements) on a storage, whose memory it shares.

    Raises
    ------
    RuntimeError, TypeError
        If the geometry makes no sense or reaches beyond the storage.
    """
    size, stride = checked_geometry(offset, size, stride)
    _check_bounds(storage, d, offset, size, stride)
    return _tensor_on(storage, d, offset, size, stride)


def on_storage(storage: UntypedStorage | TypedStorage, d: dtype | None) -> Tensor:
    """A 1-d tensor of the whole elements of a storage: of `d`, else of the default dtype, and int64 for bytes.

    Raises
    ------
    RuntimeError
        If that is not the dtype of a typed storage.
    """
    held = untyped(storage)
    wanted = d or (get_default_dtype() if isinstance(storage, TypedStorage) else int64)
    if isinstance(storage, TypedStorage) and storage.dtype is not wanted:
        have, want = scalar_type_name(storage.dtype), scalar_type_name(wanted)
        raise RuntimeError(f"Expected a Storage of type {want} or an UntypedStorage, but got {have}")
    return rebuild_tensor(held, wanted, 0, (held.nbytes() // wanted.itemsize,), (1,))


def from_file(
    filename: str,
    shared: bool | None = None,
    size: int | None = 0,
    *,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: Any = None,
    pin_memory: bool | None = False,
) -> Tensor:
    """A 1-d tensor of `size` elements on a file that is mapped, from its beginning.

    Parameters
    ----------
    shared
        Whether writes reach the file, which is made, or grows, where it is too short.

    Raises
    ------
    RuntimeError
        If the file cannot be opened or is too short.
    NotImplementedError
        For other devices than the CPU, other layouts than the strided one, and pinned memory.
    """
    if Device(device or "cpu").type != "cpu" or layout not in (None, strided) or pin_memory:
        raise NotImplementedError("from_file gives strided tensors on the CPU, in memory that is not pinned")
    d, count = dtype or get_default_dtype(), size or 0
    storage = UntypedStorage.from_file(filename, bool(shared), count * d.itemsize)
    return rebuild_tensor(storage, d, 0, (count,), (1,))


def _tensor_on(
    storage: UntypedStorage, d: dtype, offset: int, size: tuple[int, ...], stride: tuple[int, ...]
) -> Tensor:
    step, block = d.itemsize, storage._block
    array = block.backend.as_strided(block.owner, size, tuple(s * step for s in stride), offset * step, d)
    keys = block.keys | mode_triple(tls.mode)[2]
    tensor = new_tensor(array, d, keys if is_contiguous(size, stride) else keys | STRIDED)
    cell = tensor._cell = Cell(tensor)
    block.enter(cell)
    return tensor


def checked_geometry(offset: Any, size: Any, stride: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    for what, values in (("size", size), ("stride", stride)):
        if not isinstance(values, (tuple, list)) or any(type(v) is not int for v in values):
            raise TypeError(f"a tensor's {what} must be a tuple of ints, got {type(values).__name__}")
    if type(offset) is not int:
        raise TypeError(f"a tensor's storage offset must be an int, got {type(offset).__name__}")
    if len(size) != len(stride):
        raise RuntimeError(f"unequal size length ({len(size)}) and stride length ({len(stride)})")
    if len(size) > _MAX_DIMENSIONS:
        raise RuntimeError(f"a tensor of {len(size)} dimensions exceeds the limit of {_MAX_DIMENSIONS}")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    if any(v < 0 for v in size):
        raise RuntimeError(f"Trying to create tensor with negative dimension: {list(size)}")
    if any(v < 0 for v in stride):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    return tuple(size), tuple(stride)


def _check_bounds(
    storage: UntypedStorage, d: dtype, offset: int, size: tuple[int, ...], stride: tuple[int, ...]
) -> None:
    width = d.itemsize
    extent = width * (offset + 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True)))
    # Empty dimensions count as 1: the array library multiplies the others all the same.
    largest = max(width * math.prod(max(n, 1) for n in size), extent, width * max(stride, default=0))
    if largest > _MAX_BYTES:
        raise RuntimeError(f"numel: integer multiplication overflow with sizes={list(size)} and strides={list(stride)}")
    needed = 0 if 0 in size else extent
    if needed > storage.nbytes():
        raise RuntimeError(
            f"Trying to resize storage that is not resizable: sizes {list(size)}, strides {list(stride)} and storage "
            f"offset {offset} require {needed} bytes, and the storage has {storage.nbytes()}"
        )


def set_tensor(self: Any, source: Any, storage_offset: Any, size: Any, stride: Any) -> Any:
    """``Tensor.set_``: lay the tensor out on a storage, its own empty one if `source` is MISSING.

    Its version, which its views share, counts on; a view stays one of its base.

    Where it is recorded, the tensor's history is from then on a node that no gradient passes.

    Raises
    ------
    TypeError, RuntimeError
        For arguments that fit none of the forms, for a source of another dtype or device, for geometries that make no
        sense, and for leaves that require grad, in PyTorch's words.
    """
    read = source if isinstance(source, Tensor) else None
    within_reach(self)
    if self._keys & FORWARD_GRAD:
        raise NotImplementedError(
            "Trying to use forward AD with set_ that does not support it because it has not been implemented yet.\n"
            "Please file an issue to PyTorch at https://github.com/pytorch/pytorch/issues/new?"
            "template=feature-request.yml so that we can prioritize its implementation."
        )
    if (
        tls.grad_enabled
        and not self._keys & INFERENCE
        and (self._keys | (read._keys if read is not None else 0)) & AUTOGRAD
    ):
        move = functools.partial(_move, self, source, storage_offset, size, stride)
        return layer_for(AUTOGRAD).record_undifferentiable("set_", self, read, move)
    _move(self, source, storage_offset, size, stride)
    check_written(self)
    return self


def _move(self: Any, source: Any, storage_offset: Any, size: Any, stride: Any) -> Any:
    if source is MISSING and storage_offset is MISSING and size is MISSING:
        place = "meta" if isinstance(self._array, HollowArray) else self.device
        source, storage_offset, size, stride = UntypedStorage(device=place), 0, (0,), (1,)
    elif not isinstance(source, (Tensor, UntypedStorage, TypedStorage)) or (storage_offset is MISSING) != (
        size is MISSING
    ):
        raise _no_such_form(source, storage_offset, size, stride)
    block = _block_of_source(self, source)
    if size is MISSING:
        return _laid_out(self, block, *_whole_of(self, source))
    if type(storage_offset) is not int or not isinstance(size, (tuple, list)):
        raise _no_such_form(source, storage_offset, size, stride)
    if any(type(n) is int and n < 0 for n in size):
        raise RuntimeError("numel: integer multiplication overflow")
    steps = contiguous_strides(tuple(size)) if stride is MISSING or not stride else stride
    size, steps = checked_geometry(storage_offset, size, steps)
    needed = _extent(self._dtype, storage_offset, size, steps)
    if needed > block.nbytes:
        resize_block(block, needed)
    return _laid_out(self, block, storage_offset, size, steps)


def _no_such_form(*values: Any) -> TypeError:
    got = ", ".join(_type_name(v) for v in values if v is not MISSING)
    return TypeError(
        f"set_() received an invalid combination of arguments - got ({got}), but expected one of:\n{_SET_FORMS}"
    )


def _type_name(value: Any) -> str:
    return f"torch.storage.{type(value).__name__}" if isinstance(value, UntypedStorage) else type(value).__name__


def _block_of_source(tensor: Any, source: Any) -> Block:
    """The memory behind a tensor or storage that `tensor` may be laid out on."""
    block = block_of(source) if isinstance(source, Tensor) else _untyped(source)._block
    if isinstance(source, Tensor) and source._dtype is not tensor._dtype:
        have, want = cpp_type_name(tensor._dtype), cpp_type_name(source._dtype)
        raise RuntimeError(f"Could not set tensor of type {want} to a tensor of type {have}")
    if isinstance(source, TypedStorage) and source.dtype is not tensor._dtype:
        raise RuntimeError(
            f"Expected a Storage of type {cpp_type_name(tensor._dtype)} or an UntypedStorage, but got type "
            f"{scalar_type_name(source.dtype)} for argument 1 'storage'"
        )
    own = block_of(tensor).keys if isinstance(tensor._array, HollowArray) else tensor._keys
    if (block.keys ^ own) & BACKEND_MASK:
        raise RuntimeError(
            f'Attempted to set the storage of a tensor on device "{tensor.device}" to a storage on different device '
            f'"{source.device}".  This is no longer allowed; the devices must match.'
        )
    return block


def _untyped(storage: UntypedStorage | TypedStorage) -> UntypedStorage:
    return storage._untyped_storage if isinstance(storage, TypedStorage) else storage


def _whole_of(tensor: Any, source: Any) -> tuple[int, Ints, Ints]:
    """(offset, size, strides) of a source as it is: a tensor's own, or all whole elements of a storage."""
    if isinstance(source, Tensor):
        return source.storage_offset(), tuple(source.shape), source.stride()
    return 0, (_untyped(source).nbytes() // tensor._dtype.itemsize,), (1,)


def _laid_out(tensor: Any, block: Block, offset: int, size: Ints, stride: Ints) -> Any:
    step = tensor._dtype.itemsize
    if tensor._keys & AUTOGRAD and tensor.is_leaf:
        layer_for(AUTOGRAD).leave_layout(tensor, False)
    block_of(tensor)  # views of the tensor find the memory that it leaves by their cell
    cell_of(tensor).version += 1
    tensor._array = block.backend.as_strided(
        block.owner, size, tuple(s * step for s in stride), offset * step, tensor._dtype
    )
    tensor._keys = tensor._keys & ~STRIDED if is_contiguous(size, stride) else tensor._keys | STRIDED
    block.enter(moved_cell(tensor))
    return tensor


def _extent(d: dtype, offset: int, size: Ints, stride: Ints) -> int:
    """Bytes from the start of the storage to the end of the last element; 0 without elements."""
    return 0 if 0 in size else d.itemsize * (offset + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)))
