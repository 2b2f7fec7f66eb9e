"""The entry point of the device type ``npu``."""

from __future__ import annotations

from mt_core.plugins.unavailable import UnavailableBackend
from mt_mindspore import why_unavailable

__all__ = ["backend"]

_NO_KERNELS = "this version of mt-backend-ascend has no NPU memory, no streams and no kernels"

backend = UnavailableBackend(
    contract=2,
    device_type="npu",
    reason="; ".join(filter(None, (_NO_KERNELS, why_unavailable()))),
    remedy="Use device='cpu': there are no kernels to install yet",
)
