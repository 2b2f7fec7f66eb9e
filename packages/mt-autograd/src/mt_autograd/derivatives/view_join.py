"""Derivatives of joining, repeating and rearranging."""

from __future__ import annotations

import math
from typing import Any

from mt_core.decomp.view_join import blocks
from mt_core.tensor import wrap_dim

from ..rules import derivative, forward_rule


def _cat(grad: Any, tensors_spec: Any, dim: int) -> list[Any]:
    """The piece of the gradient that belongs to each tensor; nothing of it to the empty 1-d ones that were skipped."""
    at = wrap_dim(dim, grad.dim())
    pieces: list[Any] = []
    start = 0
    for spec in tensors_spec:
        if tuple(spec.shape) == (0,) and grad.dim() != 1:
            pieces.append(grad.new_zeros((0,)))
            continue
        size = spec.shape[at]
        pieces.append(grad.narrow(at, start, size))
        start += size
    return pieces


derivative("cat", tensors=_cat)
derivative("stack", tensors=lambda grad, dim: list(grad.unbind(dim)))


def _block_diag(grad: Any, tensors_spec: Any) -> list[Any]:
    """The block of the gradient that belongs to each tensor."""
    shapes = [tuple(spec.shape) for spec in tensors_spec]
    sizes: list[tuple[int, ...]] = [shape if len(shape) == 2 else (1, math.prod(shape)) for shape in shapes]
    return [block.reshape(shape) for block, shape in zip(blocks(grad, sizes), shapes, strict=True)]


derivative("_block_diag", tensors=_block_diag)


def _repeat(grad: Any, self_spec: Any, repeats: Any) -> Any:
    shape = (1,) * (len(repeats) - len(self_spec.shape)) + tuple(self_spec.shape)
    if 0 in repeats:
        return grad.new_zeros(self_spec.shape)
    cut = [n for r, size in zip(repeats, shape, strict=True) for n in (r, size)]
    return grad.reshape(cut).sum(tuple(range(0, 2 * len(shape), 2))).reshape(self_spec.shape) if shape else grad


derivative("repeat", self=_repeat)
derivative("flip", self=lambda grad, dims: grad.flip(dims))
derivative("rot90", self=lambda grad, k, dims: grad.rot90(-k, dims))
derivative("roll", self=lambda grad, shifts, dims: grad.roll([-s for s in shifts], dims))

forward_rule("linear", "_block_diag", "cat", "flip", "repeat", "roll", "rot90", "stack")
