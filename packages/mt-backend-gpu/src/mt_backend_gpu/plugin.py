"""The entry point of the device type ``cuda``."""

from __future__ import annotations

from mt_core.plugins.unavailable import UnavailableBackend

__all__ = ["backend"]

backend = UnavailableBackend(
    contract=2,
    device_type="cuda",
    reason="this version of mt-backend-gpu has no CUDA kernels and no allocator",
    remedy="Use device='cpu': there are no kernels to install yet",
)
