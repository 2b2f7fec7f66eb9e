"""``torch.profiler.profiler``: a profiler that goes by the steps of a program, and what is done with its traces."""

from __future__ import annotations

import enum
import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from .._unsupported import refusal, unsupported_class
from .autograd_profiler import (
    KinetoStepTracker,
    ProfilerActivity,
    _supported_activities,
    kineto_available,
    record_function,
)
from .autograd_profiler import profile as _Watcher
from .profiler_util import EventList

__all__ = [
    "ExecutionTraceObserver", "ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "schedule",
    "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip

PROFILER_STEP_NAME = "ProfilerStep"

ExecutionTraceObserver = unsupported_class(
    "torch.profiler.ExecutionTraceObserver", "Use torch.profiler.profile and export_chrome_trace."
)


class ProfilerAction(enum.Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """What can be watched here: the CPU, which is the host of all devices."""
    return _supported_activities()


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """What `profile` does in which step: `wait` steps nothing, `warmup` watching for nothing, `active` watching.

    Parameters
    ----------
    repeat
        How often; 0 for as long as the program runs.
    skip_first
        The number of steps before.
    skip_first_wait
        Unless 0, the first round does not wait.

    Raises
    ------
    AssertionError
        For negative numbers, and without an active step.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)
    length = wait + warmup + active

    def action_of(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        if repeat and step >= repeat * length:
            return ProfilerAction.NONE
        inside = step % length
        if inside < wait:
            return ProfilerAction.NONE
        if inside < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if inside == length - 1 else ProfilerAction.RECORD

    return action_of


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """An ``on_trace_ready`` that writes each trace into a folder, as TensorBoard's plugin finds them.

    Parameters
    ----------
    worker_name
        The beginning of the files' names; host and process unless given.
    """

    def write(profiler: profile) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError("Can't create directory: " + dir_name) from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        ending = ".gz" if use_gzip else ""
        profiler.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json{ending}"))

    return write


def _always(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


class _KinetoProfile:
    """A profiler that is started and stopped by hand; `profile` goes by steps."""

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        self.activities = supported_activities() if activities is None else {*activities}
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        for activity in sorted(self.activities - supported_activities(), key=lambda activity: activity.value):
            warnings.warn(f"{activity.name} is not available, disabling {activity.name} profiling", stacklevel=3)
        if ProfilerActivity.CPU not in self.activities:
            raise AssertionError("No activities specified for the profiler")
        if execution_trace_observer is not None:
            raise refusal("torch.profiler.profile(execution_trace_observer=...)")
        self.record_shapes = record_shapes
        self.with_flops = with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_modules = with_modules
        self.experimental_config = experimental_config
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.profiler: _Watcher | None = None
        self.preset_metadata: dict[str, str] = {}
        self._metadata: dict[str, str] = {}

    def start(self) -> None:
        """Watch from now on."""
        self.prepare_trace()
        self.start_trace()

    def stop(self) -> None:
        """Watch no longer."""
        self.stop_trace()

    def prepare_trace(self) -> None:
        """Make ready to watch."""
        if self.profiler is None or not self.acc_events:
            self.profiler = _Watcher(
                record_shapes=self.record_shapes,
                with_flops=self.with_flops,
                profile_memory=self.profile_memory,
                with_stack=self.with_stack,
                with_modules=self.with_modules,
                experimental_config=self.experimental_config,
                acc_events=self.acc_events,
                custom_trace_id_callback=self.custom_trace_id_callback,
            )
        self.profiler._prepare_trace()

    def start_trace(self) -> None:
        """Watch from now on, once it is prepared."""
        assert self.profiler is not None, "Profiler must be initialized before starting trace"
        self.profiler._start_trace()
        self._metadata = dict(self.preset_metadata)

    def stop_trace(self) -> None:
        """Watch no longer."""
        self._of("stopping trace").__exit__(None, None, None)

    def _of(self, use: str) -> _Watcher:
        assert self.profiler is not None, f"Profiler must be initialized before {use}"
        return self.profiler

    def events(self) -> EventList:
        """The events of the last stretch, by their start."""
        return self._of("accessing events")._ended()

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """One entry for each name of events; see `EventList.key_averages`."""
        watcher = self._of("getting key averages")
        return watcher.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: str) -> None:
        """Write the trace of the last stretch, for ``chrome://tracing`` and Perfetto; ``.gz`` at the end compresses."""
        self._of("exporting chrome trace").export_chrome_trace(path, self._metadata)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write stacks with their times, for flame graphs; `with_stack` is needed."""
        self._of("exporting stacks").export_stacks(path, metric)

    def export_memory_timeline(self, path: str, device: str | None = None) -> None:
        """Not supported: raises NotImplementedError."""
        raise refusal(
            "torch.profiler.profile.export_memory_timeline", "Use export_chrome_trace and profile_memory=True."
        )

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[ProfilerActivity]) -> None:
        """Write operators down, or do not, until told otherwise."""
        if self.profiler is not None:
            self.profiler.toggle_collection_dynamic(enable, activities)

    def add_metadata(self, key: str, value: str) -> None:
        """Have the trace say something of the program."""
        self._metadata[key] = json.dumps(value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """Have the trace say something of the program, given as JSON."""
        json.loads(value)
        self._metadata[key] = value

    def preset_metadata_json(self, key: str, value: str) -> None:
        """Have every trace from the next one on say something, given as JSON."""
        json.loads(value)
        self.preset_metadata[key] = value


class profile(_KinetoProfile):
    """Watch what this thread calls, all of it or the steps that a schedule says.

    Parameters
    ----------
    activities
        What to watch: ``ProfilerActivity.CPU``. Others are not there: a warning.
    schedule
        What to do in which step (`schedule`); without one, all is watched.
    on_trace_ready
        Called with the profiler where a stretch has ended.
    record_shapes, profile_memory, with_stack, with_flops
        What to write down besides names and times: inputs of operators, memory of the CPU that results take and give
        back, Python functions, numbers of operations.
    with_modules
        For PyTorch's sake: as there, it concerns TorchScript only, whose modules are not told apart here.

    Raises
    ------
    AssertionError
        Without an activity that is there.
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        chosen = supported_activities() if activities is None else {*activities}
        if use_cuda is not None:
            warnings.warn("`use_cuda` is deprecated, use `activities` argument instead", FutureWarning, stacklevel=2)
            chosen = chosen | {ProfilerActivity.CUDA} if use_cuda else chosen - {ProfilerActivity.CUDA}
        super().__init__(
            activities=chosen,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            experimental_config=experimental_config,
            execution_trace_observer=execution_trace_observer,
            acc_events=acc_events,
            custom_trace_id_callback=custom_trace_id_callback,
        )
        self.schedule = schedule or _always
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.step_rec_fn: record_function | None = None
        self._watches = False
        self._trace_id_callback = custom_trace_id_callback

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        KinetoStepTracker.erase_step_count(PROFILER_STEP_NAME)

    def start(self) -> None:
        """Begin with the first step."""
        KinetoStepTracker.init_step_count(PROFILER_STEP_NAME)
        self._follow(ProfilerAction.NONE, self.current_action)
        self._begin_step()

    def stop(self) -> None:
        """End; what was watched until now is ready."""
        if not self._watches and self.profiler is None and self.current_action is not ProfilerAction.NONE:
            self._of("stopping trace")
        self._end_step()
        if self._watches:
            watched = self.current_action
            self._end_watch()
            if watched is not ProfilerAction.WARMUP:
                self._trace_ready()

    def step(self) -> None:
        """The next step begins."""
        self._end_step()
        former = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._follow(former, self.current_action)
        KinetoStepTracker.increment_step(PROFILER_STEP_NAME)
        self._begin_step()

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """What says the numbers of traces."""
        self.custom_trace_id_callback = callback

    def get_trace_id(self) -> str | None:
        """The number of the last trace."""
        return None if self.profiler is None else self.profiler.trace_id

    def _follow(self, former: ProfilerAction, action: ProfilerAction) -> None:
        """Go from what was done in a step to what is done in the next; a stretch that is over is ready."""
        if former is ProfilerAction.RECORD_AND_SAVE and self._watches:
            self._end_watch()
            self._trace_ready()
        if action is ProfilerAction.NONE:
            if self._watches:
                warnings.warn("Incorrect schedule: " + former.name + " followed by NONE", stacklevel=3)
                self._end_watch()
            return
        if action is ProfilerAction.WARMUP:
            if self._watches:
                warnings.warn("Incorrect schedule: " + former.name + " followed by WARMUP", stacklevel=3)
                self._end_watch()
            self.prepare_trace()
            return
        if not self._watches and former is not ProfilerAction.RECORD:
            if former is not ProfilerAction.WARMUP:
                self.prepare_trace()
            self.start_trace()
            self._watches = True

    def _end_watch(self) -> None:
        self._watches = False
        self.stop_trace()

    def _trace_ready(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _begin_step(self) -> None:
        if self.record_steps:
            self.step_rec_fn = record_function(f"{PROFILER_STEP_NAME}#{self.step_num}")
            self.step_rec_fn.__enter__()

    def _end_step(self) -> None:
        if self.step_rec_fn is not None:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None
