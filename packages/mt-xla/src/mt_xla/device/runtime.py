"""What ``torch.xla`` is made of: which device is current, and what the devices are."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import jax

import mt_core as mt

from .sharding import device_of

__all__ = ["XlaRuntime"]


class _Current(threading.local):
    index = 0


class XlaRuntime:
    """Part "device control" of `mt_core.plugins.runtime.DeviceRuntime`; jax has no streams that programs could set."""

    def __init__(self) -> None:
        self._current = _Current()

    def current_device(self) -> int:
        return self._current.index

    def set_device(self, index: int) -> None:
        self._current.index = index

    def synchronize(self, index: int) -> None:
        """Wait for all arrays of a device."""
        device = device_of(index)
        for array in jax.live_arrays():
            if device in array.devices():
                array.block_until_ready()

    def properties(self, index: int) -> SimpleNamespace:
        device = device_of(index)
        stats = device.memory_stats()
        total = int(stats["bytes_limit"]) if stats and "bytes_limit" in stats else _host_memory()
        return SimpleNamespace(name=device.device_kind, total_memory=total, platform=device.platform, id=device.id)

    def capability(self, index: int) -> dict[str, Any]:
        return {"platform": device_of(index).platform}

    def supported_dtypes(self, index: int) -> Iterable[Any]:
        return (
            mt.bool, mt.uint8, mt.uint16, mt.uint32, mt.uint64, mt.int8, mt.int16, mt.int32, mt.int64, mt.float16,
            mt.bfloat16, mt.float32, mt.float64, mt.complex64, mt.complex128, mt.float8_e4m3fn, mt.float8_e5m2,
            mt.float8_e4m3fnuz, mt.float8_e5m2fnuz,
        )  # fmt: skip

    def memory_info(self, index: int) -> tuple[int, int]:
        """(free, total) bytes of a device.

        Raises
        ------
        NotImplementedError
            On platforms of whose memory jax tells nothing, the CPU among them.
        """
        stats = device_of(index).memory_stats()
        if not stats or "bytes_limit" not in stats:
            platform = device_of(index).platform
            raise NotImplementedError(
                f"jax tells nothing of the memory of device 'xla:{index}', on platform {platform!r}"
            )
        return int(stats["bytes_limit"]) - int(stats["bytes_in_use"]), int(stats["bytes_limit"])

    def can_access_peer(self, index: int, peer: int) -> bool:
        return False


def _host_memory() -> int:
    """Bytes of the host's memory, which devices of platform ``cpu`` share."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
