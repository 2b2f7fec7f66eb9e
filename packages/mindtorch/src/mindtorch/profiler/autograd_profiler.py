"""``torch.autograd.profiler``: watch a stretch of a program, and name parts of it."""

from __future__ import annotations

import enum
import functools
import itertools
import json
import threading
import warnings
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from mt_core.futures import Future

from .._unsupported import unsupported_class, unsupported_function
from . import _landmarks
from ._experimental import _ExperimentalConfig as _ExperimentalConfig
from ._layer import enter_layer
from ._python import PythonTracer
from ._results import events_of
from ._session import ANNOTATION, Event, Session, Settings, current
from ._trace import new_trace_id, trace_of, write_trace
from .profiler_util import MEMORY_EVENT_NAME as MEMORY_EVENT_NAME
from .profiler_util import DeviceType as DeviceType
from .profiler_util import EventList, FunctionEvent, FunctionEventAvg
from .profiler_util import Kernel as Kernel

__all__ = [
    "EventList", "FunctionEvent", "KinetoStepTracker", "ProfilerActivity", "emit_itt", "emit_nvtx", "kineto_available",
    "load_nvprof", "parse_nvprof_trace", "profile", "record_function",
]  # fmt: skip

_NVPROF = "Use NVIDIA's own tools to read what nvprof wrote."

emit_itt = unsupported_class("torch.autograd.profiler.emit_itt", "Use torch.profiler.profile.")
emit_nvtx = unsupported_class("torch.autograd.profiler.emit_nvtx", "Use torch.profiler.profile.")
load_nvprof = unsupported_function("torch.autograd.profiler.load_nvprof", _NVPROF)
parse_nvprof_trace = unsupported_function("torch.autograd.profiler.parse_nvprof_trace", _NVPROF)

#: Events of later sessions have later numbers.
_first_ids = itertools.count(1, 1 << 20)


class ProfilerActivity(enum.Enum):
    """What can be watched."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


def kineto_available() -> bool:
    """Whether PyTorch's profiling library is there: events here are written down without it."""
    return False


def _profiler_enabled() -> bool:
    """Whether this thread is watched."""
    return current() is not None


def _supported_activities() -> set[ProfilerActivity]:
    """What can be watched here."""
    return {ProfilerActivity.CPU}


class profile:
    """Watch what this thread calls, from ``__enter__`` to ``__exit__``.

    Parameters
    ----------
    enabled
        False makes it do nothing.
    record_shapes
        Whether events have the shapes, strides and element types of their inputs.
    with_flops
        Whether the operations of products, convolutions, sums and multiplications are counted.
    profile_memory
        Whether memory of the CPU that results of operators take and give back is counted.
    with_stack
        Whether Python functions are events too; with ``_ExperimentalConfig(verbose=True)`` operators have stacks.
    use_device
        Devices other than the CPU are not watched: a warning, and their calls have the time of the host.
    acc_events
        Whether what several stretches wrote down is kept together.

    Raises
    ------
    RuntimeError
        When entered a second time, or when the thread is watched already.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        self.enabled = enabled
        if not enabled:
            return
        if use_cuda:
            warnings.warn(
                "The attribute `use_cuda` will be deprecated soon, please use ``use_device = 'cuda'`` instead.",
                FutureWarning,
                stacklevel=2,
            )
            use_device = "cuda"
        if use_device is not None:
            _warn_of_device(use_device)
        if not use_cpu:
            assert use_kineto, "Device-only events supported only with Kineto (use_kineto=True)"
            raise AssertionError("No activities specified for the profiler")
        config = experimental_config or _ExperimentalConfig()
        self.use_device = None
        self.entered = False
        self.acc_events = acc_events
        self.record_shapes = record_shapes or with_flops
        self.with_flops = with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_modules = with_modules
        self.use_cpu = use_cpu
        self.custom_trace_id_callback = custom_trace_id_callback
        self.trace_id = ""
        self.experimental_config = config
        self.metadata: dict[str, str] = {}
        self._settings = Settings(
            record_shapes,
            profile_memory,
            with_stack,
            with_flops,
            with_modules,
            config.verbose,
            config.capture_overload_names,
        )
        self._session: Session | None = None
        self._tracer: PythonTracer | None = None
        self._function_events: EventList | None = None
        self._former_events: list[FunctionEvent] = []

    # Watching

    def create_trace_id(self) -> str:
        """The number of a trace: what the callback says, else a new one."""
        return self.custom_trace_id_callback() if self.custom_trace_id_callback is not None else new_trace_id()

    def __enter__(self) -> profile | None:  # type: ignore[return]
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self._prepare_trace()
        self._start_trace()
        return self

    def _prepare_trace(self) -> None:
        self.entered = True
        self.trace_id = self.create_trace_id()
        enter_layer()

    def _start_trace(self) -> None:
        if current() is not None:
            self.entered = False
            raise RuntimeError("Can't enable Kineto profiler when Kineto profiler is already enabled")
        if self.acc_events and self._function_events is not None:
            self._former_events += self._function_events
        self._function_events = None
        self._session = Session(self._settings)
        _landmarks.put_up()
        self._session.begin()
        if self.with_stack:
            self._tracer = PythonTracer(self._session)
            self._tracer.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if not self.enabled:
            return None
        if self._session is None:
            raise RuntimeError("the profiler does not watch anything: it was not entered")
        if self._tracer is not None:
            self._tracer.stop()
            self._tracer = None
        self._session.finish()
        _landmarks.take_down()
        return False

    def toggle_collection_dynamic(self, enabled: bool, activities: Iterable[ProfilerActivity]) -> None:
        """Write operators down, or do not, until told otherwise; only the activity ``CPU`` is there."""
        if ProfilerActivity.CPU in activities and self._session is not None:
            self._session.is_collecting = enabled

    # Results

    @property
    def function_events(self) -> EventList | None:
        """The events by their start, once watching has ended."""
        if self._function_events is None and self._session is not None and self._session.stop:
            events = events_of(self._session, next(_first_ids))
            if self._former_events:
                events[:0] = self._former_events
            self._function_events = events
        return self._function_events

    def _ended(self) -> EventList:
        events = self.function_events
        if events is None:
            raise RuntimeError("Profiler didn't finish running")
        return events

    def __repr__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._is_unfinished() else repr(self._ended())

    def __str__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._is_unfinished() else str(self._ended())

    def _is_unfinished(self) -> bool:
        return not self.enabled or self.function_events is None

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """A table of all events; see `EventList.table`."""
        return self._ended().table(
            sort_by=sort_by,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            top_level_events_only=top_level_events_only,
        )

    def export_chrome_trace(self, path: str, metadata: dict[str, str] | None = None) -> None:
        """Write the trace, for ``chrome://tracing`` and Perfetto; compressed where the name ends in ``.gz``."""
        self._ended()
        assert self._session is not None
        entries = {**self.metadata, **(metadata or {}), "traceName": json.dumps(path)}
        write_trace(path, trace_of(self._session, entries, self.trace_id))

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write stacks with their times, for flame graphs; `with_stack` is needed."""
        events = self._ended()
        assert self.with_stack, "export_stacks() requires with_stack=True"
        events.export_stacks(path, metric)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """One entry for each name; see `EventList.key_averages`."""
        return self._ended().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> FunctionEventAvg:
        """The sum of all events."""
        return self._ended().total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events."""
        return self._ended().self_cpu_time_total


def _warn_of_device(name: str) -> None:
    if name not in ("cuda", "xpu", "mtia", "hpu", "privateuseone"):
        warnings.warn(f"{name} doesn't support profile.", stacklevel=3)
    else:
        warnings.warn(f"{name.upper()} is not available, disabling {name.upper()} profiling", stacklevel=3)


class record_function:
    """Context manager and decorator: a part of a program is an event of its own where a profiler watches.

    Parameters
    ----------
    name
        The event's.
    args
        Further text, which traces show.
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self.run_callbacks_on_exit = True
        self._opened: tuple[Session, Event] | None = None

    def __enter__(self) -> record_function:
        session = current()
        if session is not None:
            self._opened = session, session.open(self.name, ANNOTATION)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.run_callbacks_on_exit:
            self._close()

    def _close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened[0].close(opened[1])

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.name, self.args):
                return function(*args, **kwargs)

        return recorded

    def _call_end_callbacks_on_future(self, fut: Future) -> Future:
        """A future with the same value; the event ends when it has one."""
        if not self.run_callbacks_on_exit:
            raise RuntimeError("_call_end_callbacks_on_future can only be called once.")
        self.run_callbacks_on_exit = False

        def ended(done: Future) -> Any:
            self._close()
            return done.value()

        return fut.then(ended)


class KinetoStepTracker:
    """How many steps of a program have passed, told by several who count them: the most that one of them has seen."""

    _current_step = 0
    _steps: dict[str, int] = {}
    _lock = threading.Lock()

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Have somebody count from now on."""
        cls._steps[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Have somebody count no longer; whether he did."""
        return cls._steps.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """A step of somebody's; how many have passed now."""
        with cls._lock:
            cls._steps[requester] = cls._steps.get(requester, cls._current_step) + 1
            cls._current_step = max(cls._current_step, *cls._steps.values())
            return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """How many steps have passed."""
        return cls._current_step
