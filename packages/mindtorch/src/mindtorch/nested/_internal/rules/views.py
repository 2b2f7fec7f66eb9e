"""Views, and joining."""

from __future__ import annotations

import math
from typing import Any

from mt_core import Tensor
from mt_core.symbolic import SymInt
from mt_core.tensor import wrap_dim

from ...._compound.layer import elements
from ..nested_tensor import RULES, NestedTensor, like, matching, nested, outer, rows_of


@RULES.rule("transpose.int")
def transpose(overload: Any, self: Any, dim0: int, dim1: int) -> Any:
    first, second = (wrap_dim(d, self.dim()) for d in (dim0, dim1))
    if first == second:
        return like(self, overload.call(elements(self), 0, 0))
    if 0 in (first, second):
        raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
    ragged = {first: second, second: first}.get(self._array.ragged, self._array.ragged)
    return like(self, overload.call(elements(self), first - 1, second - 1), ragged)


@RULES.rule("permute")
def permute(overload: Any, self: Any, dims: Any) -> Any:
    order = [wrap_dim(d, self.dim()) for d in dims]
    if len(order) != self.dim() or sorted(order) != list(range(self.dim())):
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {self.dim()} is not equal to len(dims) = {len(order)}"
            if len(order) != self.dim() else "permute(): duplicate dims are not allowed."
        )  # fmt: skip
    if order[0] != 0:
        raise ValueError("Permute is not supported on the batch dimension for jagged NT")
    data = overload.call(elements(self), [d - 1 for d in order[1:]])
    return like(self, data, order.index(self._array.ragged))


@RULES.rule("view", "reshape", "_unsafe_view")
def view(overload: Any, self: Any, size: Any) -> Any:
    return like(self, *_viewed(overload, self, list(size)))


def _viewed(overload: Any, self: Any, size: list[Any]) -> tuple[Tensor, int]:
    """The values in the sizes of a view, and its ragged dimension."""
    array, data = self._array, elements(self)
    refused = RuntimeError(f"view(): cannot view shape {tuple(self.shape)} as {size}")
    if size and isinstance(size[0], int) and size[0] == -1:
        size[0] = array.shape[0]
    exact = [at for at, n in enumerate(size) if isinstance(n, SymInt)]
    found = exact or [at for at, n in enumerate(size) if isinstance(n, int) and n == -1]
    if len(found) != 1 or found[0] == 0 or not size or size[0] != array.shape[0]:
        raise refused
    ragged = found[0]
    if exact and not size[ragged] == array.shape[array.ragged]:
        raise refused
    before, behind = size[1:ragged], size[ragged + 1 :]
    old = data.shape
    for new, former in ((before, old[: array.ragged - 1]), (behind, old[array.ragged :])):
        known, there = math.prod(n for n in new if n != -1), math.prod(former)
        if -1 in new and exact and known and there % known == 0:
            new[new.index(-1)] = there // known
        elif -1 in new or known != there:
            raise refused
    return overload.call(data, [*before, old[array.ragged - 1], *behind]), ragged


@RULES.rule("unflatten.int")
def unflatten(overload: Any, self: Any, dim: int, sizes: Any) -> Any:
    at = wrap_dim(dim, self.dim())
    array = self._array
    if at == array.ragged:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {at} ({array.shape[at]}) in "
            "the input tensor"
        )
    if at == 0:
        raise RuntimeError(f"view(): cannot view shape {tuple(self.shape)} as {[*sizes, *self.shape[1:]]}")
    made = overload.call(elements(self), at - 1, sizes)
    return like(self, made, array.ragged + (len(sizes) - 1 if at < array.ragged else 0))


@RULES.rule("flatten.using_ints")
def flatten(overload: Any, self: Any, start_dim: int, end_dim: int) -> Any:
    start, end = (wrap_dim(d, self.dim()) for d in (start_dim, end_dim))
    if start == 0:
        raise RuntimeError("flatten(): not supported for NestedTensor on dim=0")
    ragged = self._array.ragged
    if start <= ragged <= end:
        raise RuntimeError("flatten(): not supported for NestedTensor on ragged dim")
    made = overload.call(elements(self), start - 1, end - 1)
    return like(self, made, ragged - (end - start) if end < ragged else ragged)


@RULES.rule("select.int")
def select(overload: Any, self: Any, dim: int, index: int) -> Any:
    at = wrap_dim(dim, self.dim())
    if at == 0:
        count = self.shape[0]
        if not -count <= index < count:
            raise IndexError(
                f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension 0"
            )
        rows = rows_of(self)
        return elements(self).narrow(self._array.ragged - 1, rows.starts[index], rows.lengths[index])
    at = outer(self, dim, "select")
    return like(self, overload.call(elements(self), at, index), self._array.ragged - (at < self._array.ragged - 1))


@RULES.rule("slice.Tensor")
def slice_(overload: Any, self: Any, dim: int, start: Any, end: Any, step: int) -> Any:
    return like(self, overload.call(elements(self), outer(self, dim, "slice"), start, end, step))


@RULES.rule("narrow")
def narrow(overload: Any, self: Any, dim: int, start: int, length: int) -> Any:
    return like(self, overload.call(elements(self), outer(self, dim, "narrow"), start, length))


@RULES.rule("unsqueeze")
def unsqueeze(overload: Any, self: Any, dim: int) -> Any:
    at = wrap_dim(dim, self.dim() + 1)
    if at == 0:
        raise RuntimeError("unsqueeze(): not supported for NestedTensor on dim=0")
    return like(self, overload.call(elements(self), at - 1), self._array.ragged + (at <= self._array.ragged))


@RULES.rule("squeeze.dim", "squeeze.dims")
def squeeze(overload: Any, self: Any, dim: Any) -> Any:
    dims = [dim] if isinstance(dim, int) else list(dim)
    within = [outer(self, d, "squeeze") for d in dims]
    data = elements(self)
    gone = sum(data.shape[d] == 1 and d < self._array.ragged - 1 for d in set(within))
    made = overload.call(data, within[0] if isinstance(dim, int) else within)
    return like(self, made, self._array.ragged - gone)


@RULES.rule("expand")
def expand(overload: Any, self: Any, size: Any, implicit: bool) -> Any:
    array, data = self._array, elements(self)
    fits = len(size) == self.dim() and all(
        isinstance(n, int) and n == -1 or n == array.shape[d]
        for d, n in ((0, size[0]), (array.ragged, size[array.ragged]))
    )
    if not fits:
        raise RuntimeError(f"expand(): cannot expand shape {tuple(self.shape)} -> {list(size)}")
    inner = [data.shape[d - 1] if d == array.ragged else size[d] for d in range(1, self.dim())]
    return like(self, overload.call(data, inner, implicit))


@RULES.rule("unbind.int")
def unbind(overload: Any, self: Any, dim: int) -> Any:
    if wrap_dim(dim, self.dim()) != 0:
        raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
    data, rows = elements(self), rows_of(self)
    at = self._array.ragged - 1
    return tuple(data.narrow(at, start, n) for start, n in zip(rows.starts, rows.lengths))


@RULES.rule("split.Tensor", "split_with_sizes")
def split(overload: Any, self: Any, sizes: Any, dim: int) -> Any:
    at = outer(self, dim, overload.name.partition(".")[0])
    return tuple(like(self, part) for part in overload.call(elements(self), sizes, at))


@RULES.rule("chunk")
def chunk(overload: Any, self: Any, chunks: int, dim: int) -> Any:
    if wrap_dim(dim, self.dim()) != 0:
        at = outer(self, dim, "chunk")
        return tuple(like(self, part) for part in overload.call(elements(self), chunks, at))
    array, data = self._array, elements(self)
    if array.lengths is not None:
        raise RuntimeError("chunk(): not supported for NestedTensor with holes on dim=0")
    made, rows, first = [], rows_of(self), 0
    for lengths in array.offsets.diff().chunk(chunks):
        n = lengths.shape[0]
        ends = array.offsets[first : first + n + 1]
        part = data.narrow(array.ragged - 1, rows.starts[first], sum(rows.lengths[first : first + n]))
        made.append(nested(part, ends - ends[0], None, array.ragged))
        first += n
    return tuple(made)


@RULES.rule("cat", "stack")
def join(overload: Any, tensors: Any, dim: int) -> Any:
    first = matching(tensors)
    name, rank = overload.name, first.dim()
    at = wrap_dim(dim, rank + (name == "stack"))
    ragged = first._array.ragged
    if at == 0 or at == ragged:
        where = "dim=0" if at == 0 else "ragged dim"
        raise RuntimeError(f"{name}(): not supported for NestedTensor on {where}")
    for other in tensors:
        if (
            not isinstance(other, NestedTensor)
            or other._array.ragged != ragged
            or other.shape[ragged] != first.shape[ragged]
        ):
            raise RuntimeError(f"{name}(): expected nested tensors of one ragged structure")
    made = overload.call([elements(tensor) for tensor in tensors], at - 1)
    return like(first, made, ragged + (name == "stack" and at < ragged))
