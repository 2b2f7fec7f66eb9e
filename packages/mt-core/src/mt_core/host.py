"""The elements of a tensor as NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import dtypes
from .autograd_state import is_grad_enabled
from .block import mark_exported
from .keys import AUTOGRAD, CONJUGATE, CPU, NEGATIVE, PIPELINE, QUANTIZED, SPARSE
from .meta_array import HollowArray

__all__ = ["exported", "host_array", "resolved"]


def resolved(tensor: Any) -> Any:
    """A tensor whose array says what it reads as: itself, or a copy where conjugation or negation waits."""
    if tensor._keys & (CONJUGATE | NEGATIVE):
        tensor = tensor.detach().resolve_conj().resolve_neg()
        if tensor._keys & PIPELINE:
            tensor._array.settle()
    return tensor


def host_array(tensor: Any) -> np.ndarray:
    """The elements on the host as they read, in the storage type; may share memory."""
    if isinstance(tensor._array, HollowArray):
        return host_array(tensor._array.elements_for("memory"))
    return tensor._backend.to_host(resolved(tensor)._array)


def exported(tensor: Any) -> np.ndarray:
    """The NumPy array of a plain CPU tensor, or PyTorch's error that says what is in the way."""
    if tensor._keys & AUTOGRAD and is_grad_enabled():
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if not tensor._keys & CPU:
        raise TypeError(
            f"can't convert {tensor.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
            "host memory first."
        )
    if tensor._keys & SPARSE:
        raise TypeError(
            f"can't convert {'Sparse' if tensor.is_sparse else 'SparseCsr'} layout tensor to numpy. Use "
            "Tensor.to_dense() first."
        )
    if tensor._keys & QUANTIZED:
        raise TypeError(f"Got unsupported ScalarType {dtypes.scalar_type_name(tensor._dtype)}")
    if isinstance(tensor._array, HollowArray):
        return exported(tensor._array.elements_for("memory"))
    for bit, name in ((CONJUGATE, "conj"), (NEGATIVE, "neg")):
        if tensor._keys & bit:
            what = "conjugate" if name == "conj" else "negative"
            raise RuntimeError(
                f"Can't call numpy() on Tensor that has {what} bit set. Use tensor.resolve_{name}().numpy() instead."
            )
    if not tensor._dtype.native and tensor._dtype is not dtypes.float16:
        raise TypeError(f"Got unsupported ScalarType {dtypes.scalar_type_name(tensor._dtype)}")
    mark_exported(tensor)
    array = tensor._array
    return array if array.size else np.empty(array.shape, array.dtype)  # as in PyTorch, no memory keeps no strides
