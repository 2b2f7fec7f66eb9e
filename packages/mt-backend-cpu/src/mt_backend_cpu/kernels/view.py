"""Short cuts for views: NumPy's own, where its geometry is PyTorch's.

Each returns None where NumPy would differ (arrays without elements, dimensions of size 1) or would refuse; the shape
rule then decides, and raises in PyTorch's words.
"""

from __future__ import annotations

from typing import Any

from ..registry import kernel


@kernel("view", half="native", row_major=True)
def view(self: Any, size: Any) -> Any:
    # NumPy invents strides for arrays without elements, and reads every negative size as -1.
    if not self.size:
        return None
    try:
        array = self.reshape(size)
    except ValueError:
        return None
    return array if array.shape == size or min(size) == -1 else None


@kernel("unsqueeze", half="native", row_major=True)
def unsqueeze(self: Any, dim: int) -> Any:
    ndim = self.ndim
    if not self.size or not -ndim - 1 <= dim <= ndim:
        return None
    shape = list(self.shape)
    shape.insert(dim + ndim + 1 if dim < 0 else dim, 1)
    return self.reshape(shape)


@kernel("squeeze.dim", half="native", row_major=True)
def squeeze_dim(self: Any, dim: int) -> Any:
    ndim = self.ndim
    if not self.size or not -ndim <= dim < ndim:
        return None
    return self.squeeze(dim) if self.shape[dim] == 1 else self[...]


@kernel("transpose.int", half="native")
def transpose(self: Any, dim0: int, dim1: int) -> Any:
    try:
        return self.swapaxes(dim0, dim1)
    except ValueError:  # AxisError among them
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
    try:
        if dim == 0:
            return self[index, ...]
        ndim = self.ndim
        if dim < 0:
            dim += ndim
        return self[(_ALL,) * dim + (index, ...)] if 0 <= dim < ndim else None
    except IndexError:
        return None


@kernel("slice.Tensor", half="native")
def slice_(self: Any, dim: int, start: Any, end: Any, step: int) -> Any:
    ndim = self.ndim
    if dim < 0:
        dim += ndim
    if not 0 <= dim < ndim or step <= 0 or not self.size:
        return None
    if dim == 0:
        return self[start:end:step, ...]
    return self[(_ALL,) * dim + (slice(start, end, step), ...)]
