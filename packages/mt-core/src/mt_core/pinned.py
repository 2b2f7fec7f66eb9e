"""Page-locked memory of the host, which a device copies from and to while the host goes on.

It is the accelerator's: its runtime hands it out (`mt_core.plugins.runtime.PinnedMemory`), and tensors on it are
tensors of the CPU.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .dtypes import scalar_type_name
from .keys import CPU, META, STRIDED
from .plugins.runtime_access import accelerator_type, has_part, require
from .spec import is_contiguous
from .tensor import Tensor, new_tensor

__all__ = [
    "array_is_pinned",
    "can_pin",
    "is_pinned",
    "pinned",
    "pinned_array",
    "pinned_copy",
    "pinned_factory_result",
    "warn_of_device",
]

_PART = "pinned memory"
_NO_ALLOCATOR = (
    "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available on this "
    "system."
)


def can_pin() -> bool:
    """Whether there is an accelerator whose runtime hands out pinned memory."""
    kind = accelerator_type()
    return kind is not None and has_part(kind, _PART)


def is_pinned(tensor: Tensor) -> bool:
    """Whether a tensor lies in page-locked memory."""
    return tensor._keys & CPU != 0 and array_is_pinned(tensor._array)


def array_is_pinned(array: np.ndarray) -> bool:
    """Whether a host array lies in page-locked memory of the accelerator."""
    kind = accelerator_type()
    if kind is None or not has_part(kind, _PART):
        return False
    return bool(require(kind, _PART, "Tensor.is_pinned").is_pinned(array))


def pinned_array(shape: tuple[int, ...], d: np.dtype, strides: tuple[int, ...] | None, what: str) -> np.ndarray:
    """An uninitialized array in page-locked memory; strides in bytes, None for row-major.

    Raises
    ------
    RuntimeError
        When there is no accelerator.
    NotImplementedError
        When its runtime has no pinned memory; `what` is named.
    """
    kind = accelerator_type()
    if kind is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    if strides is None:
        strides = np.ndarray(shape, d).strides
    extent = 0 if 0 in shape else d.itemsize + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    memory = require(kind, _PART, what).pin(max(extent, d.itemsize))
    return np.ndarray(shape, d, memory, 0, strides)


def pinned(tensor: Tensor) -> Tensor:
    """A copy of a CPU tensor in page-locked memory, of the same strides; the tensor itself where it is there already.

    Raises
    ------
    RuntimeError
        For tensors of other devices, and when there is no accelerator.
    NotImplementedError
        When the accelerator's runtime has no pinned memory.
    """
    return tensor if is_pinned(tensor) else pinned_copy(tensor)


def pinned_copy(tensor: Tensor) -> Tensor:
    """A copy of a CPU tensor in page-locked memory, of the same strides; raises as `pinned`."""
    if not tensor._keys & CPU:
        kind = "Meta" if tensor._keys & META else tensor.device.type.upper()
        raise RuntimeError(
            f"cannot pin '{kind}{scalar_type_name(tensor._dtype)}Type' only dense CPU tensors can be pinned"
        )
    strides = tensor.stride()
    step = tensor._dtype.itemsize
    in_bytes = tuple(s * step for s in strides)
    array = pinned_array(tuple(tensor.shape), tensor._dtype.numpy_dtype, in_bytes, "Tensor.pin_memory")
    made = new_tensor(array, tensor._dtype, CPU if is_contiguous(array.shape, strides) else CPU | STRIDED)
    return made.copy_(tensor)


def pinned_factory_result(result: Tensor) -> Tensor:
    """What a factory with ``pin_memory=True`` returns for what it returns without.

    Raises
    ------
    RuntimeError
        When there is no accelerator, or the tensor is on another device.
    """
    if result._keys & META:
        return result
    if not result._keys & CPU:
        raise RuntimeError(f"Only dense CPU tensors can be pinned, and this one is on {result.device}")
    if accelerator_type() is None:
        raise RuntimeError(_NO_ALLOCATOR)
    return pinned(result)


def warn_of_device(method: str, device: Any) -> None:
    """Warn, as PyTorch does, when the `device` of `is_pinned` or `pin_memory` is given."""
    if device is not None:
        warnings.warn(
            f"The argument 'device' of Tensor.{method}() is deprecated. Please do not pass this argument.",
            DeprecationWarning,
            stacklevel=3,
        )
