"""Views: other sizes and strides in the same buffer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from mt_core.tensor import wrap_dim

from ..layouts import Layout, dense_strides
from ..strided_tensor import RULES, StridedNestedTensor, components, joined
from .pointwise import relaid


def _each(self: Any, change: Callable[[tuple[int, ...], tuple[int, ...], int], Any]) -> Any:
    """A view whose components have the sizes, strides and beginnings that `change` makes of theirs."""
    placed = self._array.placed
    made = [change(*one) for one in zip(placed.sizes, placed.strides, placed.starts, strict=True)]
    return relaid(self, Layout(*(tuple(one[at] for one in made) for at in range(3))))


def _swapped(row: tuple[int, ...], a: int, b: int) -> tuple[int, ...]:
    found = list(row)
    found[a], found[b] = found[b], found[a]
    return tuple(found)


@RULES.rule("transpose.int")
def transpose(overload: Any, self: Any, dim0: int, dim1: int) -> Any:
    first, second = (wrap_dim(d, self.dim()) for d in (dim0, dim1))
    if first == second:
        return self
    if 0 in (first, second):
        raise RuntimeError("Nested tensor dimension 0 cannot be transposed")
    a, b = first - 1, second - 1
    return _each(self, lambda size, steps, start: (_swapped(size, a, b), _swapped(steps, a, b), start))


@RULES.rule("unsqueeze")
def unsqueeze(overload: Any, self: Any, dim: int) -> Any:
    at = wrap_dim(dim, self.dim() + 1) - 1
    if at < 0:
        raise RuntimeError(
            "unsqueeze(): For nested tensors, unsqueezing dimension 0 is not supported at the moment if you need this "
            "feature, please open an issue on github describing your use case."
        )

    def widened(size: tuple[int, ...], steps: tuple[int, ...], start: int) -> Any:
        step = 1 if at == len(size) else size[at] * steps[at]
        return (*size[:at], 1, *size[at:]), (*steps[:at], step, *steps[at:]), start

    return _each(self, widened)


@RULES.rule("squeeze")
def squeeze_all(overload: Any, self: Any) -> Any:
    raise RuntimeError(
        "squeeze(): For nested tensors, squeeze without the dim argument is not supported at the moment, however you "
        "can use squeeze(Tensor self, int dim) instead if you need this feature, please open an issue on github "
        "describing your use case."
    )


@RULES.rule("squeeze.dim", "squeeze.dims")
def squeeze(overload: Any, self: Any, dim: Any) -> Any:
    dims = sorted({wrap_dim(d, self.dim()) for d in ([dim] if isinstance(dim, int) else dim)})
    placed = self._array.placed
    if 0 in dims:
        raise RuntimeError(
            "squeeze(): For nested tensors, squeezing dimension 0 is not supported at the moment if you need this "
            "feature, please open an issue on github describing your use case."
        )
    gone = {d - 1 for d in dims if placed.regular(d - 1) == 1}
    if gone and self.dim() <= 2:
        raise RuntimeError(
            "squeeze(): For nested tensors, squeezing a nested tensor of singleton tensors is not supported at the "
            "moment if you need this feature, please open an issue on github describing your use case."
        )

    def narrowed(row: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(n for d, n in enumerate(row) if d not in gone)

    return _each(self, lambda size, steps, start: (narrowed(size), narrowed(steps), start))


@RULES.rule("select.int")
def select(overload: Any, self: Any, dim: int, index: int) -> Any:
    placed = self._array.placed
    at = wrap_dim(dim, self.dim())
    if at == 0:
        count = len(placed.sizes)
        if not -count <= index < count:
            raise IndexError(
                f"index {index} is out of bounds for dimension 0 with size {count}"
                if count else "You can only select when the NT is not empty."
            )  # fmt: skip
        return components(self)[index]
    for which, size in enumerate(placed.sizes):
        if not -size[at - 1] <= index < size[at - 1]:
            raise IndexError(
                f"index {index} is out of bounds for dimension {at - 1} of the {which}th constituent tensor with size "
                f"{size[at - 1]}"
            )

    def left_out(row: tuple[int, ...]) -> tuple[int, ...]:
        return (*row[: at - 1], *row[at:])

    def chosen(size: tuple[int, ...], steps: tuple[int, ...], start: int) -> Any:
        return left_out(size), left_out(steps), start + steps[at - 1] * (index % size[at - 1])

    return _each(self, chosen)


@RULES.rule("unbind.int")
def unbind(overload: Any, self: Any, dim: int) -> Any:
    at = wrap_dim(dim, self.dim())
    if at:
        raise RuntimeError(f"NestedTensor can only be unbound along dimension 0 got dimension {at} instead.")
    return tuple(components(self))


@RULES.rule("narrow")
def narrow(overload: Any, self: Any, dim: int, start: int, length: int) -> Any:
    if wrap_dim(dim, self.dim()):
        raise RuntimeError(f"narrow(): only dim=0 supported for nested tensors, but got: {dim}")
    placed = self._array.placed
    if not placed.is_contiguous():
        raise RuntimeError("narrow(): only contiguous nested tensors supported")
    count = len(placed.sizes)
    if not -count <= start <= count:
        raise IndexError(f"start out of range (expected to be in range of [-{count}, {count}], but got {start})")
    if length < 0 or (start + count if start < 0 else start) + length > count:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({count}).")
    begin = start + count if start < 0 else start
    return relaid(self, Layout(*(part[begin : begin + length] for part in placed.told)))


def trailing(self: Any) -> int:
    """The size that the last dimension of every component has.

    Raises
    ------
    RuntimeError
        Where they differ, in PyTorch's words.
    """
    sizes = self._array.placed.at(-1)
    for n in sizes:
        if n != sizes[0]:
            raise RuntimeError(
                "Expected all tensors in nested tensor to have the same trailing dimension, instead last dimension "
                f"equals: {n}"
            )
    return sizes[0]


@RULES.rule("chunk")
def chunk(overload: Any, self: Any, chunks: int, dim: int) -> Any:
    placed = self._array.placed
    if wrap_dim(dim, self.dim()) != self.dim() - 1:
        raise RuntimeError("Chunk for nested tensors is currently only supported for the last dimension.")
    if chunks <= 0:
        raise RuntimeError("chunk expects `chunks` to be greater than 0, got: " + str(chunks))
    if not placed.is_contiguous():
        raise RuntimeError("chunk expects `self` to be contiguous.")
    last = trailing(self)
    if last % chunks:
        raise RuntimeError(
            "Chunk for nested tensors is only supported for nested tensors with trailing dimension divisible by "
            f"chunks, got: {last} % {chunks} != 0"
        )
    return _split(self, [last // chunks] * chunks)


@RULES.rule("split_with_sizes", "split.sizes")
def split_with_sizes(overload: Any, self: Any, sizes: Sequence[int], dim: int) -> Any:
    if wrap_dim(dim, self.dim()) != self.dim() - 1:
        raise RuntimeError("split_with_sizes for nested tensors is currently only supported for the last dimension.")
    if not sizes:
        raise RuntimeError("split_with_sizes expects number of splits to be greater than 0, got: 0")
    if not self._array.placed.is_contiguous():
        raise RuntimeError("split_with_sizes expects `self` to be contiguous.")
    last = trailing(self)
    if sum(sizes) != last:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {last} (input tensor's size at dimension "
            f"{self.dim() - 1}), but got split_sizes={list(sizes)}"
        )
    return _split(self, list(sizes))


def _split(self: Any, widths: list[int]) -> tuple[Any, ...]:
    made, begin = [], 0
    for width in widths:
        first = begin
        made.append(_each(self, lambda size, steps, start: ((*size[:-1], width), steps, start + first)))  # noqa: B023
        begin += width
    return tuple(made)


@RULES.rule("view", "_unsafe_view")
def view(overload: Any, self: Any, size: Any) -> Any:
    made = _viewed(self, list(size), "view")
    if made is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return made


@RULES.rule("reshape")
def reshape(overload: Any, self: Any, size: Any) -> Any:
    made = _viewed(self, list(size), "reshape")
    return _viewed(joined(components(self)), list(size), "reshape") if made is None else made


@RULES.rule("view_as", "flatten.using_ints")
def of_sizes(overload: Any, *args: Any) -> Any:
    """PyTorch takes these apart into what asks for sizes."""
    raise RuntimeError("Internal error: NestedTensorImpl doesn't support sizes. Please file an issue.")


@RULES.rule("reshape_as")
def reshape_as(overload: Any, self: Any, other: Any) -> Any:
    if not isinstance(other, StridedNestedTensor):
        raise RuntimeError("reshape_as: expected a nested tensor")
    placed = other._array.placed
    sizes = [placed.regular(d) for d in range(placed.rank)]
    return self.reshape([len(placed.sizes), *(-1 if n is None else n for n in sizes)])


def _viewed(self: Any, size: list[int], name: str) -> Any:
    """A view with sizes, of which -1 stands for the size before; None where it is no view.

    Raises
    ------
    RuntimeError
        For sizes that no component has, in PyTorch's words.
    """
    placed = self._array.placed
    if not size:
        raise RuntimeError("shape '[]' is invalid for a nested tensor")
    if not placed.sizes:
        raise RuntimeError("empty nested tensor cannot be reshaped")
    if size[0] != len(placed.sizes):
        raise RuntimeError(f"{name}: For now nested {name} cannot change or infer the implicit batch dimension")
    told = str(size).replace("(", "[")
    made = []
    for old, steps, start, numel in zip(placed.sizes, placed.strides, placed.starts, placed.numels(), strict=True):
        new = list(size[1:])
        for at, n in enumerate(new):
            if n < -1:
                raise RuntimeError(f"invalid shape dimension {n}")
            if n == -1:
                if at >= len(old):
                    raise RuntimeError("nested tensor does not infer shape")
                new[at] = old[at]
        if math.prod(new) != numel:
            raise RuntimeError(f"shape '{told}' is invalid for input of size {numel}")
        found = _strides_of_view(old, steps, new)
        if found is None:
            return None
        made.append((tuple(new), found, start))
    sizes, strides, starts = zip(*made, strict=True)
    return relaid(self, Layout(sizes, strides, starts))


def _strides_of_view(old: Sequence[int], steps: Sequence[int], new: Sequence[int]) -> tuple[int, ...] | None:
    """The strides of a view of other sizes with as many elements; None where they have none."""
    if not math.prod(old):
        return dense_strides(new)
    found = [1] * len(new)
    at = len(new) - 1
    step, count, taken = 1, 1, 1
    for d in range(len(old) - 1, -1, -1):
        if count == 1:
            step = steps[d]
        count *= old[d]
        joins = d > 0 and (old[d - 1] == 1 or steps[d - 1] == count * step)
        if joins:
            continue
        while at >= 0 and (taken < count or new[at] == 1):
            found[at] = taken * step
            taken *= new[at]
            at -= 1
        if taken != count:
            return None
        count, taken = 1, 1
    return tuple(found) if at == -1 else None
