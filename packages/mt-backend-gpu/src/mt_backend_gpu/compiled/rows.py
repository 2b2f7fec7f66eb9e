"""Blocks and packs for kernels that take a row of elements at a time."""

from __future__ import annotations

import functools
from typing import NamedTuple

__all__ = ["Rows", "block_of", "rows_of"]

#: Packs of a row that a thread keeps in registers: more where a warp takes a row of its own.
WARP_PACKS = (1, 2, 4, 8)
BLOCK_PACKS = 4
#: Rows of a block whose warps take a row each.
ROWS_PER_BLOCK = 4


class Rows(NamedTuple):
    """Elements of a pack, packs of a thread (0: the row does not fit), threads of a row, rows of a block."""

    length: int
    packs: int
    threads: int
    per_block: int


def block_of(columns: int, per_thread: int = 1) -> int:
    """Threads for a row: whole warps, 1024 at most."""
    needed = -(-columns // per_thread)
    return min(1024, max(32, -(-needed // 32) * 32))


@functools.lru_cache(4096)
def rows_of(columns: int, itemsize: int, alignment: int, most_threads: int = 1024) -> Rows:
    """How rows are taken.

    alignment
        The bits of all addresses together: rows begin at multiples of the least one that is set.
    """
    length = 16 // itemsize
    while length > 1 and (columns % length or alignment % (length * itemsize)):
        length //= 2
    packs = -(-columns // length)
    for count in WARP_PACKS:
        if packs <= 32 * count:
            return Rows(length, count, 32, ROWS_PER_BLOCK)
    threads = block_of(packs, BLOCK_PACKS)
    if threads <= most_threads and threads * BLOCK_PACKS >= packs:
        return Rows(length, BLOCK_PACKS, threads, 1)
    return Rows(length, 0, min(block_of(packs), 1024), 1)
