"""``torch.cuda.nvtx``: marks for NVIDIA's profilers, which need a device."""

from __future__ import annotations

from .. import _absent_device

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]

_needs_device = _absent_device.refusing(
    RuntimeError, "NVTX functions not installed. Are you sure you have a CUDA build? mindtorch has no CUDA device here."
)

mark = _needs_device("mark")
range = _needs_device("range")
range_end = _needs_device("range_end")
range_pop = _needs_device("range_pop")
range_push = _needs_device("range_push")
range_start = _needs_device("range_start")
