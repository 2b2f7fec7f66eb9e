"""Device memory: CuPy's pool, with what a tensor's memory needs besides.

A `Block` is a piece of the pool. It counts for the statistics; it goes back to the pool when nothing refers to it, and
not before the streams that it was said to be used on (`record_stream`) have done what they were given until then; and
what is taken while a graph is recorded stays the graph's.
"""

from __future__ import annotations

import threading
from typing import Any

import cupy

from mt_core.plugins.runtime_access import OutOfMemoryError

__all__ = ["Allocator", "Block", "in_words"]

_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_WHENS = ("current", "peak", "allocated", "freed")


def in_words(nbytes: int) -> str:
    """A number of bytes as PyTorch writes it: ``1.50 GiB``."""
    for size, unit in _UNITS:
        if nbytes >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} bytes"


class Block:
    """A piece of the pool; `users` are the streams that use it besides the one it was taken on."""

    __slots__ = ("allocator", "pointer", "nbytes", "index", "users")

    def __init__(self, allocator: Allocator, pointer: Any, nbytes: int, index: int) -> None:
        self.allocator, self.pointer, self.nbytes, self.index = allocator, pointer, nbytes, index
        self.users: set[Any] = set()

    def __del__(self) -> None:
        self.allocator.released(self)


class Allocator:
    """Takes memory from a pool of CuPy's for the current device and stream, and counts it."""

    def __init__(self) -> None:
        self.pool = cupy.cuda.MemoryPool()
        self._lock = threading.RLock()
        self._figures: dict[int, dict[str, int]] = {}
        #: Device -> the most bytes that its pool was seen to hold.
        self.most_reserved: dict[int, int] = {}
        #: Pieces that streams may still use, and the events after which they do not.
        self._later: list[tuple[Any, list[Any]]] = []
        #: Stream -> the pieces that a graph which records it keeps.
        self.recorded: dict[int, list[Any]] = {}

    def figures(self, index: int) -> dict[str, int]:
        """The counts of a device, which `memory_stats` shows."""
        found = self._figures.get(index)
        if found is None:
            found = self._figures[index] = {
                f"{kind}.all.{w}": 0 for kind in ("allocated_bytes", "allocation") for w in _WHENS
            }
        return found

    def allocate(self, nbytes: int) -> Any:
        """A pointer of CuPy's to uninitialized memory of the current device, which keeps it.

        Raises
        ------
        OutOfMemoryError
            When the device, or the part of it that the process may use, has no more.
        """
        if self._later:
            self._take_back()
        try:
            pointer = self.pool.malloc(nbytes or 1)  # views of nothing have an address too
        except cupy.cuda.memory.OutOfMemoryError:
            raise OutOfMemoryError(self._refusal(nbytes)) from None
        if not nbytes:
            return pointer
        index = pointer.mem.device_id
        block = Block(self, pointer, nbytes, index)
        self._count(index, nbytes)
        if self.recorded:
            kept = self.recorded.get(cupy.cuda.get_current_stream().ptr)
            if kept is not None:
                kept.append(pointer)
        return cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(pointer.ptr, nbytes, block, index), 0)

    def _count(self, index: int, nbytes: int) -> None:
        """Count what was taken, or given back if negative."""
        with self._lock:
            figures = self.figures(index)
            for kind, amount in (("allocated_bytes", nbytes), ("allocation", 1 if nbytes > 0 else -1)):
                current = figures[f"{kind}.all.current"] = figures[f"{kind}.all.current"] + amount
                figures[f"{kind}.all.peak"] = max(figures[f"{kind}.all.peak"], current)
                figures[f"{kind}.all.{'allocated' if amount > 0 else 'freed'}"] += abs(amount)

    def released(self, block: Block) -> None:
        """Nothing refers to a block any more."""
        self._count(block.index, -block.nbytes)
        if block.users:
            with self._lock:
                self._later.append((block.pointer, [stream.mark() for stream in block.users]))

    def _take_back(self) -> None:
        with self._lock:
            self._later = [(pointer, marks) for pointer, marks in self._later if not all(m.query() for m in marks)]

    def _refusal(self, nbytes: int) -> str:
        """PyTorch's words."""
        index = cupy.cuda.runtime.getDevice()
        free, total = cupy.cuda.runtime.memGetInfo()
        used, held = self.figures(index)["allocated_bytes.all.current"], self.pool.total_bytes()
        return (
            f"CUDA out of memory. Tried to allocate {in_words(nbytes)}. GPU {index} has a total capacity of "
            f"{in_words(total)} of which {in_words(free)} is free. Of the allocated memory {in_words(used)} is "
            f"allocated by PyTorch, and {in_words(max(held - used, 0))} is reserved by PyTorch but unallocated."
        )
