"""Where a kernel runs: the device, its runtime and stream; and the address of what it is given."""

from __future__ import annotations

import os
from typing import Any

from mt_core.plugins import runtime_access
from mt_core.plugins.discovery import find_backend
from mt_core.plugins.kernel_arguments import address_of, stream_handle
from mt_core.state import settle
from mt_mindspore.backend import MindSporeBackend

__all__ = ["DEVICE", "blocks_launches", "drain", "runtime_for", "stream_of", "tensor_ptr"]

DEVICE = "npu"


def tensor_ptr(tensor: Any) -> int:
    """The address of a tensor's first element, as kernels take it (``GM_ADDR``); see `address_of`."""
    return address_of(tensor, DEVICE)


def runtime_for(what: str) -> Any:
    """The runtime of the devices, which has streams.

    Raises
    ------
    RuntimeError, NotImplementedError
        Where there is no NPU, or its backend gives no streams.
    """
    backend = find_backend(DEVICE)
    if isinstance(backend, MindSporeBackend) and backend.target == "CPU":
        raise RuntimeError(
            f"{what} needs an Ascend device, and MT_ASCEND_TARGET=CPU lets MindSpore's CPU kernels be it"
        )
    return runtime_access.require(DEVICE, "streams", what)


def drain() -> None:
    """Let everything be given to the device that Python has asked for: what is queued before it would come after it."""
    settle()
    backend = find_backend(DEVICE)
    if isinstance(backend, MindSporeBackend):
        backend.mindspore.common.api._pynative_executor.sync()


def stream_of(stream: Any, runtime: Any, index: int) -> Any:
    """The handle of the stream to launch on: the current one for None.

    Parameters
    ----------
    stream
        A ``torch.npu.Stream``, the address of an ``aclrtStream``, or None.

    Raises
    ------
    TypeError, ValueError
        When it is no stream, or another device's.
    """
    if stream is None:
        return runtime.current_stream(index)
    if isinstance(stream, int):
        if not 0 <= stream < 1 << 64:
            raise ValueError(f"{stream} is no address of a stream: these have 64 bits")
        return runtime.external_stream(stream, index)
    return stream_handle(stream, DEVICE, index)


def blocks_launches() -> bool:
    """Whether ``ASCEND_LAUNCH_BLOCKING`` asks for every launch to be waited for."""
    return os.environ.get("ASCEND_LAUNCH_BLOCKING", "0") not in ("", "0")
