"""Where the components of a nested tensor lie."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from mt_core.symbolic import SymInt

from ..nested_int import NestedIntNode

__all__ = ["Layout", "contiguous_layout", "dense_strides"]

Sizes = tuple[tuple[int, ...], ...]


class IrregularNode(NestedIntNode):
    """The node of a dimension that differs between components; it equals the one with the same sizes."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        super().__init__(-1)
        self.sizes = sizes

    @property
    def identity(self) -> Any:
        return "irregular", self.sizes

    def __str__(self) -> str:
        return f"{self.sizes}"


class Layout:
    """Sizes, strides and beginnings of the components, in elements of the buffer.

    Attributes
    ----------
    sizes, strides : tuple of tuple of int
        Of each component, one number a dimension.
    starts : tuple of int
        Where each component begins in the buffer.
    """

    __slots__ = ("sizes", "starts", "strides")

    def __init__(self, sizes: Sizes, strides: Sizes, starts: tuple[int, ...]) -> None:
        self.sizes, self.strides, self.starts = sizes, strides, starts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self.told == other.told

    def __hash__(self) -> int:
        return hash(self.told)

    @property
    def told(self) -> tuple[Sizes, Sizes, tuple[int, ...]]:
        return self.sizes, self.strides, self.starts

    @property
    def rank(self) -> int:
        """Dimensions of the components."""
        return len(self.sizes[0]) if self.sizes else 0

    def numels(self) -> list[int]:
        """How many elements each component has."""
        return [math.prod(size) for size in self.sizes]

    def at(self, dim: int) -> tuple[int, ...]:
        """The size that each component has in a dimension."""
        return tuple(size[dim] for size in self.sizes)

    def regular(self, dim: int) -> int | None:
        """The size that all components have in a dimension; None where they differ, or where there are none."""
        found = set(self.at(dim))
        return found.pop() if len(found) == 1 else None

    def shape(self) -> tuple[Any, ...]:
        """The number of components, and for each dimension its size, or what stands for the sizes that differ."""
        inner = []
        for dim in range(self.rank):
            size = self.regular(dim)
            inner.append(SymInt(IrregularNode(self.at(dim))) if size is None else size)
        return len(self.sizes), *inner

    def is_contiguous(self) -> bool:
        """Whether the components lie one behind the other, by rows."""
        return self == contiguous_layout(self.sizes)

    def covers(self, numel: int) -> bool:
        """Whether every element of a buffer belongs to one component, which lie one behind the other."""
        end = 0
        for size, steps, start, count in zip(self.sizes, self.strides, self.starts, self.numels(), strict=True):
            if not count:
                continue
            if start != end or not _dense(size, steps):
                return False
            end += count
        return end == numel


def _dense(size: tuple[int, ...], steps: tuple[int, ...]) -> bool:
    expected = 1
    for step, count in sorted((step, count) for step, count in zip(steps, size, strict=True) if count != 1):
        if step != expected:
            return False
        expected *= count
    return True


def dense_strides(size: Sequence[int]) -> tuple[int, ...]:
    """Strides by rows; a dimension of size 0 counts as PyTorch's nested tensors count it, as 0."""
    steps: list[int] = []
    step = 1
    for count in reversed(size):
        steps.insert(0, step)
        step *= count
    return tuple(steps)


def contiguous_layout(sizes: Sequence[Sequence[int]]) -> Layout:
    """Components of sizes one behind the other, by rows."""
    given = tuple(tuple(size) for size in sizes)
    ends = itertools.accumulate((math.prod(size) for size in given), initial=0)
    return Layout(given, tuple(dense_strides(size) for size in given), tuple(ends)[: len(given)])
