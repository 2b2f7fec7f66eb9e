"""Work of a stream that is recorded once and done any number of times."""

from __future__ import annotations

from typing import Any

import cupy

from .allocator import Allocator

__all__ = ["CudaGraph"]

_MODES = ("global", "thread_local", "relaxed")


class CudaGraph:
    """Follows `mt_core.plugins.runtime.GraphHandle`, over CuPy's capture.

    All modes record in the driver's "relaxed" one, in which the pool may grow meanwhile; memory that is taken while
    recording belongs to the graph until it is reset.
    """

    def __init__(self, allocator: Allocator) -> None:
        self.pool: Any = None
        self._allocator = allocator
        self._kept: list[Any] = []
        self._graph: Any = None
        self._stream: Any = None

    def capture_begin(self, pool: Any, mode: str) -> None:
        if mode not in _MODES:
            raise RuntimeError(
                f"Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got {mode}"
            )
        stream = cupy.cuda.get_current_stream()
        if not stream.ptr:
            raise RuntimeError("CUDA graphs must be captured on a non-default stream.")
        self.pool = (0, id(self)) if pool is None else pool
        self._stream = stream
        self._allocator.recorded[stream.ptr] = self._kept
        stream.begin_capture(cupy.cuda.runtime.streamCaptureModeRelaxed)

    def capture_end(self) -> None:
        if self._stream is None:
            raise RuntimeError("capture_end without capture_begin")
        stream, self._stream = self._stream, None
        del self._allocator.recorded[stream.ptr]
        self._graph = stream.end_capture()

    def replay(self) -> None:
        if self._graph is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        self._graph.launch(cupy.cuda.get_current_stream())

    def reset(self) -> None:
        self._graph = None
        self._kept.clear()
