"""Broadcasting, and the strides that PyTorch gives the result of an elementwise operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .formats import channels_last, channels_last_3d, memory_format
from .meta_array import contiguous_strides
from .spec import is_contiguous

__all__ = [
    "broadcast_shapes", "broadcast_strides", "channels_last_strides", "dense_order", "ordered_strides",
    "output_strides", "strides_like", "suggested_format",
]  # fmt: skip

Ints = tuple[int, ...]


def broadcast_shapes(shapes: Sequence[Ints]) -> Ints:
    """The common shape under broadcasting.

    Raises
    ------
    RuntimeError
        In PyTorch's words where two sizes differ and neither is 1.
    """
    result: list[int] = list(shapes[0]) if shapes else []
    for shape in shapes[1:]:
        if len(shape) > len(result):
            result = [1] * (len(shape) - len(result)) + result
        for i in range(1, len(shape) + 1):
            a, b = result[-i], shape[-i]
            if a.__class__ is int and a == 1:
                result[-i] = b
                continue
            if b == 1 or a == b:
                continue
            if a != 1:
                raise RuntimeError(
                    f"The size of tensor a ({a}) must match the size of tensor b ({b}) "
                    f"at non-singleton dimension {len(result) - i}"
                )
            result[-i] = b
    return tuple(result)


def broadcast_strides(shape: Ints, strides: Ints, target: Ints) -> Ints:
    """Strides with which an array of `shape` reads as one of the `target` shape: 0 along every widened dimension."""
    lead = len(target) - len(shape)
    widened = [
        0 if size == 1 and full != 1 else step for size, step, full in zip(shape, strides, target[lead:], strict=True)
    ]
    return (0,) * lead + tuple(widened)


def _compare(a: int, b: int, shape: Ints, operands: Sequence[Ints]) -> int:
    """Which of two dimensions lies further out, by the first operand that tells.

    1 when `a` does, -1 when `b`, 0 unknown.
    """
    for strides in operands:
        if strides[a] == 0 or strides[b] == 0:
            continue
        if strides[a] != strides[b]:
            return 1 if strides[a] > strides[b] else -1
        if shape[a] > shape[b]:
            return 1
    return 0


def dense_order(shape: Ints, operands: Sequence[Ints]) -> list[int]:
    """Dimensions from innermost to outermost, as the operands' strides order them; ties keep row-major order."""
    order = list(reversed(range(len(shape))))
    for i in range(1, len(order)):
        moving = i
        for other in reversed(range(i)):
            verdict = _compare(order[other], order[moving], shape, operands)
            if verdict > 0:
                order[other], order[moving] = order[moving], order[other]
                moving = other
            elif verdict < 0:
                break
    return order


def output_strides(shape: Ints, operands: Sequence[Ints], alike: bool = True) -> Ints:
    """Strides (elements) of a fresh result, given the operands' strides broadcast to `shape`.

    Row-major operands give a row-major result; one dense layout shared by all is kept; else the dimensions are ordered
    as the operands order theirs. What holds for all operands counts only where they are `alike`: of the result's shape.
    """
    shared = _shared_layout(shape, operands) if alike else None
    if shared is not None:
        return shared
    order = dense_order(shape, operands)
    return contiguous_strides(shape) if order == list(reversed(range(len(shape)))) else ordered_strides(shape, order)


def ordered_strides(shape: Ints, order: Sequence[int]) -> Ints:
    """Strides of a dense layout whose dimensions follow each other in an order, the innermost first.

    Those further out than a dimension without elements are 0.
    """
    strides, step = [0] * len(shape), 1
    for dim in order:
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


def copied_strides(shape: Ints, strides: Ints) -> Ints:
    """Strides of a copy: those of the original where it is dense, else its dimensions in their order."""
    order = sorted((dim for dim, size in enumerate(shape) if size > 1), key=strides.__getitem__)
    if 0 in shape or _is_ordered(shape, strides, order):
        return strides
    return ordered_strides(shape, dense_order(shape, [strides]))


def _shared_layout(shape: Ints, operands: Sequence[Ints]) -> Ints | None:
    """The strides that operands of one shape hand on: row-major, channels-last, or those that all of them have."""
    if all(is_contiguous(shape, strides) for strides in operands):
        return contiguous_strides(shape)
    if len(shape) == 4 and all(_is_ordered(shape, strides, (1, 3, 2, 0)) for strides in operands):
        return channels_last_strides(shape, channels_last)
    first = operands[0]
    if any(strides != first for strides in operands):
        return None
    order = sorted((dim for dim, size in enumerate(shape) if size > 1), key=first.__getitem__)
    return first if 0 in shape or _is_ordered(shape, first, order) else None


def _is_ordered(shape: Ints, strides: Ints, order: Sequence[int]) -> bool:
    """Whether dimensions follow each other without gaps, the innermost first; those of size 1 may have any stride."""
    step = 1
    for dim in order:
        if shape[dim] != 1:
            if strides[dim] != step:
                return False
            step *= shape[dim]
    return True


def channels_last_strides(shape: Ints, wanted: memory_format) -> Ints:
    """Strides of the channels-last layout of a shape.

    Raises
    ------
    RuntimeError
        When the number of dimensions is not the format's.
    """
    ndim = {channels_last: 4, channels_last_3d: 5}[wanted]
    if len(shape) != ndim:
        raise RuntimeError(f"required rank {ndim} tensor to use {wanted.name} format")
    strides = [0] * ndim
    step = 1
    for dim in (1, *reversed(range(2, ndim)), 0):
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


def suggested_format(tensor: Any) -> memory_format | None:
    """The channels-last format that the strides of a tensor or `Spec` speak for, also with gaps; None: row-major.

    Results of networks' operators are laid out as their input suggests. A size of 1 does not matter to how elements lie
    in memory, so the strides along it tell the two layouts of (N, C, 1, 1) apart.
    """
    shape = tuple(tensor.shape)
    wanted = {4: channels_last, 5: channels_last_3d}.get(len(shape))
    if wanted is None or 0 in shape:
        return None
    strides, least = tensor.stride(), 1
    if not strides[1]:
        return None
    for dim in (1, *reversed(range(2, len(shape))), 0):
        if strides[dim] < least or dim == 0 and least == strides[1]:
            return None
        least = strides[dim] * shape[dim]
    return wanted


def strides_like(tensor: Any, shape: Ints) -> Ints | None:
    """Strides of a result of some shape in the format that a tensor suggests; None where that is row-major."""
    wanted = suggested_format(tensor)
    return None if wanted is None or len(shape) != len(tensor.shape) else channels_last_strides(shape, wanted)
