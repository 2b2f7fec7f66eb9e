"""The entry point of the device type ``mindspore``: MindSpore's CPU target, where the Ascend call layer is tested."""

from __future__ import annotations

from mt_core.plugins.unavailable import UnavailableBackend
from mt_mindspore.runtime import why_unavailable

__all__ = ["backend"]

_NO_KERNELS = "this version of mt-mindspore calls no MindSpore kernels"

backend = UnavailableBackend(
    contract=2,
    device_type="mindspore",
    reason="; ".join(filter(None, (_NO_KERNELS, why_unavailable()))),
    remedy="Use device='cpu': there are no kernels to install yet",
)
