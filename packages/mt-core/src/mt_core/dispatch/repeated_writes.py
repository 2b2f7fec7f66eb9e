"""In-place operators on tensors whose indices reach an element several times (``as_strided``).

PyTorch refuses those that ``expand`` makes, and writes to the others one index after the other: an element that two
indices reach is written twice, the second time from what the first has left.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

__all__ = ["Visits", "visits"]


class Visits:
    """The order in which the indices of an array are written to.

    Attributes
    ----------
    location
        (n,), number of the element that each index reaches, indices counted row-major.
    first
        (m,), for each element an index that reaches it.
    """

    def __init__(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        offsets = np.zeros(shape, np.int64)
        for axis, (size, stride) in enumerate(zip(shape, strides, strict=True)):
            offsets += (np.arange(size) * stride).reshape(-1, *[1] * (len(shape) - axis - 1))
        _, self.first, location = np.unique(offsets, return_index=True, return_inverse=True)
        self.location = location.reshape(-1)
        # PyTorch's loops go along short steps first.
        outer_first = sorted(range(len(shape)), key=lambda axis: -strides[axis])
        self._order = np.arange(offsets.size).reshape(shape).transpose(outer_first).reshape(-1)

    def rounds(self) -> Iterator[np.ndarray]:
        """Indices in turn: those of each round reach elements that all differ."""
        reached = self.location[self._order]
        by_element = np.argsort(reached, kind="stable")
        starts = np.flatnonzero(np.diff(reached[by_element], prepend=-1))
        turn = np.arange(reached.size) - np.repeat(starts, np.diff(starts, append=reached.size))
        by_turn = np.argsort(turn, kind="stable")
        ends = np.cumsum(np.bincount(turn))
        yield from np.split(self._order[by_element[by_turn]], ends[:-1])


def visits(shape: tuple[int, ...], strides: tuple[int, ...]) -> Visits | None:
    """How an array is written to if indices may reach an element twice; None where steps show that none does."""
    reach = 0
    for stride, size in sorted((abs(stride), size) for stride, size in zip(strides, shape, strict=True) if size > 1):
        if stride <= reach:
            return Visits(shape, strides)
        reach += stride * (size - 1)
    return None
