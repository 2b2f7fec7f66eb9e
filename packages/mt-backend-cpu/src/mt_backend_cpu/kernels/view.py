"""Short cuts for views: NumPy's own, where its geometry is PyTorch's.

Each returns None where NumPy would differ (arrays without elements, dimensions of size 1) or would refuse; the shape
rule then decides, and raises in PyTorch's words.
"""

from __future__ import annotations

import itertools
import math
import sys
from typing import Any

import numpy as np

from ..registry import short_view


@short_view("view", row_major=True)
def view(self: Any, size: Any) -> Any:
    """self (*S) -> view of another shape of as many elements; -1 stands for what is left."""
    # NumPy invents strides for arrays without elements, and reads every negative size as -1.
    elements = self.size
    if not elements:
        return None
    if len(size) == 1:
        return self.reshape(-1) if size[0] in (-1, elements) else None
    count = math.prod(size)
    if min(size, default=1) > 0:
        return self.reshape(size) if count == elements else None
    if sum(n < 1 for n in size) == 1 and -1 in size and elements % count == 0:
        return self.reshape(size)
    return None


@short_view("unsqueeze", row_major=True)
def unsqueeze(self: Any, dim: int) -> Any:
    """self (*L, *R) -> view (*L, 1, *R), at `dim`."""
    ndim = self.ndim
    if not self.size or not -ndim - 1 <= dim <= ndim:
        return None
    shape, at = list(self.shape), dim + ndim + 1 if dim < 0 else dim
    narrow = 1 in shape
    shape.insert(at, 1)
    made = self.reshape(shape)
    # NumPy makes strides along dimensions of size 1 anew.
    return None if narrow and made.strides[:at] + made.strides[at + 1 :] != self.strides else made


@short_view("squeeze.dim", row_major=True)
def squeeze_dim(self: Any, dim: int) -> Any:
    """self (*S) -> view without the dimension `dim` where its size is 1."""
    ndim = self.ndim
    if not self.size or not -ndim <= dim < ndim:
        return None
    return self.squeeze(dim) if self.shape[dim] == 1 else self[...]


@short_view("transpose.int")
def transpose(self: Any, dim0: int, dim1: int) -> Any:
    """self (*S) -> view with two dimensions exchanged."""
    ndim = self.ndim
    return self.swapaxes(dim0, dim1) if -ndim <= dim0 < ndim and -ndim <= dim1 < ndim and self.size else None


@short_view("t")
def t(self: Any) -> Any:
    """self (M, N) -> view (N, M); (N,) and () stay."""
    return self.T if self.ndim <= 2 and self.size else None


@short_view("permute")
def permute(self: Any, dims: Any) -> Any:
    """self (*S) -> view whose dimension i is S[dims[i]]."""
    ndim = self.ndim
    if not self.size or len(dims) != ndim or len({d % ndim for d in dims if -ndim <= d < ndim}) != ndim:
        return None
    return self.transpose(dims)


_ALL = slice(None)


@short_view("select.int")
def select(self: Any, dim: int, index: int) -> Any:
    """self (*L, N, *R) -> view (*L, *R), at `dim`."""
    shape = self.shape
    if dim < 0:
        dim += len(shape)
    if not 0 <= dim < len(shape) or not -shape[dim] <= index < shape[dim] or not self.size:
        return None
    return self[index, ...] if dim == 0 else self[(_ALL,) * dim + (index, ...)]


@short_view("slice.Tensor")
def slice_(self: Any, dim: int, start: Any, end: Any, step: int) -> Any:
    """self (*L, N, *R) -> view (*L, ceil((end - start) / step), *R), at `dim`; ends beyond it are moved inside."""
    ndim = self.ndim
    if dim < 0:
        dim += ndim
    if not 0 <= dim < ndim or step <= 0 or not self.size:
        return None
    view = self[start:end:step, ...] if dim == 0 else self[(_ALL,) * dim + (slice(start, end, step), ...)]
    # NumPy forgets where a view of nothing begins.
    return view if view.size else None


@short_view("expand")
def expand(self: Any, size: Any, implicit: bool) -> Any:
    """self (*S) -> view of `size`, with stride 0 where S has 1 or nothing; -1 keeps what S has."""
    shape = self.shape
    if size == shape and self.size:
        return self[...]
    lead = len(size) - len(shape)
    # NumPy lays an array on another only where that is contiguous and of a type of its own.
    if lead < 0 or not self.size or not self.flags.c_contiguous or self.dtype.kind == "V":
        return None
    strides = [0] * lead + list(self.strides)
    for i, wanted in enumerate(size):
        have = shape[i - lead] if i >= lead else 1
        if wanted != have or i < lead:
            if have != 1 or wanted < 2:
                return None
            strides[i] = 0
    if not 0 < math.prod(size) * self.itemsize <= sys.maxsize:  # NumPy counts no more bytes
        return None
    return np.ndarray(size, self.dtype, self, 0, strides)


@short_view("unbind.int")
def unbind(self: Any, dim: int) -> Any:
    """self (*L, N, *R) -> N views (*L, *R), at `dim`."""
    ndim = self.ndim
    if not self.size or not -ndim <= dim < ndim:
        return None
    lead = (_ALL,) * (dim % ndim)
    return [self[(*lead, i, ...)] for i in range(self.shape[dim])]


@short_view("split.Tensor")
def split(self: Any, split_size: int, dim: int) -> Any:
    """self (*L, N, *R) -> views (*L, split_size, *R), at `dim`; the last may be smaller."""
    ndim = self.ndim
    if split_size <= 0 or not self.size or not -ndim <= dim < ndim:
        return None
    lead = (_ALL,) * (dim % ndim)
    return [self[(*lead, slice(start, start + split_size))] for start in range(0, self.shape[dim], split_size)]


@short_view("split_with_sizes")
def split_with_sizes(self: Any, split_sizes: Any, dim: int) -> Any:
    """self (*L, N, *R) -> views (*L, size, *R), at `dim`; the sizes add up to N."""
    ndim = self.ndim
    if not self.size or not -ndim <= dim < ndim or min(split_sizes, default=-1) <= 0:
        return None
    ends = list(itertools.accumulate(split_sizes))
    if ends[-1] != self.shape[dim]:
        return None
    lead = (_ALL,) * (dim % ndim)
    return [self[(*lead, slice(end - size, end))] for end, size in zip(ends, split_sizes, strict=True)]
