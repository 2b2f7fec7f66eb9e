"""Tensors on the memory of others: NumPy arrays, buffers, DLPack. Nothing is copied unless a parameter asks for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import dlpack, dtypes
from .block import block_of
from .construct import tensor
from .deprecation import warn_once
from .devices import backend_key, device
from .dtypes import dtype
from .factories import check_flag, requiring_grad
from .keys import CPU, STRIDED
from .overriding import overridable_by_modes
from .spec import is_contiguous
from .state import mode_triple, tls
from .storage import UntypedStorage
from .storage_tensors import on_storage
from .tensor import Tensor, new_tensor
from .typed_storage import TypedStorage

__all__ = ["as_tensor", "asarray", "from_dlpack", "from_numpy", "frombuffer", "to_dlpack"]


def _warn_once(text: str) -> None:
    warn_once(f"{text} This type of warning will be suppressed for the rest of this program.", stacklevel=4)


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor on an array's memory: writing to one changes the other. Its storage cannot be resized.

    Warns once if the array is read-only; writing to such a tensor raises ValueError.

    Raises
    ------
    TypeError
        If `ndarray` is no array, or of a dtype that tensors cannot have.
    ValueError
        For negative strides, strides between elements, and foreign byte order.
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {_type_name(ndarray)})")
    d = dtypes.from_numpy_dtype(ndarray.dtype.newbyteorder("="))
    _check_layout(ndarray)
    if not ndarray.flags.writeable:
        _warn_once(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. You may want "
            "to copy "
            "the array to protect its data or make it writable before converting it to a tensor."
        )
    return tensor_on(ndarray, d)


def _type_name(value: Any) -> str:
    cls = type(value)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def _check_layout(array: np.ndarray) -> None:
    if not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
            "currently not supported."
        )
    if array.size == 0:
        return
    for step in array.strides:
        if step < 0:
            raise ValueError(
                "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
                "currently supported. (You can probably work around this by making a copy of your array  with "
                "array.copy().) "
            )
        if step % array.itemsize:
            raise ValueError(
                "given numpy array strides not a multiple of the element byte size. Copy the numpy array to "
                "reallocate the "
                "memory."
            )


def tensor_on(array: np.ndarray, d: dtype) -> Tensor:
    """A CPU tensor on an array that something else owns."""
    plain = array.view(np.ndarray) if array.dtype == d.numpy_dtype else array.view(d.numpy_dtype)
    if 0 in plain.shape:
        # Strides of an empty array may be anything, negative ones included.
        plain = np.empty(plain.shape, d.numpy_dtype)
    step = d.itemsize
    contiguous = is_contiguous(plain.shape, tuple(s // step for s in plain.strides))
    keys = CPU | mode_triple(tls.mode)[2]
    tensor = new_tensor(plain, d, keys if contiguous else keys | STRIDED)
    block_of(tensor).attributes["resizable"] = False
    return tensor


def frombuffer(buffer: Any, *, dtype: dtype, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A 1-d tensor on the memory of an object with the buffer protocol, from byte `offset` on.

    Parameters
    ----------
    count
        Number of elements; all that are there if negative.

    Raises
    ------
    ValueError
        If there is no buffer, or it does not hold the elements asked for.
    """
    d = dtypes.of_python_type(dtype) or dtype
    if not isinstance(d, dtypes.dtype):
        raise TypeError(f"frombuffer(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    data = _buffer_bytes(buffer)
    size, length = d.itemsize, data.nbytes
    if not length or not count:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1"
        )
    if count < 0:
        if (length - offset) % size:
            raise ValueError(
                f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of "
                f"element size ({size})"
            )
        count = (length - offset) // size
    if offset + count * size > length:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater "
            f"than actual "
            f"buffer length ({length} bytes)"
        )
    tensor = tensor_on(data[offset : offset + count * size].view(d.numpy_dtype), d)
    return requiring_grad(tensor) if requires_grad else tensor


def _buffer_bytes(buffer: Any) -> np.ndarray:
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    if not view.c_contiguous:
        raise RuntimeError("could not retrieve buffer from object")
    if view.readonly:
        _warn_once(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. You may want to "
            "copy the "
            "buffer to protect its data or make it writable before converting it to a tensor."
        )
    return np.frombuffer(view, np.uint8) if view.nbytes else np.empty(0, np.uint8)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of another library's array, an object with ``__dlpack__`` or a capsule.

    Parameters
    ----------
    device
        Where the tensor shall be; by default where the memory is.
    copy
        True: always copy; False: never, raising where that would be needed; None: only if needed.

    Raises
    ------
    RuntimeError
        If the object is neither, or the capsule has been used.
    BufferError
        If no backend takes such memory, or its elements have no dtype here.
    """
    capsule = dlpack.request_capsule(ext_tensor) if hasattr(ext_tensor, "__dlpack__") else ext_tensor
    array, d, kind = dlpack.from_capsule(capsule)
    if kind != "cpu":
        return _delivered(tensor_on_device(array, d, kind), None, device, copy)
    _check_layout(array)
    return _delivered(tensor_on(array, d), None, device, copy)


def tensor_on_device(array: Any, d: dtype, kind: str) -> Tensor:
    """A tensor on a backend's array that something else owns."""
    strides = tuple(step // d.itemsize for step in array.strides)
    key = backend_key(kind) | mode_triple(tls.mode)[2]
    tensor = new_tensor(array, d, key if is_contiguous(array.shape, strides) else key | STRIDED)
    block_of(tensor).attributes["resizable"] = False
    return tensor


def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule on a tensor's memory; ``Tensor.__dlpack__`` is the current form."""
    return dlpack.capsule_of(tensor)


@overridable_by_modes
def as_tensor(data: Any, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """`data` as a tensor: itself, or on its memory where it is an array, if dtype and device allow; otherwise a copy.

    Raises
    ------
    TypeError, ValueError, RuntimeError
        As `from_numpy` and ``torch.tensor``.
    """
    if isinstance(data, np.ndarray):
        data = from_numpy(data)
    elif isinstance(data, (UntypedStorage, TypedStorage)):
        data = on_storage(data, dtype)
    if isinstance(data, Tensor):
        return _delivered(data, dtype, tls.default_device if device is None else device, None)
    return tensor(data, dtype=dtype, device=device)


@overridable_by_modes
def asarray(
    obj: Any,
    *,
    dtype: dtype | None = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """`obj` (tensor, array, storage, DLPack object, buffer, number, nested sequence) as a tensor.

    Parameters
    ----------
    copy
        True: always copy; False: never, raising ValueError where that would be needed; None: only if needed.
    requires_grad
        Of the result; None keeps that of a tensor. False detaches.

    Raises
    ------
    ValueError
        If `copy` is False and the memory cannot be shared.
    """
    check_flag("asarray", "requires_grad", requires_grad)
    shared = _aliased(obj, dtype)
    if shared is None:
        if copy is False and isinstance(obj, np.generic):
            raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. ")
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return tensor(obj, dtype=dtype, device=device, requires_grad=bool(requires_grad))
    result = _delivered(shared, dtype, tls.default_device if device is None else device, copy)
    if requires_grad is None or result.requires_grad == requires_grad:
        return result
    return requiring_grad(result) if requires_grad else result.detach()


def _aliased(obj: Any, d: dtype | None) -> Tensor | None:
    """A tensor on the object's memory; None if it has none to share."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, np.ndarray):
        return from_numpy(obj)
    if isinstance(obj, (UntypedStorage, TypedStorage)):
        return on_storage(obj, d)
    if isinstance(obj, np.generic):
        return None
    if hasattr(obj, "__dlpack__") or type(obj).__name__ == "PyCapsule":
        return from_dlpack(obj)
    if isinstance(obj, (bytes, bytearray, memoryview)) or _has_buffer(obj):
        return frombuffer(obj, dtype=d or dtypes.get_default_dtype())
    return None


def _has_buffer(obj: Any) -> bool:
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


def _delivered(tensor: Tensor, d: dtype | None, place: Any, copy: bool | None) -> Tensor:
    """The tensor with a dtype and on a device, copied if `copy` says so or, unless it forbids that, if need be."""
    target = tensor.device if place is None else device(place)
    moves = target.type != tensor.device.type or target.index not in (None, tensor.device.index)
    if copy is False and moves:
        raise ValueError(f"can't alias tensor from device '{tensor.device}' to '{target}'.")
    if copy is False and d not in (None, tensor.dtype):
        have, want = dtypes.scalar_type_name(tensor.dtype), dtypes.scalar_type_name(d)
        raise ValueError(f"can't alias tensor with dtype '{have}' into dtype '{want}'.")
    if moves or d not in (None, tensor.dtype):
        return tensor.to(device=target, dtype=d or tensor.dtype, copy=bool(copy))
    return tensor.clone() if copy else tensor
