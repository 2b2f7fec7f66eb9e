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

from .backend import AclBackend
from .cann.libraries import candidates
from .mindspore_runtime import AscendBackend

__all__ = ["TARGET_VARIABLE", "backend", "why_no_ascend"]

#: What the device is made of: ``Ascend`` and ``CPU`` are MindSpore's device targets; ``ACL`` is CANN without MindSpore.
TARGET_VARIABLE = "MT_ASCEND_TARGET"
#: What MindSpore's Ascend plugin is linked against, of CANN and of the driver.
CANN_LIBRARIES = ("libascendcl.so", "libruntime.so", "libnnopbase.so", "libopapi.so", "libhccl.so")


def why_no_ascend(devices: Path = Path("/dev")) -> str | None:
    """What an Ascend device needs and this machine lacks; None when nothing is known to be missing."""
    reasons = [reason for reason in map(_why_not_loaded, CANN_LIBRARIES) if reason is not None]
    if reasons:
        return f"CANN is not there, or not on LD_LIBRARY_PATH: {'; '.join(reasons)}"
    if not any(devices.glob("davinci[0-9]*")):
        return f"there is no Ascend device {devices}/davinci*"
    return None


def _why_not_loaded(name: str) -> str | None:
    for place in candidates(name):
        try:
            ctypes.CDLL(place, mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            reason = str(error)
        else:
            return None
    return reason


def _on_cann_alone() -> Any:
    reason = _why_not_loaded("libascendcl.so")
    if reason is not None:
        remedy = "Install CANN and run `source <CANN>/set_env.sh`"
        return UnavailableBackend(CONTRACT, "npu", f"CANN is not there, or not on LD_LIBRARY_PATH: {reason}", remedy)
    return AclBackend("npu")


def _made() -> Any:
    target = os.environ.get(TARGET_VARIABLE, "Ascend")
    if target == "ACL":
        return _on_cann_alone()
    reasons = [why_unavailable(), why_no_ascend() if target == "Ascend" else None]
    reason = "; ".join(filter(None, reasons))
    if reason:
        remedy = f"Use device='cpu', or set {TARGET_VARIABLE}=CPU for the same device on MindSpore's CPU kernels"
        return UnavailableBackend(CONTRACT, "npu", reason, remedy)
    return AscendBackend("npu") if target == "Ascend" else MindSporeBackend("npu", target)


backend = _made()
