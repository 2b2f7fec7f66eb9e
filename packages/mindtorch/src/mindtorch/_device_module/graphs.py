"""``torch.<device>``: graphs of recorded work."""

from __future__ import annotations

import gc
from types import TracebackType
from typing import Any

from .control import named
from .memory import Memory
from .streams import Streams

__all__ = ["Graphs", "graph_class"]

_PART = "graphs"


class Graphs(Streams, Memory):
    """The functions about graphs.

    Parameters
    ----------
    device_type
        The device type.
    graph_name
        What the module calls its class of graphs: ``CUDAGraph``.
    """

    def __init__(self, device_type: str, graph_name: str) -> None:
        super().__init__(device_type)
        self.Graph = graph_class(self, graph_name)
        self.graph = _capture_class(self)

    def is_current_stream_capturing(self) -> bool:
        """Whether what the current stream is given is being recorded.

        Raises
        ------
        RuntimeError
            Without a device, as in PyTorch.
        """
        if not self.device_count():
            raise self.absence.dummy_error(f"_{self.device_type}_isCurrentStreamCapturing")
        runtime = self.runtime(_PART, "is_current_stream_capturing")
        return bool(runtime.is_capturing(runtime.current_stream(runtime.current_device())))

    def graph_pool_handle(self) -> Any:
        """A new pool of memory that several graphs may share."""
        if not self.device_count():
            prefix = "" if self.device_type == "cuda" else f"{self.device_type}_"
            raise self.absence.dummy_error(_HANDLES.get(self.device_type, f"_{prefix}graph_pool_handle"))
        return self.runtime(_PART, "graph_pool_handle").graph_pool()

    def make_graphed_callables(
        self,
        callables: Any,
        sample_args: Any,
        num_warmup_iters: int = 3,
        allow_unused_input: bool = False,
        pool: Any = None,
    ) -> Any:
        """Versions of callables whose forward, and whose backward, is each one graph that is replayed.

        They cannot be differentiated twice. What they return is in the same memory at every call.

        Parameters
        ----------
        callables
            A module or function, or a tuple of them in the order in which they will run. Modules are changed and
            returned; they replay in the mode, training or not, that they are in now.
        sample_args
            The tuple of tensors that it is recorded with, or a tuple of such tuples. Later calls have arguments of the
            same shapes, dtypes and ``requires_grad``; keyword arguments there are none.
        num_warmup_iters
            How often forward and backward run before they are recorded.
        allow_unused_input
            Accept that results do not depend on an input that requires grad.
        pool
            Where the graphs' memory comes from, as for ``graph``.

        Raises
        ------
        AssertionError
            For modules with hooks or buffers that require grad, and sample arguments that are not tensors.
        RuntimeError
            Under autocast that keeps its casts.
        NotImplementedError
            When the device runtime has no graphs.
        """
        from . import graphed_callables  # lazy: it loads torch.nn, and few programs call it

        single = not isinstance(callables, tuple)
        programs, samples = ((callables,), (sample_args,)) if single else (callables, sample_args)
        graphed_callables.refuse_unfit(programs, samples)
        if not self.device_count():
            raise self.absence.dummy_error(self.Graph.__name__)
        self.runtime(_PART, "make_graphed_callables")
        recorder = graphed_callables.Recorder(self, pool)
        made = recorder.graphed(programs, samples, num_warmup_iters, allow_unused_input)
        return made[0] if single else made


_HANDLES = {"mtia": "graph_pool_handle"}


def graph_class(module: Graphs, graph_name: str) -> Any:
    """The class ``torch.cuda.CUDAGraph``, or what a module calls it."""

    @named(module.device_type, graph_name)
    class Graph:
        """Work that was recorded instead of done, and can be done any number of times, on the same memory."""

        def __init__(self, keep_graph: bool = False) -> None:
            if not module.device_count():
                raise module.absence.dummy_error(graph_name)
            if keep_graph:
                raise NotImplementedError(f"{graph_name}(keep_graph=True) is not supported by mindtorch.")
            self._handle = module.runtime(_PART, graph_name).graph()

        def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
            """Record from here on what the current stream is given; `pool` is where its memory comes from."""
            self._handle.capture_begin(pool, capture_error_mode)

        def capture_end(self) -> None:
            """End the recording."""
            self._handle.capture_end()

        def replay(self) -> None:
            """Give the recorded work to the current stream."""
            self._handle.replay()

        def reset(self) -> None:
            """Forget the recorded work and release its memory."""
            self._handle.reset()

        def pool(self) -> Any:
            """What other graphs may be given as `pool`, to share this one's memory."""
            return self._handle.pool

    return Graph


def _capture_class(module: Graphs) -> Any:
    @named(module.device_type, "graph")
    class graph:
        """Context manager: record what is given to a stream, a side stream by default, into a graph.

        Parameters
        ----------
        cuda_graph
            The graph.
        pool
            Where its memory comes from: another graph's ``pool()``, or a ``graph_pool_handle()``.
        stream
            The stream that is recorded.
        capture_error_mode : {"global", "thread_local", "relaxed"}
            Which threads' calls that cannot be recorded end the recording with an error.
        """

        default_capture_stream: Any = None

        def __init__(
            self, cuda_graph: Any, pool: Any = None, stream: Any = None, capture_error_mode: str = "global"
        ) -> None:
            if not module.device_count():
                raise module.absence.stream_error()
            module.runtime(_PART, "graph")
            if stream is None:
                if graph.default_capture_stream is None:
                    graph.default_capture_stream = module.Stream()
                stream = graph.default_capture_stream
            self.cuda_graph, self.pool, self.capture_stream = cuda_graph, pool, stream
            self.capture_error_mode = capture_error_mode

        def __enter__(self) -> None:
            # Memory that is freed late, or kept for later, would not be the graph's own.
            module.synchronize()
            gc.collect()
            module.empty_cache()
            self.capture_stream.__enter__()
            self.cuda_graph.capture_begin(self.pool, self.capture_error_mode)

        def __exit__(
            self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
        ) -> None:
            self.cuda_graph.capture_end()
            self.capture_stream.__exit__(kind, error, trace)

    return graph
