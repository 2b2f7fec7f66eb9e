"""Short cuts for views: NumPy's own, where its geometry is PyTorch's.

Each returns None where NumPy would differ (arrays without elements, dimensions of size 1) or would refuse; the shape rule
then decides, and raises in PyTorch's words.
"""

from __future__ import annotations

from typing import Any

from ..registry import kernel


@kernel("view", half="native")
def view(self: Any, size: Any) -> Any:
    if not self.flags.c_contiguous or not self.size or -1 in size and size.count(-1) > 1:
        return None
    try:
        return self.reshape(size)
    except ValueError:
        return None


@kernel("transpose.int", half="native")
def transpose(self: Any, dim0: int, dim1: int) -> Any:
    ndim = self.ndim
    if -ndim <= dim0 < ndim and -ndim <= dim1 < ndim:
        return self.swapaxes(dim0, dim1)
    return None


@kernel("t", half="native")
def t(self: Any) -> Any:
    return self.T if self.ndim <= 2 else None


@kernel("permute", half="native")
def permute(self: Any, dims: Any) -> Any:
    ndim = self.ndim
    if len(dims) != ndim or len({d % ndim for d in dims if -ndim <= d < ndim}) != ndim:
        return None
    return self.transpose(dims)


_ALL = slice(None)


@kernel("select.int", half="native")
def select(self: Any, dim: int, index: int) -> Any:
    ndim = self.ndim
    if dim < 0:
        dim += ndim
    if 0 <= dim < ndim and -self.shape[dim] <= index < self.shape[dim]:
        return self[(_ALL,) * dim + (index, ...)]
    return None


@kernel("slice.Tensor", half="native")
def slice_(self: Any, dim: int, start: Any, end: Any, step: int) -> Any:
    ndim = self.ndim
    if dim < 0:
        dim += ndim
    if not 0 <= dim < ndim or step <= 0 or not self.size:
        return None
    return self[(_ALL,) * dim + (slice(start, end, step), ...)]
