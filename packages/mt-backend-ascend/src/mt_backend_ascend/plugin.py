"""The entry point of the device type ``npu``."""

from __future__ import annotations

import os
from typing import Any

from mt_core.plugins.protocols import CONTRACT
from mt_core.plugins.unavailable import UnavailableBackend
from mt_mindspore import why_unavailable
from mt_mindspore.backend import MindSporeBackend

__all__ = ["TARGET_VARIABLE", "backend"]

#: Names MindSpore's device target: ``Ascend``, unless it says ``CPU``.
TARGET_VARIABLE = "MT_ASCEND_TARGET"


def _made() -> Any:
    reason = why_unavailable()
    if reason is not None:
        return UnavailableBackend(CONTRACT, "npu", reason, "Use device='cpu' until it is there")
    return MindSporeBackend("npu", os.environ.get(TARGET_VARIABLE, "Ascend"))


backend = _made()
