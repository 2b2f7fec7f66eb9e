"""Functions that PyTorch keeps in ``torch.functional``: they take what a schema cannot say, and end in operators."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Any

from . import dtypes
from .api import _functions as ops
from .construct import from_data
from .dispatch.executors import write_result
from .dispatch.registry import find_overload
from .layout import broadcast_shapes as _broadcast_shapes
from .size import Size
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
    return list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else list(tensors)


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Views of the tensors expanded to their common shape."""
    given = _listed(tensors)
    shape = _broadcast_shapes([tuple(t.shape) for t in given] or [()])
    return tuple(t.expand(shape) for t in given)


def _at_least(ndim: int) -> Any:
    def convert(tensor: Any) -> Any:
        have = tensor.dim()
        if have >= ndim:
            return tensor
        if ndim == 3:
            return tensor.unsqueeze(-1) if have == 2 else tensor.reshape(1, -1, 1)
        return tensor.reshape((1,) * (ndim - have) + tuple(tensor.shape))

    def function(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return convert(tensors[0])
        return tuple(convert(t) for t in _listed(tensors))

    function.__name__ = f"atleast_{ndim}d"
    function.__doc__ = f"The tensors with dimensions of size 1 added up to {ndim}."
    return function


atleast_1d, atleast_2d, atleast_3d = _at_least(1), _at_least(2), _at_least(3)


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Views that spread each 1-d tensor over a grid; ``indexing`` is ``"ij"`` or ``"xy"`` (first two swapped)."""
    given = _listed(tensors)
    if not given:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in given:
        if t.dim() > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t}")
    if any(t.dtype is not given[0].dtype for t in given):
        raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
    if indexing is None:
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", stacklevel=2
        )
    elif indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    given = [t.reshape(1) if not t.dim() else t for t in given]
    swap = indexing == "xy" and len(given) >= 2
    if swap:
        given[0], given[1] = given[1], given[0]
    shape = tuple(t.numel() for t in given)
    grids = [t.reshape([-1 if i == d else 1 for i in range(len(given))]).expand(shape) for d, t in enumerate(given)]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def cartesian_prod(*tensors: Any) -> Tensor:
    """All combinations of the elements of 1-d tensors, one a row; of a single tensor, itself."""
    given = _listed(tensors)
    for t in given:
        if t.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(given) == 1:
        return given[0]
    return ops.stack([g.flatten() for g in meshgrid(*given, indexing="ij")], 1)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Combinations of `r` elements of a 1-d tensor, one a row."""
    if input.dim() != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty((0,))
    pick = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(pick(range(input.shape[0]), r))
    index = (
        from_data([i for row in rows for i in row], dtypes.int64, input.device)
        if rows
        else ops.empty((0,), dtype=dtypes.int64, device=input.device)
    )
    return input.index_select(0, index).reshape(len(rows), r)


def block_diag(*tensors: Any) -> Tensor:
    """A matrix with the given ones along its diagonal; vectors count as rows."""
    given = [t if t.dim() == 2 else t.reshape(1, -1) for t in _checked_blocks(tensors)]
    if not given:
        return ops.empty((1, 0))
    width = sum(t.shape[1] for t in given)
    rows, before = [], 0
    dtype = given[0].dtype
    for t in given[1:]:
        dtype = dtypes.promote_types(dtype, t.dtype)
    for t in given:
        after = width - before - t.shape[1]
        parts = [t.new_zeros((t.shape[0], before)), t, t.new_zeros((t.shape[0], after))]
        rows.append(ops.cat(parts, 1).to(dtype))
        before += t.shape[1]
    return ops.cat(rows, 0)


def _checked_blocks(tensors: tuple[Any, ...]) -> list[Any]:
    given = _listed(tensors)
    for position, t in enumerate(given):
        if t.dim() > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {position} has "
                f"{t.dim()} dimensions"
            )
    return given


def split(tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive pieces of one size, or of the given sizes."""
    if isinstance(split_size_or_sections, int):
        return tuple(find_overload("split.Tensor").call(tensor, split_size_or_sections, dim))
    return tuple(find_overload("split_with_sizes").call(tensor, tuple(int(n) for n in split_size_or_sections), dim))


def nonzero(input: Tensor, *, out: Any = None, as_tuple: bool = False) -> Any:
    """Indices of nonzero elements: (count, ndim), or with `as_tuple` one 1-d tensor per dimension."""
    if not as_tuple:
        return ops.nonzero(input) if out is None else ops.nonzero(input, out=out)
    if not input.dim():
        return tuple(ops.nonzero(input.unsqueeze(0)).unbind(1))
    return tuple(ops.nonzero(input).unbind(1))


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
    return _selected(results, return_inverse, return_counts)


def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Runs of equal elements collapsed to one; options as `unique`."""
    results = ops.unique_consecutive(input, return_inverse, return_counts, dim)
    return _selected(results, return_inverse, return_counts)


def _selected(results: Any, inverse: bool, counts: bool) -> Any:
    wanted = [results[0], *([results[1]] if inverse else []), *([results[2]] if counts else [])]
    return tuple(wanted) if len(wanted) > 1 else wanted[0]


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Coordinates in an array of `shape` of flat (row-major) indices."""
    if not isinstance(indices, Tensor) or indices.dtype.category != 1:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {getattr(indices, 'dtype', type(indices))}")
    sizes = [shape] if isinstance(shape, int) else list(shape.tolist() if isinstance(shape, Tensor) else shape)
    if any(n < 0 for n in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    found, rest = [], indices
    for n in reversed(sizes):
        found.append(rest % n)
        rest = rest.div(n, rounding_mode="floor")
    return tuple(reversed(found))


def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Any = None) -> Tensor:
    """Sum of products over pairs of dimensions: the last `dims` of a with the first of b, or two lists of them."""
    over_a, over_b = _paired_dims(a, b, dims)
    for i, j in zip(over_a, over_b, strict=True):
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
    left = (
        a.permute([*keep_a, *[i % a.dim() for i in over_a]]).reshape((-1, inner))
        if inner
        else a.new_zeros((_size(a, keep_a), 0))
    )
    right = (
        b.permute([*[j % b.dim() for j in over_b], *keep_b]).reshape((inner, -1))
        if inner
        else b.new_zeros((0, _size(b, keep_b)))
    )
    result = left.mm(right).reshape([a.shape[d] for d in keep_a] + [b.shape[d] for d in keep_b])
    if out is None:
        return result
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


# Einstein summation


def einsum(equation: Any, *operands: Any) -> Tensor:
    """Sums of products written with one letter per dimension (``"bij,bjk->bik"``); ``...`` stands for batch dimensions.

    Operands are joined from left to right; each joining is one batched matrix product.

    Raises
    ------
    RuntimeError
        For equations that do not fit the operands.
    """
    if not isinstance(equation, str):
        equation, operands = _from_lists(equation, operands)
    given = _listed(operands)
    inputs, output = _parse(equation, given)
    return _contract(inputs, output, given)


def _from_lists(first: Any, rest: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """The form ``einsum(a, [0, 1], b, [1, 2], [0, 2])``."""
    items = [first, *rest]

    def letters(labels: Any) -> str:
        return "".join(
            "..." if n is Ellipsis else chr(ord("A") + n) if n < 26 else chr(ord("a") + n - 26) for n in labels
        )

    operands = items[: len(items) // 2 * 2 : 2]
    terms = [letters(labels) for labels in items[1::2]]
    equation = ",".join(terms)
    if len(items) % 2:
        equation += "->" + letters(items[-1])
    return equation, tuple(operands)


def _parse(equation: str, operands: list[Any]) -> tuple[list[list[Any]], list[Any]]:
    """Labels of each operand's dimensions and of the result's; those under ``...`` are negative numbers."""
    if not operands:
        raise RuntimeError("einsum(): must provide at least one operand")
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        fewer = "fewer" if len(terms) > len(operands) else "more"
        raise RuntimeError(f"einsum(): {fewer} operands were provided than specified in the equation")
    inputs = [_labels(term, operand.dim(), i) for i, (term, operand) in enumerate(zip(terms, operands, strict=True))]
    batch = max((sum(isinstance(x, int) for x in labels) for labels in inputs), default=0)
    everything = [x for labels in inputs for x in labels]
    ellipsis = list(range(-batch, 0))
    if not arrow:
        return inputs, ellipsis + sorted({x for x in everything if not isinstance(x, int) and everything.count(x) == 1})
    before, dots, after = right.partition("...")
    output: list[Any] = [*before, *(ellipsis if dots else []), *after]
    for label in output:
        if not isinstance(label, int) and not label.isalpha():
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {equation.index(label)} in the equation string, "
                "subscripts must be in [a-zA-Z]"
            )
        if not isinstance(label, int) and label not in everything:
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input operand"
            )
        if output.count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
    return inputs, output


def _labels(term: str, ndim: int, position: int) -> list[Any]:
    before, dots, after = term.partition("...")
    for char in before + after:
        if not char.isalpha():
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {term.index(char)} in the equation string, "
                "subscripts must be in [a-zA-Z]"
            )
    named = len(before) + len(after)
    if named != ndim and not dots or named > ndim:
        relation = "is more than" if named > ndim else "does not match"
        more = (
            f"the number of subscripts in the equation ({named}) {relation} the number of dimensions ({ndim}) "
            f"for operand {position}"
        )
        raise RuntimeError(f"einsum(): {more}" + ("" if named > ndim else " and no ellipsis was given"))
    return [*before, *range(named - ndim, 0), *after]


def _contract(inputs: list[list[Any]], output: list[Any], operands: list[Any]) -> Tensor:
    sizes: dict[Any, int] = {}
    for position, (labels, operand) in enumerate(zip(inputs, operands, strict=True)):
        for label, n in zip(labels, operand.shape, strict=True):
            if sizes.get(label, 1) == 1:
                sizes[label] = n
            elif n not in (1, sizes[label]):
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {n} for operand {position} which does not broadcast "
                    f"with previously seen size {sizes[label]}"
                )
    result, labels = _diagonals(operands[0], inputs[0], sizes)
    for position in range(1, len(operands)):
        later = {x for rest in inputs[position + 1 :] for x in rest} | set(output)
        other, other_labels = _diagonals(operands[position], inputs[position], sizes)
        result, labels = _join(result, labels, other, other_labels, later)
    summed = tuple(i for i, label in enumerate(labels) if label not in output)
    if summed:
        result = result.sum(summed)
        labels = [label for label in labels if label in output]
    missing = [label for label in output if label not in labels]
    for label in missing:
        result = result.unsqueeze(-1).expand((*result.shape, sizes[label]))
        labels.append(label)
    return result.permute([labels.index(label) for label in output])


def _diagonals(operand: Any, labels: list[Any], sizes: dict[Any, int]) -> tuple[Any, list[Any]]:
    """Repeated labels of one operand become the diagonal of their dimensions."""
    labels = list(labels)
    for label in list(dict.fromkeys(labels)):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if operand.shape[first] != operand.shape[second]:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand 0 but the sizes don't match, "
                    f"{operand.shape[second]} != {operand.shape[first]}"
                )
            operand = operand.diagonal(0, first, second)
            labels = [x for i, x in enumerate(labels) if i not in (first, second)] + [label]
    return operand, labels


def _join(a: Any, a_labels: list[Any], b: Any, b_labels: list[Any], later: set[Any]) -> tuple[Any, list[Any]]:
    """One batched matrix product: shared labels that are needed later are batch, the others are summed over."""
    shared = [x for x in a_labels if x in b_labels]
    batch = [x for x in shared if x in later or _differs(a, a_labels, b, b_labels, x)]
    inner = [x for x in shared if x not in batch]
    a, a_labels = _sum_out(a, a_labels, [x for x in a_labels if x not in shared and x not in later])
    b, b_labels = _sum_out(b, b_labels, [x for x in b_labels if x not in shared and x not in later])
    rows = [x for x in a_labels if x not in shared]
    columns = [x for x in b_labels if x not in shared]
    batch_shape = [
        max(a.shape[a_labels.index(x)], b.shape[b_labels.index(x)])
        if 0 not in (a.shape[a_labels.index(x)], b.shape[b_labels.index(x)])
        else 0
        for x in batch
    ]
    left = a.permute([a_labels.index(x) for x in batch + rows + inner])
    right = b.permute([b_labels.index(x) for x in batch + inner + columns])
    row_shape, inner_shape = left.shape[len(batch) : len(batch) + len(rows)], left.shape[len(batch) + len(rows) :]
    column_shape = right.shape[len(batch) + len(inner) :]
    if not inner:
        left = left.reshape((*left.shape[: len(batch)], *row_shape, *([1] * len(columns))))
        right = right.reshape((*right.shape[: len(batch)], *([1] * len(rows)), *column_shape))
        return left * right, batch + rows + columns
    left = left.expand((*batch_shape, *row_shape, *inner_shape)).reshape(
        (_prod(batch_shape), _prod(row_shape), _prod(inner_shape))
    )
    right = right.expand((*batch_shape, *inner_shape, *column_shape)).reshape(
        (_prod(batch_shape), _prod(inner_shape), _prod(column_shape))
    )
    return left.bmm(right).reshape((*batch_shape, *row_shape, *column_shape)), batch + rows + columns


def _differs(a: Any, a_labels: list[Any], b: Any, b_labels: list[Any], label: Any) -> bool:
    """Whether a shared dimension is broadcast (size 1 on one side): it cannot be summed by a product."""
    return a.shape[a_labels.index(label)] != b.shape[b_labels.index(label)]


def _sum_out(tensor: Any, labels: list[Any], gone: list[Any]) -> tuple[Any, list[Any]]:
    if not gone:
        return tensor, labels
    return tensor.sum(tuple(labels.index(x) for x in gone)), [x for x in labels if x not in gone]


def _prod(sizes: Sequence[int]) -> int:
    count = 1
    for n in sizes:
        count *= n
    return count
