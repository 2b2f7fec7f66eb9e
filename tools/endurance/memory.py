"""Watches the memory of this process: at the end of a run it is to be that after a tenth of it."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path

__all__ = ["GROWTH", "Watch", "resident"]

#: How much more memory the end may take than a tenth of the run.
GROWTH = 0.05


def resident() -> int:
    """Bytes of memory that this process has, after garbage was collected."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


class Watch:
    """Asks for the memory after each part of a run, and complains where it grew since a tenth of it."""

    def __init__(self, parts: int, measure: Callable[[], int] = resident) -> None:
        self._at = max(1, parts // 10)
        self._parts = parts
        self._measure = measure
        self._done = 0
        self.early = self.late = 0

    def step(self) -> None:
        """A part is done."""
        self._done += 1
        if self._done == self._at:
            self.early = self._measure()
        if self._done == self._parts:
            self.late = self._measure()

    def complaints(self) -> list[str]:
        if self.late <= self.early * (1 + GROWTH):
            return []
        return [f"memory grew from {self.early >> 20} MB after a tenth to {self.late >> 20} MB at the end"]
