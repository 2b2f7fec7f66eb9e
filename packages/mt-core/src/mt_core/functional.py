"""Functions that PyTorch keeps in ``torch.functional``: they take what a schema cannot say, and end in operators."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .api import _functions as ops
from .block import placed_on
from .construct import tensor
from .dispatch.registry import find_overload
from .dispatch.writing import write_result
from .dtypes import scalar_type_name
from .errors import no_memory
from .functional_einsum import einsum as einsum
from .layout import broadcast_shapes as _broadcast_shapes
from .overriding import overridable, overridable_builtin
from .printing_cpp import text_of
from .size import Size
from .symbolic import SymInt
from .tensor import Tensor

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_shapes",
    "broadcast_tensors",
    "cartesian_prod",
    "combinations",
    "einsum",
    "meshgrid",
    "nonzero",
    "split",
    "tensordot",
    "unique",
    "unique_consecutive",
    "unravel_index",
]


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that shapes broadcast to.

    Raises
    ------
    RuntimeError
        When they do not.
    """
    listed = [tuple(s) if isinstance(s, (tuple, list)) else (s,) for s in shapes]
    if any(n < 0 for s in listed for n in s):
        bad = next(n for s in listed for n in s if n < 0)
        raise RuntimeError(f"Trying to create tensor with negative dimension ({bad}): ({bad})")
    try:
        return Size(_broadcast_shapes(listed or [()]))
    except RuntimeError:
        raise RuntimeError("Shape mismatch: objects cannot be broadcast to a single shape") from None


def _listed(tensors: tuple[Any, ...]) -> list[Any]:
    given = list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else list(tensors)
    for i, t in enumerate(given):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
    return given


@overridable
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Views of the tensors expanded to their common shape; those that have it are returned themselves."""
    given = _listed(tensors)
    shape = _broadcast_shapes([tuple(t.shape) for t in given] or [()])
    return tuple(t if tuple(t.shape) == shape else t.expand(shape) for t in given)


def _at_least(ndim: int) -> Any:
    def convert(tensor: Any) -> Any:
        have = tensor.dim()
        if have >= ndim:
            return tensor
        if have == 2:
            return tensor.unsqueeze(-1)
        if have == 1:
            row = tensor.unsqueeze(0)
            return row if ndim == 2 else row.unsqueeze(-1)
        return tensor.reshape((1,) * (ndim - have) + tuple(tensor.shape))

    def function(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return convert(tensors[0])
        return tuple(convert(t) for t in _listed(tensors))

    function.__name__ = function.__qualname__ = f"atleast_{ndim}d"
    function.__doc__ = f"The tensors with dimensions of size 1 added up to {ndim}."
    return overridable(function)


atleast_1d, atleast_2d, atleast_3d = _at_least(1), _at_least(2), _at_least(3)


@overridable
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Views that spread each 1-d tensor over a grid; ``indexing`` is ``"ij"`` or ``"xy"`` (first two swapped)."""
    given = _listed(tensors)
    if not given:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing is None:
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", stacklevel=3
        )
    if any(t.dtype is not given[0].dtype for t in given):
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if any(t.device != given[0].device for t in given):
        raise RuntimeError("meshgrid expects all tensors to have the same device")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for t in given:
        if t.dim() > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {text_of(t)}")
    given = [t.reshape(1) if not t.dim() else t for t in given]
    swap = indexing == "xy" and len(given) >= 2
    if swap:
        given[0], given[1] = given[1], given[0]
    shape = tuple(t.numel() for t in given)
    grids = [t.reshape([-1 if i == d else 1 for i in range(len(given))]).expand(shape) for d, t in enumerate(given)]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


@overridable
def cartesian_prod(*tensors: Any) -> Tensor:
    """All combinations of the elements of 1-d tensors, one a row; of a single tensor, itself."""
    given = _listed(tensors)
    for t in given:
        if t.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(given) == 1:
        return given[0]
    return ops.stack([g.flatten() for g in meshgrid(*given, indexing="ij")], 1)


@overridable_builtin
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Combinations of `r` elements of a 1-d tensor, one a row."""
    if input.dim() != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty((0,))
    try:
        rows = _combined(input.shape[0], r, with_replacement)
    except MemoryError as error:
        raise no_memory(error) from None
    index = tensor(rows.reshape(-1), device=input.device)
    return input.index_select(0, index).reshape(rows.shape)


def _combined(n: int, r: int, with_replacement: bool) -> np.ndarray:
    """-> (C, r): combinations of `r` of the first `n` integers, in lexicographic order.

    Each column is put beside the rows so far that leave enough integers for the columns after it, so that no step
    makes more rows than there are in the end.
    """
    rows = np.zeros((1, 0), np.int64)
    for column in range(r):
        after = 0 if with_replacement else 1
        first = rows[:, -1] + after if column else np.zeros(1, np.int64)
        counts = np.maximum(n - after * (r - 1 - column) - first, 0)
        ends = np.cumsum(counts)
        added = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts - first, counts)
        rows = np.concatenate((np.repeat(rows, counts, 0), added[:, None]), 1)
    return rows


@overridable
def block_diag(*tensors: Any) -> Tensor:
    """A matrix with the given ones along its diagonal; vectors count as rows."""
    given = _listed(tensors)
    return ops._block_diag(given) if given else ops.empty((1, 0))


@overridable
def split(tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive pieces of one size, or of the given sizes."""
    if isinstance(split_size_or_sections, Tensor) and split_size_or_sections.numel() == 1:
        split_size_or_sections = int(split_size_or_sections)
    if isinstance(split_size_or_sections, bool):
        return tuple(ops.split(tensor, split_size_or_sections, dim))
    if isinstance(split_size_or_sections, (int, SymInt)):
        return tuple(find_overload("split.Tensor").call(tensor, split_size_or_sections, dim))
    return tuple(ops.split_with_sizes(tensor, split_size_or_sections, dim))


@overridable_builtin
def nonzero(input: Tensor, *, out: Any = None, as_tuple: bool = False) -> Any:
    """Indices of nonzero elements: (count, ndim), or with `as_tuple` one 1-d tensor per dimension."""
    if not as_tuple:
        return ops.nonzero(input) if out is None else ops.nonzero(input, out=out)
    if out is not None:
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    if not input.dim():
        return tuple(ops.nonzero(input.unsqueeze(0)).unbind(1))
    return tuple(ops.nonzero(input).unbind(1))


@overridable
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements (or slices of a dimension) in order.

    Optionally also where each element came to, and how often each distinct one occurs.
    """
    if dim is None:
        results = ops._unique2(input, sorted, return_inverse, return_counts)
    else:
        results = ops.unique_dim(input, dim, sorted, return_inverse, return_counts)
        _give_room(input.shape[dim], results[2])
    return _selected(results, return_inverse, return_counts)


@overridable
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Runs of equal elements collapsed to one; options as `unique`."""
    results = ops.unique_consecutive(input, return_inverse, return_counts, dim)
    if dim is None:
        _give_room(input.numel(), results[0])
    if dim is not None or return_counts:
        _give_room(input.numel() if dim is None else input.shape[dim], results[2])
    return _selected(results, return_inverse, return_counts)


def _give_room(size: int, found: Any) -> None:
    """Lay a fresh vector at the beginning of memory for `size`: PyTorch's shrinks to what is found, its memory not."""
    if found.__class__ is not Tensor or found._cell is not None or found.numel() >= size:
        return
    backend = found._backend
    memory = backend.owner(backend.empty((size,), found._dtype, None, found.device.index))
    array = backend.as_strided(memory, tuple(found.shape), (found.itemsize,), 0, found._dtype)
    backend.copy(array, found._array)
    found._array = array
    placed_on(memory, backend, found)


def _selected(results: Any, inverse: bool, counts: bool) -> Any:
    wanted = [results[0], *([results[1]] if inverse else []), *([results[2]] if counts else [])]
    return tuple(wanted) if len(wanted) > 1 else wanted[0]


def _unraveled_sizes(shape: Any) -> list[int]:
    if isinstance(shape, int):
        return [shape]
    if not isinstance(shape, Sequence):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    for n in shape:
        if not isinstance(n, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(n)}")
    return list(shape)


@overridable
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Coordinates in an array of `shape` of flat (row-major) indices: views of one tensor, beside one another."""
    if not isinstance(indices, Tensor) or indices.dtype.category != 1:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {getattr(indices, 'dtype', type(indices))}")
    sizes = _unraveled_sizes(shape)
    if any(n < 0 for n in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    found, rest = [], indices
    for n in reversed(sizes):
        found.append(rest % n)
        rest = rest.div(n, rounding_mode="floor")
    return tuple(ops.stack(found[::-1], -1).unbind(-1)) if found else ()


@overridable
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Any = None) -> Tensor:
    """Sum of products over pairs of dimensions: the last `dims` of a with the first of b, or two lists of them."""
    over_a, over_b = _paired_dims(a, b, dims)
    for i, j in zip(over_a, over_b, strict=True):
        # A dimension of size 1 is broadcast: what it meets is summed.
        if a.size(i) == 1 != b.size(j):
            b = b.sum(j, keepdim=True, dtype=b.dtype)
        elif b.size(j) == 1 != a.size(i):
            a = a.sum(i, keepdim=True, dtype=a.dtype)
        if a.shape[i] != b.shape[j]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} and second has "
                f"size {b.shape[j]} in dim {j}"
            )
    if a.dtype is not b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    keep_a = [d for d in range(a.dim()) if d not in {i % a.dim() for i in over_a}]
    keep_b = [d for d in range(b.dim()) if d not in {j % b.dim() for j in over_b}]
    inner = 1
    for i in over_a:
        inner *= a.shape[i]
    left = a.permute([*keep_a, *[i % a.dim() for i in over_a]]).reshape((_size(a, keep_a), inner))
    right = b.permute([*[j % b.dim() for j in over_b], *keep_b]).reshape((inner, _size(b, keep_b)))
    product = left.reshape(-1).dot(right.reshape(-1)) if len(left) == right.shape[1] == 1 else left.mm(right)
    result = product.reshape([a.shape[d] for d in keep_a] + [b.shape[d] for d in keep_b])
    if out is None:
        return result
    if out.dtype is not result.dtype:
        raise RuntimeError(
            f"tensordot: Expected the output tensor to have dtype {scalar_type_name(result.dtype)}, but got an output "
            f"tensor with dtype {scalar_type_name(out.dtype)}"
        )
    return write_result(out, result)


def _size(tensor: Tensor, dims: Sequence[int]) -> int:
    count = 1
    for d in dims:
        count *= tensor.shape[d]
    return count


def _paired_dims(a: Tensor, b: Tensor, dims: Any) -> tuple[list[int], list[int]]:
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return list(range(a.dim() - dims, a.dim())), list(range(dims))
    first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    if len(first) != len(second):
        raise RuntimeError("both dimension lists should have same length")
    return first, second
