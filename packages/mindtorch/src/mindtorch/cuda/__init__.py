"""``torch.cuda`` where no CUDA device can be used.

Questions get the answers that PyTorch gives without CUDA; what would need a device raises its ``AssertionError``.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

from .. import _absent_device
from .._errors import AcceleratorError as AcceleratorError
from .._errors import OutOfMemoryError as OutOfMemoryError
from .._lazy import lazy_submodules
from ._message import NOT_ENABLED
from .graphs import CUDAGraph as CUDAGraph
from .graphs import graph as graph
from .graphs import graph_pool_handle as graph_pool_handle
from .graphs import is_current_stream_capturing as is_current_stream_capturing
from .graphs import make_graphed_callables as make_graphed_callables
from .memory import *  # noqa: F403 - all of it belongs here too, by its __all__
from .random import *  # noqa: F403
from .streams import Event as Event
from .streams import ExternalStream as ExternalStream
from .streams import Stream as Stream
from .streams import StreamContext as StreamContext
from .streams import stream as stream
from .tensor_types import *  # noqa: F403

__getattr__, __dir__ = lazy_submodules(__name__, "amp nvtx")

default_generators: tuple[Any, ...] = ()
has_half = True
has_magma = False


def device_count() -> int:
    """How many CUDA devices can be used."""
    return _absent_device.count_devices("cuda")


def is_available() -> bool:
    """Whether there is one."""
    return device_count() > 0


def is_initialized() -> bool:
    """Whether CUDA is in use in this process."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the current device computes with bfloat16; False without a device."""
    return False


def is_tf32_supported() -> bool:
    """Whether the current device has TF32; False without a device."""
    return False


def get_arch_list() -> list[str]:
    """The architectures that kernels were compiled for."""
    return []


def get_gencode_flags() -> str:
    """The compiler flags for these architectures."""
    return ""


_needs_device = _absent_device.refusing(AssertionError, NOT_ENABLED)

can_device_access_peer = _needs_device("can_device_access_peer")
clock_rate = _needs_device("clock_rate")
cudart = _needs_device("cudart")
current_blas_handle = _needs_device("current_blas_handle")
current_device = _needs_device("current_device")
current_stream = _needs_device("current_stream")
default_stream = _needs_device("default_stream")
device_memory_used = _needs_device("device_memory_used")
get_device_capability = _needs_device("get_device_capability")
get_device_name = _needs_device("get_device_name")
get_device_properties = _needs_device("get_device_properties")
get_stream_from_external = _needs_device("get_stream_from_external")
get_sync_debug_mode = _needs_device("get_sync_debug_mode")
init = _needs_device("init")
ipc_collect = _needs_device("ipc_collect")
memory_usage = _needs_device("memory_usage")
power_draw = _needs_device("power_draw")
set_stream = _needs_device("set_stream")
set_sync_debug_mode = _needs_device("set_sync_debug_mode")
synchronize = _needs_device("synchronize")
temperature = _needs_device("temperature")
utilization = _needs_device("utilization")


class device:
    """Context manager: make a device the current one. Without devices it takes None and negative numbers alone.

    Raises
    ------
    AssertionError
        For a device that is not there.
    """

    def __init__(self, device: Any) -> None:
        import mt_core

        self.idx = -1 if device is None else device if isinstance(device, int) else mt_core.device(device).index or 0
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            raise AssertionError(NOT_ENABLED)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """There is nothing to undo."""


class device_of(device):
    """Context manager: make the device of a tensor the current one; nothing for tensors that are not on CUDA."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


def set_device(device: Any) -> None:
    """Make a device the current one; negative numbers mean none.

    Raises
    ------
    AssertionError
        For any other.
    """
    if not isinstance(device, int) or device >= 0:
        raise AssertionError(NOT_ENABLED)
