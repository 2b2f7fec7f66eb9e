"""Shape rules of views: each returns a `View` in the elements of the input's storage."""

from __future__ import annotations

import math
from typing import Any

from ..block import block_of
from ..dispatch.registry import register_shape_rule as shape_rule
from ..dtypes import scalar_type_name, tensor_type_name
from ..meta_array import contiguous_strides
from ..spec import View
from ..tensor import wrap_dim

Ints = tuple[int, ...]


def infer_size(size: Ints, numel: int) -> Ints:
    """`size` with its -1 replaced.

    Raises
    ------
    RuntimeError
        In PyTorch's words when the element count does not fit.
    """
    unknown = [i for i, n in enumerate(size) if n == -1]
    if len(unknown) > 1:
        raise RuntimeError("only one dimension can be inferred")
    for n in size:
        if n < -1:
            raise RuntimeError(f"invalid shape dimension {n} at index {size.index(n)} of shape {list(size)}")
    known = math.prod(n for n in size if n != -1)
    if unknown and known and numel % known == 0:
        return tuple(numel // known if n == -1 else n for n in size)
    if unknown and not known and numel == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(size)} because the unspecified dimension size -1 "
            "can be any value and is ambiguous"
        )
    if unknown or known != numel:
        raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {numel}")
    return tuple(size)


def view_strides(shape: Ints, strides: Ints, new_shape: Ints) -> Ints | None:
    """Strides that read the same elements in order as `new_shape`; None where only a copy could.

    Runs of dimensions that lie contiguously in memory may be cut anew at will; each new dimension must fall inside a
    run.
    """
    if math.prod(shape) == 0:
        return strides if shape == new_shape else contiguous_strides(new_shape)
    if not shape:
        return (1,) * len(new_shape)
    result = [0] * len(new_shape)
    target = len(new_shape) - 1
    run, step = 1, strides[-1]
    for dim in reversed(range(len(shape))):
        run *= shape[dim]
        if dim and (shape[dim - 1] == 1 or strides[dim - 1] == run * step):
            continue
        cut = 1
        while target >= 0 and (cut < run or new_shape[target] == 1):
            result[target] = cut * step
            cut *= new_shape[target]
            target -= 1
        if cut != run:
            return None
        if dim:
            run, step = 1, strides[dim - 1]
    return tuple(result) if target < 0 else None


@shape_rule("view")
def view(self: Any, size: Ints) -> View:
    """self (*S) -> view of another shape of as many elements; -1 stands for what is left."""
    shape = self._array.shape
    new_shape = infer_size(size, math.prod(shape))
    strides = view_strides(shape, self.stride(), new_shape)
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return View(new_shape, strides, self.storage_offset())


@shape_rule("_reshape_alias")
def reshape_alias(self: Any, size: Ints, stride: Ints) -> View:
    """self (*S) -> view of another shape of as many elements, whose strides the caller has worked out."""
    return View(size, stride, self.storage_offset())


@shape_rule("view.dtype")
def view_dtype(self: Any, dtype: Any) -> View:
    """self (*, N) -> view (*, N size / new size), of the other dtype."""
    for unread, what in ((self.is_conj(), "conjugate view tensors"), (self.is_neg(), "tensors with negative bit set")):
        if unread:
            raise RuntimeError(f"torch.Tensor.view is not supported for {what} when converting to a different dtype.")
    old, new = self._dtype.itemsize, dtype.itemsize
    shape, strides, offset = list(self._array.shape), list(self.stride()), self.storage_offset()
    if old == new:
        return View(shape, strides, offset, dtype, own=True)
    kinds = f"{scalar_type_name(self._dtype)} as {scalar_type_name(dtype)}"
    if not shape:
        raise RuntimeError(f"self.dim() cannot be 0 to view {kinds} (different element sizes)")
    if strides[-1] != 1:
        raise RuntimeError(
            f"self.stride(-1) must be 1 to view {kinds} (different element sizes), but got {strides[-1]}"
        )
    if old > new:
        ratio = old // new
        return View(
            [*shape[:-1], shape[-1] * ratio], [*[s * ratio for s in strides[:-1]], 1], offset * ratio, dtype, own=True
        )
    ratio = new // old
    for what, value in (("self.size(-1)", shape[-1]), ("self.storage_offset()", offset)):
        if value % ratio:
            raise RuntimeError(
                f"{what} must be divisible by {ratio} to view {kinds} (different element sizes), but got {value}"
            )
    for dim, step in enumerate(strides[:-1]):
        if step % ratio:
            raise RuntimeError(
                f"self.stride({dim}) must be divisible by {ratio} to view {kinds} "
                f"(different element sizes), but got {step}"
            )
    return View(
        [*shape[:-1], shape[-1] // ratio], [*[s // ratio for s in strides[:-1]], 1], offset // ratio, dtype, own=True
    )


@shape_rule("alias")
def alias(self: Any) -> View:
    """self (*) -> view (*)."""
    return View(self._array.shape, self.stride(), self.storage_offset())


@shape_rule("transpose.int")
def transpose(self: Any, dim0: int, dim1: int) -> View:
    """self (*S) -> view with two dimensions exchanged."""
    shape, strides = list(self._array.shape), list(self.stride())
    a, b = wrap_dim(dim0, len(shape)), wrap_dim(dim1, len(shape))
    if shape:
        shape[a], shape[b] = shape[b], shape[a]
        strides[a], strides[b] = strides[b], strides[a]
    return View(shape, strides, self.storage_offset())


@shape_rule("t")
def t(self: Any) -> View:
    """self (M, N) -> view (N, M); (N,) and () stay."""
    return _turned("t()", self)


@shape_rule("t_")
def t_inplace(self: Any) -> View:
    """self (M, N) -> view (N, M); as `t`, refused in its own name."""
    return _turned("t_()", self)


def _turned(name: str, self: Any) -> View:
    if self.dim() > 2:
        raise RuntimeError(f"{name} expects a tensor with <= 2 dimensions, but self is {self.dim()}D")
    return transpose(self, 0, 0 if self.dim() < 2 else 1)


@shape_rule("permute")
def permute(self: Any, dims: Ints) -> View:
    """self (*S) -> view whose dimension i is S[dims[i]]."""
    ndim = self.dim()
    if len(dims) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
            f"desired ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(dims)}"
        )
    order = [wrap_dim(d, ndim) for d in dims]
    if len(set(order)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    shape, strides = self._array.shape, self.stride()
    return View([shape[d] for d in order], [strides[d] for d in order], self.storage_offset())


@shape_rule("expand")
def expand(self: Any, size: Ints, implicit: bool) -> View:
    """self (*S) -> view of `size`, with stride 0 where S has 1 or nothing; -1 keeps what S has."""
    shape, strides = self._array.shape, self.stride()
    lead = len(size) - len(shape)
    if lead < 0:
        raise RuntimeError(
            f"expand({_type_text(self)}{{{list(shape)}}}, size={list(size)}): the number of sizes provided "
            f"({len(size)}) must be greater or equal to the number of dimensions in the tensor ({len(shape)})"
        )
    new_shape, new_strides = list(size), [0] * len(size)
    following = 0 if not shape else 1  # what a row-major reader would expect of a new dimension of size 1
    for i in reversed(range(len(size))):
        have, stride = (shape[i - lead], strides[i - lead]) if i >= lead else (1, following)
        wanted = size[i]
        if wanted == -1 and i < lead:
            raise RuntimeError(
                f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {i}"
            )
        if wanted in (-1, have):
            new_shape[i], new_strides[i] = have, stride
        elif have != 1 or wanted < 0:
            raise RuntimeError(
                f"The expanded size of the tensor ({wanted}) must match the existing size ({have}) at non-singleton "
                f"dimension {i}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}"
            )
        following = new_shape[i] * new_strides[i]
    return View(new_shape, new_strides, self.storage_offset())


def _type_text(tensor: Any) -> str:
    if tensor.is_cpu:
        return tensor_type_name(tensor._dtype)
    return f"torch.{tensor.device.type}.{scalar_type_name(tensor._dtype)}Tensor"


@shape_rule("squeeze")
def squeeze(self: Any) -> View:
    """self (*S) -> view without the dimensions of size 1."""
    kept = [(n, s) for n, s in zip(self._array.shape, self.stride(), strict=True) if n != 1]
    return View([n for n, _ in kept], [s for _, s in kept], self.storage_offset())


@shape_rule("squeeze.dim")
def squeeze_dim(self: Any, dim: int) -> View:
    """self (*S) -> view without the dimension `dim` where its size is 1."""
    return squeeze_dims(self, (dim,))


@shape_rule("squeeze.dims")
def squeeze_dims(self: Any, dim: Ints) -> View:
    """self (*S) -> view without those of the dimensions `dim` whose size is 1."""
    shape, strides = self._array.shape, self.stride()
    named = [wrap_dim(d, len(shape)) for d in dim]
    if len(set(named)) != len(named):
        raise RuntimeError(
            f"dim {next(d for d in named if named.count(d) > 1)} appears multiple times in the list of dims"
        )
    kept = [i for i in range(len(shape)) if i not in named or shape[i] != 1]
    return View([shape[i] for i in kept], [strides[i] for i in kept], self.storage_offset())


@shape_rule("unsqueeze")
def unsqueeze(self: Any, dim: int) -> View:
    """self (*L, *R) -> view (*L, 1, *R), at `dim`."""
    shape, strides = list(self._array.shape), list(self.stride())
    at = wrap_dim(dim, len(shape) + 1)
    strides.insert(at, shape[at] * strides[at] if at < len(shape) else 1)
    shape.insert(at, 1)
    return View(shape, strides, self.storage_offset())


@shape_rule("select.int")
def select(self: Any, dim: int, index: int) -> View:
    """self (*L, N, *R) -> view (*L, *R), at `dim`."""
    shape, strides = list(self._array.shape), list(self.stride())
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    at = wrap_dim(dim, len(shape))
    size = shape[at]
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {at}")
    offset = self.storage_offset() + (index + size if index < 0 else index) * strides[at]
    del shape[at], strides[at]
    return View(shape, strides, offset)


#: The end of slices that have none.
_END = 2**63 - 1


@shape_rule("slice.Tensor")
def slice_(self: Any, dim: int, start: int | None, end: int | None, step: int) -> View:
    """self (*L, N, *R) -> view (*L, ceil((end - start) / step), *R), at `dim`; ends beyond it are moved inside."""
    shape, strides = list(self._array.shape), list(self.stride())
    if not shape:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    at = wrap_dim(dim, len(shape))
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    if end.__class__ is int and end == _END:  # not compared with sizes that are symbols
        end = None
    first, last = clamp_slice(start, end, shape[at])
    offset = self.storage_offset() + first * strides[at]
    shape[at] = (last - first + step - 1) // step
    strides[at] *= step
    return View(shape, strides, offset)


def clamp_slice(start: int | None, end: int | None, size: int) -> tuple[int, int]:
    """Bounds within 0..size, the end not before the start."""
    first = 0 if start is None else start + size if start < 0 else start
    last = size if end is None else end + size if end < 0 else end
    first = min(max(first, 0), size)
    return first, min(max(last, first), size)


@shape_rule("as_strided")
def as_strided(self: Any, size: Ints, stride: Ints, storage_offset: int | None) -> View:
    """self (any shape) -> view of `size` with the strides and offset given, in elements of its storage."""
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(s < 0 for s in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    if any(n < 0 for n in size):
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {next(n for n in size if n < 0)}: {list(size)}"
        )
    offset = self.storage_offset() if storage_offset is None else storage_offset
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    needed = (
        0
        if 0 in size
        else (1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) + offset) * self._dtype.itemsize
    )
    held = _storage_bytes(self)
    if needed > held:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize "
            f"{self._dtype.itemsize} requiring a storage size of {needed} are out of bounds for storage of size "
            f"{held}"
        )
    return View(size, stride, offset)


def _storage_bytes(tensor: Any) -> int:
    return block_of(tensor).nbytes


@shape_rule("unbind.int")
def unbind(self: Any, dim: int) -> list[View]:
    """self (*L, N, *R) -> N views (*L, *R), at `dim`."""
    at = wrap_dim(dim, self.dim())
    if not self.dim():
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return [select(self, at, i) for i in range(self._array.shape[at])]


@shape_rule("split.Tensor")
def split(self: Any, split_size: int, dim: int) -> list[View]:
    """self (*L, N, *R) -> views (*L, split_size, *R), at `dim`; the last may be smaller."""
    if not self.dim():
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    at = wrap_dim(dim, self.dim())
    size = self._array.shape[at]
    if split_size == 0 and size:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}")
    count = max((size + split_size - 1) // split_size, 1) if split_size else 1
    return [slice_(self, at, i * split_size, (i + 1) * split_size, 1) for i in range(count)]


@shape_rule("split_with_sizes")
def split_with_sizes(self: Any, split_sizes: Ints, dim: int) -> list[View]:
    """self (*L, N, *R) -> views (*L, size, *R), at `dim`; the sizes add up to N."""
    if not self.dim():
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    at = wrap_dim(dim, self.dim())
    size = self._array.shape[at]
    if any(n < 0 for n in split_sizes):
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, but got "
            f"split_sizes={list(split_sizes)}"
        )
    if sum(split_sizes) != size:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension {dim}), "
            f"but got split_sizes={list(split_sizes)}"
        )
    views, start = [], 0
    for n in split_sizes:
        views.append(slice_(self, at, start, start + n, 1))
        start += n
    return views


@shape_rule("diagonal")
def diagonal(self: Any, offset: int, dim1: int, dim2: int) -> View:
    """self (*S) -> view (*, K), S without dim1 and dim2, K the length of their diagonal."""
    shape, strides = list(self._array.shape), list(self.stride())
    a, b = wrap_dim(dim1, len(shape)), wrap_dim(dim2, len(shape))
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    count = max(min(shape[a], shape[b] - offset) if offset >= 0 else min(shape[a] + offset, shape[b]), 0)
    start = self.storage_offset()
    if count:
        start += offset * strides[b] if offset >= 0 else -offset * strides[a]
    step = strides[a] + strides[b]
    kept = [i for i in range(len(shape)) if i not in (a, b)]
    return View([*(shape[i] for i in kept), count], [*(strides[i] for i in kept), step], start)


@shape_rule("unfold")
def unfold(self: Any, dimension: int, size: int, step: int) -> View:
    """self (*L, N, *R) -> view (*L, (N - size) // step + 1, *R, size), at `dimension`."""
    shape, strides = list(self._array.shape), list(self.stride())
    at = wrap_dim(dimension, len(shape))
    extent = shape[at] if shape else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > extent:
        raise RuntimeError(f"maximum size for tensor at dimension {at} is {extent} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not shape:
        return View((size,), (1,), self.storage_offset())
    inner = strides[at]
    shape[at] = (extent - size) // step + 1
    strides[at] = inner * step
    return View([*shape, size], [*strides, inner], self.storage_offset())
