"""Times, memory and counts of operations as text."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["FormattedTimesMixin"]

_MEMORY = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB"))
_COUNTS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")


def _format_time(time_us: float) -> str:
    """Microseconds in a unit that fits: ``12.346ms``."""
    if time_us >= 1e6:
        return f"{time_us / 1e6:.3f}s"
    if time_us >= 1e3:
        return f"{time_us / 1e3:.3f}ms"
    return f"{time_us:.3f}us"


def _format_time_share(time_us: float, total_time_us: float) -> str:
    """A share of a whole in percent: ``33.33%``; of nothing, ``NaN``."""
    if total_time_us == 0:
        return "NaN"
    return f"{time_us * 100 / total_time_us:.2f}%"


def _format_memory(nbytes: int) -> str:
    """Bytes in a unit that fits: ``-1.95 KB``."""
    for size, unit in _MEMORY:
        if abs(nbytes) >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} B"


def flops_unit(least: float) -> tuple[float, str]:
    """What numbers of operations, the least of which is given, are divided by, and the unit that they have then."""
    power = max(0, min(int(math.log10(least) / 3), len(_COUNTS) - 1))
    return 10.0 ** (3 * power), _COUNTS[power]


def _written(attribute: str) -> Any:
    return property(lambda self: _format_time(getattr(self, attribute)), doc=f"``{attribute}`` as text.")


class FormattedTimesMixin:
    """Times of an event as text, and their means over its calls."""

    cpu_time_str = _written("cpu_time")
    device_time_str = _written("device_time")
    cpu_time_total_str = _written("cpu_time_total")
    device_time_total_str = _written("device_time_total")
    self_cpu_time_total_str = _written("self_cpu_time_total")
    self_device_time_total_str = _written("self_device_time_total")

    @property
    def cpu_time(self: Any) -> float:
        """Microseconds of a call, in the mean."""
        return 0.0 if self.count == 0 else self.cpu_time_total / self.count

    @property
    def device_time(self: Any) -> float:
        """Microseconds of a call on the device, in the mean."""
        return 0.0 if self.count == 0 else self.device_time_total / self.count
