"""The entry point of the device type ``cuda``: the backend, or what says why there is none."""

from __future__ import annotations

from typing import Any

from mt_core.plugins.protocols import CONTRACT
from mt_core.plugins.unavailable import UnavailableBackend

from .detect import what_is_missing

__all__ = ["backend"]


def _made() -> Any:
    missing = what_is_missing()
    if missing is not None:
        return UnavailableBackend(CONTRACT, "cuda", missing.reason, missing.remedy)
    from .backend import GpuBackend  # only where CuPy can be imported

    return GpuBackend()


backend = _made()
