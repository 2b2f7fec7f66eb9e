"""Figures of the allocator by PyTorch's names."""

from __future__ import annotations

__all__ = ["Figures", "in_words"]

_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
#: What is counted, and the name of its pieces.
_COUNTS = {"allocated": "allocation", "active": "active", "reserved": "segment"}


def in_words(nbytes: int) -> str:
    """A number of bytes as PyTorch writes it: ``1.50 GiB``."""
    for size, unit in _UNITS:
        if nbytes >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} bytes"


class Figures:
    """The counts of one device."""

    def __init__(self) -> None:
        self._values = {
            f"{name}.all.{when}": 0
            for what, pieces in _COUNTS.items()
            for name in (f"{what}_bytes", pieces)
            for when in ("current", "peak", "allocated", "freed")
        }
        #: How often memory was refused, and how often idle memory was given back to make room.
        self.refusals = self.retries = 0

    def current(self, what: str) -> int:
        """Bytes that are allocated, active or reserved."""
        return self._values[f"{what}_bytes.all.current"]

    def add(self, what: str, nbytes: int) -> None:
        """Count a piece that was taken, or given back if negative."""
        for name, amount in ((f"{what}_bytes", nbytes), (_COUNTS[what], 1 if nbytes > 0 else -1)):
            current = self._values[f"{name}.all.current"] = self._values[f"{name}.all.current"] + amount
            self._values[f"{name}.all.peak"] = max(self._values[f"{name}.all.peak"], current)
            self._values[f"{name}.all.{'allocated' if amount > 0 else 'freed'}"] += abs(amount)

    def all(self) -> dict[str, int]:
        """Name -> figure."""
        return {**self._values, "num_ooms": self.refusals, "num_alloc_retries": self.retries}

    def reset_peaks(self) -> None:
        for name in self._values:
            if name.endswith(".peak"):
                self._values[name] = self._values[name.removesuffix("peak") + "current"]

    def reset_sums(self) -> None:
        self.refusals = self.retries = 0
        for name in self._values:
            if name.endswith((".allocated", ".freed")):
                self._values[name] = 0
