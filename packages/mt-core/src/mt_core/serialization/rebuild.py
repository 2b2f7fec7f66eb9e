"""The functions that a file calls to make tensors, under the names and with the arguments that PyTorch fixed.

Each checks all it is given: a file may have been damaged, or written to do harm.
"""

from __future__ import annotations

import io
import math
import warnings
from typing import Any

from .. import formats
from ..cell import Cell
from ..devices import device
from ..dtypes import dtype
from ..keys import CONJUGATE, NEGATIVE, STRIDED
from ..spec import is_contiguous
from ..storage import UntypedStorage
from ..tensor import Tensor, new_tensor
from ..typed_storage import TypedStorage

__all__ = ["rebuild_tensor"]

#: No tensor has more dimensions: NumPy, the array library of the CPU, ends there.
_MAX_DIMENSIONS = 64
_MAX_BYTES = 2**63 - 1


def rebuild_tensor(storage: UntypedStorage, d: dtype, offset: int, size: Any, stride: Any) -> Tensor:
    """The tensor of a geometry (in elements) on a storage, whose memory it shares.

    Raises
    ------
    RuntimeError, TypeError
        If the geometry makes no sense or reaches beyond the storage.
    """
    size, stride = _checked_geometry(offset, size, stride)
    _check_bounds(storage, d, offset, size, stride)
    return _tensor_on(storage, d, offset, size, stride)


def _tensor_on(
    storage: UntypedStorage, d: dtype, offset: int, size: tuple[int, ...], stride: tuple[int, ...]
) -> Tensor:
    step, block = d.itemsize, storage._block
    array = block.backend.as_strided(block.owner, size, tuple(s * step for s in stride), offset * step, d)
    tensor = new_tensor(array, d, block.keys if is_contiguous(size, stride) else block.keys | STRIDED)
    cell = tensor._cell = Cell(tensor)
    block.enter(cell)
    return tensor


def _checked_geometry(offset: Any, size: Any, stride: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
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
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}: "
            "negative strides are not supported"
        )
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
            f"offset "
            f"{offset} require {needed} bytes, and the storage has {storage.nbytes()}"
        )


def _bytes_and_dtype(storage: Any, d: Any = None) -> tuple[UntypedStorage, dtype]:
    if isinstance(storage, TypedStorage):
        storage, d = storage._untyped_storage, d or storage.dtype
    if not isinstance(storage, UntypedStorage):
        raise TypeError(f"a tensor must be rebuilt from a storage, got {type(storage).__name__}")
    return storage, _checked_dtype(d)


def _checked_dtype(d: Any) -> dtype:
    if not isinstance(d, dtype):
        raise TypeError(f"expected torch.dtype, but got {type(d)}")
    if d.category == 4:
        raise _unsupported(f"dtype {d!r}")
    return d


def _unsupported(what: str) -> NotImplementedError:
    return NotImplementedError(
        f"the file holds a tensor with {what}, which mindtorch does not support: convert it with PyTorch to a dense "
        f"tensor "
        "of an ordinary dtype and save it again"
    )


def _rebuild_tensor(storage: Any, storage_offset: int, size: Any, stride: Any) -> Tensor:
    return rebuild_tensor(*_bytes_and_dtype(storage), storage_offset, size, stride)


def _rebuild_tensor_v2(
    storage: Any, storage_offset: int, size: Any, stride: Any, requires_grad: bool, backward_hooks: Any,
    metadata: Any = None,
) -> Tensor:  # fmt: skip
    tensor = _rebuild_tensor(storage, storage_offset, size, stride)
    return _finish(tensor, requires_grad, backward_hooks, metadata)


def _rebuild_tensor_v3(
    storage: Any, storage_offset: int, size: Any, stride: Any, requires_grad: bool, backward_hooks: Any, d: Any,
    metadata: Any = None,
) -> Tensor:  # fmt: skip
    tensor = rebuild_tensor(*_bytes_and_dtype(storage, _checked_dtype(d)), storage_offset, size, stride)
    return _finish(tensor, requires_grad, backward_hooks, metadata)


def _finish(tensor: Tensor, requires_grad: bool, backward_hooks: Any, metadata: Any) -> Tensor:
    for bit, flag in (("conj", CONJUGATE), ("neg", NEGATIVE)):
        if isinstance(metadata, dict) and metadata.get(bit) is True:
            if bit == "conj" and not tensor._dtype.is_complex:
                raise RuntimeError(f"the file marks a tensor of dtype {tensor._dtype!r} as conjugated")
            tensor._keys |= flag
    if requires_grad:
        tensor.requires_grad_()
    if backward_hooks:
        warnings.warn("backward hooks in the file are not restored: register them again after loading", stacklevel=2)
    return tensor


def _rebuild_meta_tensor_no_storage(d: Any, size: Any, stride: Any, requires_grad: bool) -> Tensor:
    d = _checked_dtype(d)
    size, stride = _checked_geometry(0, size, stride)
    extent = 0 if 0 in size else 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    storage = UntypedStorage(extent * d.itemsize, device="meta")
    return _finish(rebuild_tensor(storage, d, 0, size, stride), requires_grad, None, None)


def _rebuild_device_tensor_from_numpy(data: Any, d: Any, place: Any, requires_grad: bool) -> Tensor:
    from ..interop import from_numpy

    return _on_device(from_numpy(data), d, place, requires_grad)


def _rebuild_device_tensor_from_cpu_tensor(data: Any, d: Any, place: Any, requires_grad: bool) -> Tensor:
    if not isinstance(data, Tensor):
        raise TypeError(f"expected a tensor, got {type(data).__name__}")
    return _on_device(data, d, place, requires_grad)


def _on_device(tensor: Tensor, d: Any, place: Any, requires_grad: bool) -> Tensor:
    moved = tensor.to(device=device(place), dtype=_checked_dtype(d))
    moved.requires_grad_(bool(requires_grad))
    return moved


def _rebuild_sparse_tensor(layout: Any, data: Any) -> Tensor:
    raise _unsupported(f"the sparse layout {layout!r}")


def _rebuild_nested_tensor(*args: Any) -> Tensor:
    raise _unsupported("nested sizes")


def _rebuild_qtensor(*args: Any) -> Tensor:
    raise _unsupported("quantized elements")


def _rebuild_wrapper_subclass(cls: Any, *args: Any) -> Tensor:
    raise _unsupported(f"wrapper subclass {cls!r}")


def _get_layout(name: str) -> Any:
    """``torch.layout`` by its printed name, as files write it."""
    return {repr(v): v for v in vars(formats).values() if isinstance(v, formats.layout)}[name]


class _QuantizationScheme:
    """Stands for ``torch.per_tensor_affine`` and the like: a quantized file is to fail where it says what it holds."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"


per_tensor_affine = _QuantizationScheme("per_tensor_affine")
per_channel_affine = _QuantizationScheme("per_channel_affine")
per_tensor_symmetric = _QuantizationScheme("per_tensor_symmetric")
per_channel_symmetric = _QuantizationScheme("per_channel_symmetric")
per_channel_affine_float_qparams = _QuantizationScheme("per_channel_affine_float_qparams")

#: What `_rebuild_from_type_v2` may be told to call: a file chooses the function.
_TENSOR_BUILDERS = frozenset({
    _rebuild_tensor, _rebuild_tensor_v2, _rebuild_tensor_v3, _rebuild_meta_tensor_no_storage,
    _rebuild_device_tensor_from_numpy, _rebuild_device_tensor_from_cpu_tensor, _rebuild_sparse_tensor,
    _rebuild_nested_tensor, _rebuild_qtensor, _rebuild_wrapper_subclass,
})  # fmt: skip


def _rebuild_from_type_v2(func: Any, new_type: Any, args: Any, state: Any) -> Tensor:
    """A tensor of a subclass, or one with attributes: made by `func`, given its class, then its state."""
    if not callable(func) or func not in _TENSOR_BUILDERS:
        raise TypeError(
            f"_rebuild_from_type_v2 may only call functions that rebuild tensors, got {type(func).__name__}"
        )
    if not (isinstance(new_type, type) and issubclass(new_type, Tensor)):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your "
            "class inherits from Tensor."
        )
    tensor = func(*args)
    if type(tensor) is not new_type:
        tensor = tensor.as_subclass(new_type)
    set_state = getattr(new_type, "__setstate__", None)
    if set_state is not None and set_state is not getattr(Tensor, "__setstate__", None):
        tensor.__setstate__(state)
        return tensor
    return set_object_state(tensor, state)


def set_object_state(obj: Any, state: Any) -> Any:
    """Give an object the attributes that its pickle lists: a dict, or a pair of a dict and one of ``__slots__`` values.

    Raises
    ------
    RuntimeError
        If the state has another form, or a slot is one of the tensor's own.
    """
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    for part in (attributes, slots):
        if part is not None and not isinstance(part, dict):
            raise RuntimeError(f"Invalid serialized state: {type(state)}")
    if attributes:
        obj.__dict__.update(attributes)
    for name, value in (slots or {}).items():
        if type(name) is not str or hasattr(Tensor, name):
            raise RuntimeError(f"the state of a {type(obj).__name__} may not set its attribute {name!r}")
        setattr(obj, name, value)
    return obj


def _load_from_bytes(data: bytes) -> Any:
    """A storage that Python's pickle wrote under PyTorch: a whole ``torch.save`` file inside."""
    from .loading import load

    return load(io.BytesIO(data), weights_only=False)
