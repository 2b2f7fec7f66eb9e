"""Overlap of what is written with itself and with what is read; NumPy is silent about both."""

from __future__ import annotations

from typing import Any

from ..spec import is_contiguous

__all__ = ["check_no_internal_overlap", "check_no_partial_overlap", "is_dense", "share_memory"]


def check_no_internal_overlap(tensor: Any) -> None:
    """Refuse to write to a tensor in which several indices reach one element (``expand``).

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    if not tensor._array.size:  # NumPy gives such arrays any strides
        return
    for size, stride in zip(tensor._array.shape, tensor._array.strides, strict=True):
        if stride == 0 and size > 1:
            raise RuntimeError(
                "unsupported operation: more than one element of the written-to tensor refers to a single memory "
                "location. Please clone() the tensor before performing the operation."
            )


def check_no_partial_overlap(written: Any, read: Any) -> None:
    """Refuse to write to a tensor while reading another that shares part of its elements.

    Raises
    ------
    RuntimeError
        In PyTorch's words. The same elements in the same layout are allowed.
    """
    if written is read or written._cell is None or not _same_storage(written, read):
        return
    if not (is_dense(written) and is_dense(read)) or not written.numel() or not read.numel():
        return
    a, b = _extent(written), _extent(read)
    if a == b and written.stride() == read.stride():
        return
    if a[0] < b[1] and b[0] < a[1]:
        raise RuntimeError(
            "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
            "memory location. Please clone() the tensor before performing the operation."
        )


def share_memory(a: Any, b: Any) -> bool:
    """Whether two tensors lie on one storage, or are one tensor; where unknown, True only for what could be so."""
    return a is b or a._cell is not None and _same_storage(a, b)


def _same_storage(a: Any, b: Any) -> bool:
    if a._cell is b._cell:
        return True
    return b._cell is not None and a._cell.block is not None and a._cell.block is b._cell.block


def _extent(tensor: Any) -> tuple[int, int]:
    start = tensor.storage_offset() * tensor._dtype.itemsize
    return start, start + tensor.numel() * tensor._dtype.itemsize


def is_dense(tensor: Any) -> bool:
    """Whether the elements fill their memory without gaps or overlaps, in some order of dimensions."""
    array = tensor._array
    if not 1 < len(array.shape):
        return is_contiguous(array.shape, tuple(s // (array.itemsize or 1) for s in array.strides))
    order = sorted(range(len(array.shape)), key=lambda i: (array.strides[i], array.shape[i]))
    step = array.itemsize
    for dim in order:
        if array.shape[dim] <= 1:
            continue
        if array.strides[dim] != step:
            return False
        step *= array.shape[dim]
    return True
