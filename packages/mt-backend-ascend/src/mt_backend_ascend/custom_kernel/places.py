"""Where a kernel runs: the device, its runtime and stream; and the address of what it is given."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from mt_core.keys import CONJUGATE, NEGATIVE
from mt_core.plugins import runtime_access
from mt_core.plugins.discovery import find_backend
from mt_core.state import settle
from mt_core.tensor import Tensor
from mt_mindspore.backend import MindSporeBackend

__all__ = ["DEVICE", "blocks_launches", "common_index", "drain", "runtime_for", "stream_of", "tensor_ptr"]

DEVICE = "npu"


def tensor_ptr(tensor: Any) -> int:
    """The address of a tensor's first element, as kernels take it (``GM_ADDR``): all 64 bits; 0 without elements.

    Raises
    ------
    TypeError
        If it is no tensor.
    ValueError
        When it does not lie on device ``npu``, or not row by row: kernels see an address, no strides.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"a tensor is needed, not {type(tensor).__name__}")
    if tensor.device.type != DEVICE:
        raise ValueError(f"kernels of device '{DEVICE}' cannot read a tensor on '{tensor.device}': use .to('{DEVICE}')")
    if tensor._keys & (CONJUGATE | NEGATIVE):
        raise ValueError("the tensor is a lazy conjugate or negative: use .resolve_conj().resolve_neg()")
    if not tensor.is_contiguous():
        raise ValueError(
            f"kernels read memory row by row, and a tensor of shape {tuple(tensor.shape)} with strides "
            f"{tensor.stride()} lies otherwise: use .contiguous()"
        )
    return int(tensor.data_ptr()) & ((1 << 64) - 1)


def common_index(tensors: Iterable[Tensor]) -> int:
    """The index of the device that all tensors lie on; the current device's where there are none.

    Raises
    ------
    ValueError
        When they lie on several.
    """
    found = {t.device.index or 0 for t in tensors}
    if len(found) > 1:
        raise ValueError(f"a kernel runs on one device, and its tensors lie on {sorted(found)} of type '{DEVICE}'")
    return found.pop() if found else runtime_access.current_index(DEVICE)


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
    ValueError
        When the stream is another device's.
    """
    if stream is None:
        return runtime.current_stream(index)
    if isinstance(stream, int):
        if not 0 <= stream < 1 << 64:
            raise ValueError(f"{stream} is no address of a stream: these have 64 bits")
        return runtime.external_stream(stream, index)
    handle = getattr(stream, "_handle", None)
    if handle is None:
        raise TypeError(f"a stream is a torch.npu.Stream or its address, not {type(stream).__name__}")
    if handle.device_index != index:
        raise ValueError(f"the tensors lie on device {index}, and the stream is of device {handle.device_index}")
    return handle


def blocks_launches() -> bool:
    """Whether ``ASCEND_LAUNCH_BLOCKING`` asks for every launch to be waited for."""
    return os.environ.get("ASCEND_LAUNCH_BLOCKING", "0") not in ("", "0")
