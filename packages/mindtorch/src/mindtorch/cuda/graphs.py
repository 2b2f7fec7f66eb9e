"""``torch.cuda.graphs``: graphs of CUDA work, of which there is none."""

from __future__ import annotations

from typing import Any, NoReturn

from .. import _absent_device
from ._message import NOT_ENABLED

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"]

CUDAGraph = _absent_device.dummy_class("CUDAGraph")


def is_current_stream_capturing() -> bool:
    """Whether a graph is being captured."""
    return False


def graph_pool_handle() -> NoReturn:
    """A pool of memory for graphs: needs a device, raises AssertionError."""
    raise AssertionError(NOT_ENABLED)


def make_graphed_callables(callables: Any, sample_args: Any, **options: Any) -> NoReturn:
    """Capture callables as graphs: needs a device, raises AssertionError."""
    raise AssertionError(NOT_ENABLED)


class graph:
    """Context manager that captures work into a graph: needs a device, making one raises AssertionError."""

    def __init__(
        self, cuda_graph: Any, pool: Any = None, stream: Any = None, capture_error_mode: str = "global"
    ) -> None:
        raise AssertionError(NOT_ENABLED)
