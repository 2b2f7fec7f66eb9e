"""The entry point of the device type ``npu``."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

from mt_core.plugins.protocols import CONTRACT
from mt_core.plugins.unavailable import UnavailableBackend
from mt_mindspore import why_unavailable
from mt_mindspore.backend import MindSporeBackend

__all__ = ["TARGET_VARIABLE", "backend", "why_no_ascend"]

#: Names MindSpore's device target: ``Ascend``, unless it says ``CPU``.
TARGET_VARIABLE = "MT_ASCEND_TARGET"
#: What MindSpore's Ascend plugin is linked against, of CANN and of the driver.
CANN_LIBRARIES = ("libascendcl.so", "libruntime.so", "libnnopbase.so", "libopapi.so", "libhccl.so")


def why_no_ascend(devices: Path = Path("/dev")) -> str | None:
    """What an Ascend device needs and this machine lacks; None when nothing is known to be missing."""
    for name in CANN_LIBRARIES:
        try:
            ctypes.CDLL(name)
        except OSError as error:
            return f"CANN is not there, or not on LD_LIBRARY_PATH: {error}"
    if not any(devices.glob("davinci[0-9]*")):
        return f"there is no Ascend device {devices}/davinci*"
    return None


def _made() -> Any:
    target = os.environ.get(TARGET_VARIABLE, "Ascend")
    reason = why_unavailable() or (why_no_ascend() if target == "Ascend" else None)
    if reason is not None:
        remedy = f"Use device='cpu', or set {TARGET_VARIABLE}=CPU for the same device on MindSpore's CPU kernels"
        return UnavailableBackend(CONTRACT, "npu", reason, remedy)
    return MindSporeBackend("npu", target)


backend = _made()
