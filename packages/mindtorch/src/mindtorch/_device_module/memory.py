"""``torch.<device>``: how much memory is in use. Without a device, none is."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .control import Control

__all__ = ["Memory"]

_PART = "memory statistics"


class Memory(Control):
    """The functions about memory. Statistics of a device that is not there are 0 or empty."""

    def _figure(self, name: str, function: str, device: Any) -> int:
        if not self.device_count():
            return 0
        return int(self.runtime(_PART, function).memory_stats(self.index(device))[name])

    def memory_allocated(self, device: Any = None) -> int:
        """Bytes in use by tensors on a device."""
        return self._figure("allocated_bytes.all.current", "memory_allocated", device)

    def max_memory_allocated(self, device: Any = None) -> int:
        """The most bytes that were in use by tensors on a device, since the peak was last reset."""
        return self._figure("allocated_bytes.all.peak", "max_memory_allocated", device)

    def memory_reserved(self, device: Any = None) -> int:
        """Bytes in use, or kept for later, on a device."""
        return self._figure("reserved_bytes.all.current", "memory_reserved", device)

    def max_memory_reserved(self, device: Any = None) -> int:
        """The most bytes that were in use, or kept for later, on a device, since the peak was last reset."""
        return self._figure("reserved_bytes.all.peak", "max_memory_reserved", device)

    def memory_cached(self, device: Any = None) -> int:
        """The old name of `memory_reserved`."""
        return self.memory_reserved(device)

    def max_memory_cached(self, device: Any = None) -> int:
        """The old name of `max_memory_reserved`."""
        return self.max_memory_reserved(device)

    def memory_stats(self, device: Any = None) -> OrderedDict[str, Any]:
        """All figures of a device's allocator, by names such as ``allocated_bytes.all.peak``."""
        if not self.device_count():
            return OrderedDict()
        return OrderedDict(sorted(self.runtime(_PART, "memory_stats").memory_stats(self.index(device)).items()))

    def memory_stats_as_nested_dict(self, device: Any = None) -> dict[str, Any]:
        """The same in a dictionary for each part of the names."""
        nested: dict[str, Any] = {}
        for name, value in self.memory_stats(device).items():
            *parts, last = name.split(".")
            inner = nested
            for part in parts:
                inner = inner.setdefault(part, {})
            inner[last] = value
        return nested

    def host_memory_stats(self) -> OrderedDict[str, Any]:
        """Figures of the allocator of pinned memory, of which runtimes keep none."""
        return OrderedDict()

    def host_memory_stats_as_nested_dict(self) -> dict[str, Any]:
        """The same in nested dictionaries."""
        return {}

    def memory_summary(self, device: Any = None, abbreviated: bool = False) -> str:
        """The figures of a device's allocator as a table of bytes; `abbreviated` leaves all but four out."""
        self.runtime(_PART, "memory_summary")
        stats = self.memory_stats(device)
        main = [f"{what}_bytes.all.{when}" for what in ("allocated", "reserved") for when in ("current", "peak")]
        rows = [(name, stats[name]) for name in (main if abbreviated else stats)]
        width = max(len(name) for name, _ in rows)
        title = f"Memory of device {self.device_type}:{self.index(device)}"
        return "\n".join([title, "=" * len(title), *(f"{name:<{width}} {value:>15}" for name, value in rows)])

    def mem_get_info(self, device: Any = None) -> tuple[int, int]:
        """(free, total) bytes of a device's memory, all processes counted."""
        free, total = self.runtime(_PART, "mem_get_info").memory_info(self.index(device))
        return int(free), int(total)

    def empty_cache(self) -> None:
        """Give memory that is kept for later back to the devices; without one, none is."""
        if self.device_count():
            self.runtime(_PART, "empty_cache").empty_cache()

    def reset_peak_memory_stats(self, device: Any = None) -> None:
        """Let the figures named peak start from the current ones."""
        self.runtime(_PART, "reset_peak_memory_stats").reset_peak_memory_stats(self.index(device))

    def reset_accumulated_memory_stats(self, device: Any = None) -> None:
        """Let the figures that only grow start from 0."""
        self.runtime(_PART, "reset_accumulated_memory_stats").reset_accumulated_memory_stats(self.index(device))

    def reset_max_memory_allocated(self, device: Any = None) -> None:
        """The old name of `reset_peak_memory_stats`."""
        self.reset_peak_memory_stats(device)

    def reset_max_memory_cached(self, device: Any = None) -> None:
        """The old name of `reset_peak_memory_stats`."""
        self.reset_peak_memory_stats(device)

    def get_per_process_memory_fraction(self, device: Any = None) -> float:
        """The part of a device's memory that this process may use."""
        return float(self.runtime(_PART, "get_per_process_memory_fraction").memory_fraction(self.index(device)))

    def set_per_process_memory_fraction(self, fraction: float, device: Any = None) -> None:
        """Limit this process to a part of a device's memory.

        Raises
        ------
        TypeError, ValueError
            When `fraction` is no float, or not from 0 to 1.
        """
        runtime = self.runtime(_PART, "set_per_process_memory_fraction")
        if not isinstance(fraction, float):
            raise TypeError("Invalid type for fraction argument, must be `float`")
        if not 0 <= fraction <= 1:
            raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
        runtime.set_memory_fraction(fraction, self.index(device))
