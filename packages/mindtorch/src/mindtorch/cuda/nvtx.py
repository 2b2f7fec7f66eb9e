"""``torch.cuda.nvtx``: marks for NVIDIA's profilers, which need a device."""

from __future__ import annotations

from .. import _absent_device

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]

_absent_device.refusing(
    globals(),
    "mark range range_end range_pop range_push range_start",
    RuntimeError,
    "NVTX functions not installed. Are you sure you have a CUDA build? mindtorch has no CUDA device here.",
)
