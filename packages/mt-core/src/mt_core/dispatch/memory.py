"""Overlap of what is written with itself and with what is read; NumPy is silent about both."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..autograd_state import is_grad_enabled
from ..spec import is_contiguous
from ..tensor_types import tensors_in

__all__ = [
    "apart_check", "check_no_internal_overlap", "check_no_overlap", "check_no_partial_overlap", "is_dense",
    "kept_apart", "overlap_guard", "overlaps_itself", "share_memory",
]  # fmt: skip


#: What refuses a pair of tensors, one written and one read.
Refuse = Callable[[Any, Any], None]


def check_no_internal_overlap(tensor: Any) -> None:
    """Refuse to write to a tensor in which several indices reach one element (``expand``).

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    if overlaps_itself(tensor):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory "
            "location. Please clone() the tensor before performing the operation."
        )


def overlap_guard(declaration: Any) -> Callable[[Any], None]:
    """What an operator asks of a tensor that it is about to write to: `check_no_internal_overlap`, or a warning."""
    warning = declaration.on_expanded
    if not warning:
        return check_no_internal_overlap

    def warn(tensor: Any) -> None:
        if overlaps_itself(tensor):
            warnings.warn(warning, UserWarning, stacklevel=4)

    return warn


def overlaps_itself(tensor: Any) -> bool:
    """Whether several indices surely reach one element (``expand``)."""
    array = tensor._array
    if not array.size:  # NumPy gives such arrays any strides
        return False
    return any(stride == 0 and size > 1 for size, stride in zip(array.shape, array.strides, strict=True))


def check_no_partial_overlap(written: Any, read: Any) -> None:
    """Refuse to write to a tensor while reading another that shares part of its elements.

    Raises
    ------
    RuntimeError
        In PyTorch's words. The same elements in the same layout are allowed.
    """
    if written is not read and _meet(written, read) and not _same_elements(written, read):
        raise _overlapping()


def check_no_overlap(written: Any, read: Any) -> None:
    """Refuse to write to a tensor while reading one that shares elements with it, or is the same.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    if written is read or _meet(written, read):
        raise _overlapping()


def _overlapping() -> RuntimeError:
    return RuntimeError(
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
        "memory location. Please clone() the tensor before performing the operation."
    )


def _meet(a: Any, b: Any) -> bool:
    """Whether two tensors that fill their memory without gaps share elements; of others that is not known."""
    if a._cell is None or not _same_storage(a, b):
        return False
    if not (is_dense(a) and is_dense(b)) or not a.numel() or not b.numel():
        return False
    (start, end), (other_start, other_end) = _extent(a), _extent(b)
    return start < other_end and other_start < end


def _same_elements(a: Any, b: Any) -> bool:
    return _extent(a) == _extent(b) and a.stride() == b.stride()


def apart_check(overload: Any) -> Callable[[tuple[Any, ...]], None]:
    """What refuses the arguments of a form that would write to memory of those that its declaration wants apart."""
    written, read = _wanted_apart(overload)

    def check(args: tuple[Any, ...]) -> None:
        for i in written:
            target = args[i]
            for position, refuse in read:
                for tensor in tensors_in((args[position],)):
                    refuse(target, tensor)

    return check


def _wanted_apart(overload: Any) -> tuple[list[int], list[tuple[int, Refuse]]]:
    """Positions of what a form writes, and of what it reads from other memory with what refuses the pair."""
    declaration, arguments = overload.declaration, overload.schema.arguments
    read: list[tuple[int, Refuse]] = [
        (i, check_no_overlap if a.name in declaration.apart else check_no_partial_overlap)
        for i, a in enumerate(arguments)
        if not a.writes and a.name in declaration.apart | declaration.not_in_part
    ]
    return [i for i, a in enumerate(arguments) if a.writes], read


def kept_apart(
    overload: Any, run: Callable[..., Any], rule: Callable[[], Callable[..., Any] | None] = lambda: None
) -> Callable[..., Any]:
    """A form that writes, refusing first to write to the memory of what its declaration wants apart.

    A call that is to be refused is shown to the operator's `rule` before, which may have something else against it, but
    for operators that ask for memory first.
    """
    if not overload.declaration.apart and not overload.declaration.not_in_part:
        return run
    written, read = _wanted_apart(overload)
    check_all = apart_check(overload)

    def refuse_leaves(args: tuple[Any, ...]) -> None:
        # What would be recorded is refused for that first, by the layer that comes below this check.
        if overload.declaration.form != "out" and is_grad_enabled():
            for i in written:
                if args[i].requires_grad and args[i].is_leaf:
                    raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")

    def check(*args: Any) -> Any:
        try:
            check_all(args)
        except RuntimeError:
            refuse_leaves(args)
            if not overload.declaration.apart_first and (shapes := rule()) is not None:
                shapes(*args)
            raise
        return run(*args)

    def check_pair(*args: Any) -> Any:
        try:
            refuse_one(args[target_at], args[source_at])
        except RuntimeError:
            refuse_leaves(args)
            raise
        return run(*args)

    one_of_one = len(written) == len(read) == 1 and not overload.schema.arguments[read[0][0]].is_list
    if not one_of_one:
        return check
    # As in `copy_`, which is called so often that loops would show.
    target_at, (source_at, refuse_one) = written[0], read[0]
    return check_pair


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
    if len(array.shape) < 2:
        return is_contiguous(array.shape, tuple(s // (array.itemsize or 1) for s in array.strides))
    order = sorted(range(len(array.shape)), key=lambda i: (array.strides[i], array.shape[i]))
    step = array.itemsize
    for dim in order:
        if not array.shape[dim]:
            return True
        if array.shape[dim] == 1:
            continue
        if array.strides[dim] != step:
            return False
        step *= array.shape[dim]
    return True
