"""Work of a stream that is recorded once and done any number of times."""

from __future__ import annotations

from typing import Any

import cupy

from mt_core.random import generator_for

from .allocator import Allocator
from .compiled.on_cupy import available
from .generators import PhiloxEngine, Recording

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
        #: What the default generator of the device draws in the graph.
        self._engine: PhiloxEngine | None = None
        self._drawn: Recording | None = None

    def capture_begin(self, pool: Any, mode: str) -> None:
        if mode not in _MODES:
            raise RuntimeError(
                f"Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got {mode}"
            )
        stream = cupy.cuda.get_current_stream()
        if not stream.ptr:
            raise RuntimeError("CUDA graphs must be captured on a non-default stream.")
        self.pool = (0, id(self)) if pool is None else pool
        self._engine = self._engine_of(stream)
        if self._engine is not None:
            self._drawn = self._engine.recording = Recording()
        self._stream = stream
        self._allocator.recorded[stream.ptr] = self._kept
        stream.begin_capture(cupy.cuda.runtime.streamCaptureModeRelaxed)

    def _engine_of(self, stream: Any) -> PhiloxEngine | None:
        """The engine of the current device's default generator, where kernels draw.

        Raises
        ------
        RuntimeError
            While another graph is recorded on the device: what both draw would be the same.
        """
        if not available():
            return None
        engine: PhiloxEngine = generator_for(None, "cuda").engine
        if engine.recording is not None:
            raise RuntimeError("another graph is being recorded on this device, whose generator can serve one")
        return engine

    def capture_end(self) -> None:
        if self._stream is None:
            raise RuntimeError("capture_end without capture_begin")
        stream, self._stream = self._stream, None
        if self._engine is not None:
            self._engine.recording = None
        del self._allocator.recorded[stream.ptr]
        self._graph = stream.end_capture()

    def replay(self) -> None:
        if self._graph is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        if self._engine is not None and self._drawn is not None and self._drawn.growth:
            self._drawn.before_replay(self._engine)
        self._graph.launch(cupy.cuda.get_current_stream())

    def reset(self) -> None:
        self._graph = None
        self._kept.clear()
