"""``torch.autograd.profiler_util``: events that were recorded, their tree, their averages and their tables."""

from __future__ import annotations

import enum
from collections import defaultdict, namedtuple
from collections.abc import Sequence
from typing import Any

from ._formatting import FormattedTimesMixin
from ._formatting import _format_memory as _format_memory
from ._formatting import _format_time as _format_time
from ._formatting import _format_time_share as _format_time_share
from ._table import _build_table
from ._trace import write_events

__all__ = [
    "DeviceType", "EventList", "FormattedTimesMixin", "FunctionEvent", "FunctionEventAvg", "Interval", "Kernel",
    "MEMORY_EVENT_NAME", "OUT_OF_MEMORY_EVENT_NAME", "StringTable",
]  # fmt: skip

MEMORY_EVENT_NAME = "[memory]"
OUT_OF_MEMORY_EVENT_NAME = "[OutOfMemory]"


class DeviceType(enum.Enum):
    """Where something ran, in PyTorch's numbers."""

    CPU = 0
    CUDA = 1
    XPU = 12
    PrivateUse1 = 20


Kernel = namedtuple("Kernel", ["name", "device", "duration"])
_STACK_METRICS = {
    "self_cpu_time_total": "self_cpu_time_total",
    "self_cuda_time_total": "self_device_time_total",
    "self_xpu_time_total": "self_device_time_total",
    "self_privateuse1_time_total": "self_device_time_total",
}


class Interval:
    """A time, in microseconds since the session began."""

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        """How long it was."""
        return self.end - self.start


class StringTable(defaultdict[str, str]):
    """Names as they are."""

    def __missing__(self, key: str) -> str:
        self[key] = key
        return key


class FunctionEvent(FormattedTimesMixin):
    """One call: an operator, a node of a backward, a part that `record_function` names, a Python function.

    Parameters
    ----------
    thread
        Its number, from 1.
    start_us, end_us
        Microseconds since the session began.
    sequence_nr
        The number of the autograd node that a call makes, or of that which runs; -1 without.
    cpu_memory_usage
        Bytes that it allocated less those that it freed, of events inside of it as well.
    """

    count = 1

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        overload_name: str | None = None,
        fwd_thread: int | None = None,
        input_shapes: Any = None,
        stack: Sequence[str] | None = None,
        scope: int = 0,
        use_device: str | None = None,
        cpu_memory_usage: int = 0,
        device_memory_usage: int = 0,
        is_async: bool = False,
        is_remote: bool = False,
        sequence_nr: int = -1,
        node_id: int = -1,
        device_type: DeviceType = DeviceType.CPU,
        device_index: int = 0,
        device_resource_id: int | None = None,
        is_legacy: bool = False,
        flops: int | None = None,
        trace_name: str | None = None,
        concrete_inputs: Any = None,
        kwinputs: Any = None,
        is_user_annotation: bool = False,
        is_python_function: bool = False,
        structured_input_shapes: Any = None,
        structured_input_strides: Any = None,
        input_dtypes: Any = None,
    ) -> None:
        self.id = id
        self.name = name
        self.overload_name = overload_name
        self.trace_name = trace_name
        self.node_id = node_id
        self.time_range = Interval(start_us, end_us)
        self.thread = thread
        self.fwd_thread = fwd_thread
        self.kernels: list[Kernel] = []
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.input_shapes = input_shapes
        self.structured_input_shapes = structured_input_shapes
        self.structured_input_strides = structured_input_strides
        self.input_dtypes = input_dtypes
        self.concrete_inputs = concrete_inputs
        self.kwinputs = kwinputs
        self.is_user_annotation = is_user_annotation
        self.is_python_function = is_python_function
        self.stack = stack
        self.scope = scope
        self.use_device = use_device
        self.cpu_memory_usage = cpu_memory_usage
        self.device_memory_usage = device_memory_usage
        self.is_async = is_async
        self.is_remote = is_remote
        self.sequence_nr = sequence_nr
        self.device_type = device_type
        self.device_index = device_index
        self.device_resource_id = thread if device_resource_id is None else device_resource_id
        self.is_legacy = is_legacy
        self.flops = flops

    def append_kernel(self, name: str, device: int, duration: float) -> None:
        """Add what ran on a device for it."""
        self.kernels.append(Kernel(name, device, duration))

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Add an event inside of it."""
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Say which event it is inside of."""
        self.cpu_parent = parent

    @property
    def key(self) -> str:
        return self.name

    @property
    def cpu_time_total(self) -> float:
        return 0.0 if self.is_async or self.device_type is not DeviceType.CPU else self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:
        if self.is_async or self.device_type is not DeviceType.CPU:
            return 0.0
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def device_time_total(self) -> float:
        if self.is_async or self.use_device is None:
            return 0.0
        if self.device_type is not DeviceType.CPU:
            return self.time_range.elapsed_us()
        return sum(kernel.duration for kernel in self.kernels) + sum(c.device_time_total for c in self.cpu_children)

    @property
    def self_device_time_total(self) -> float:
        if self.is_async or self.use_device is None:
            return 0.0
        return self.device_time_total - sum(child.device_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        if self.is_async or self.device_type is not DeviceType.CPU:
            return 0
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    @property
    def self_device_memory_usage(self) -> int:
        if self.is_async or self.device_type is not DeviceType.CPU:
            return 0
        return self.device_memory_usage - sum(child.device_memory_usage for child in self.cpu_children)

    def __repr__(self) -> str:
        device = self.use_device
        children = [child.id for child in self.cpu_children]
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} "
            f"device_type={self.device_type} node_id={self.node_id} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} cpu_children={children} "
            f"{device}_time={self.device_time_str} name={self.name} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            f"{device}_memory_usage={self.device_memory_usage} is_async={self.is_async} is_remote={self.is_remote} "
            f"seq_nr={self.sequence_nr} is_legacy={self.is_legacy}>"
        )


class FunctionEventAvg(FormattedTimesMixin):
    """The sum of several events, and what they have in common."""

    def __init__(self) -> None:
        self.key: str | None = None
        self.overload_name: str | None = None
        self.count = 0
        self.node_id = 0
        self.is_async = False
        self.is_remote = False
        self.use_device: str | None = None
        self.cpu_time_total = 0.0
        self.device_time_total = 0.0
        self.self_cpu_time_total = 0.0
        self.self_device_time_total = 0.0
        self.input_shapes: Any = None
        self.stack: Any = None
        self.scope: int | None = None
        self.cpu_memory_usage = 0
        self.device_memory_usage = 0
        self.self_cpu_memory_usage = 0
        self.self_device_memory_usage = 0
        self.cpu_children: list[FunctionEvent] | None = None
        self.cpu_parent: FunctionEvent | None = None
        self.device_type = DeviceType.CPU
        self.is_legacy = False
        self.flops = 0
        self.is_user_annotation = False

    _KEPT = (
        "key overload_name node_id is_async is_remote use_device input_shapes stack scope cpu_children cpu_parent "
        "device_type is_legacy is_user_annotation"
    ).split()
    _SUMMED = (
        "count cpu_time_total device_time_total self_cpu_time_total self_device_time_total cpu_memory_usage "
        "device_memory_usage self_cpu_memory_usage self_device_memory_usage"
    ).split()

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Add an event, or others' sum; what is in common is that of the first one."""
        if self.key is None:
            for name in self._KEPT:
                setattr(self, name, getattr(other, name))
        for name in self._SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.flops += other.flops or 0
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        device = self.use_device or "cuda"
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  self_{device}_time={self.self_device_time_total_str} "
            f"{device}_time={self.device_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} {device}_memory_usage={self.device_memory_usage}>"
        )


class EventList(list[Any]):
    """Events, or averages of them, with their tables.

    Parameters
    ----------
    use_device
        The device whose times are shown beside the CPU's.
    profile_memory, with_flops
        Whether tables have columns for these.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        use_device = kwargs.pop("use_device", None)
        profile_memory = kwargs.pop("profile_memory", False)
        with_flops = kwargs.pop("with_flops", False)
        super().__init__(*args, **kwargs)
        self._use_device = use_device
        self._profile_memory = profile_memory
        self._with_flops = with_flops
        self._tree_built = False

    def _build_tree(self) -> None:
        """Say of each event which one it is inside of, by thread and time; stacks of a backward are the forward's."""
        self._nest()
        self._unite()
        self._hand_stacks_on()
        self._tree_built = True

    def _nest(self) -> None:
        threads: dict[Any, list[FunctionEvent]] = defaultdict(list)
        for event in self:
            if not event.is_async and event.device_type is DeviceType.CPU:
                threads[event.thread, event.node_id].append(event)
        for events in threads.values():
            around: list[FunctionEvent] = []
            for event in sorted(events, key=lambda e: (e.time_range.start, -e.time_range.end)):
                while around and (
                    event.time_range.start >= around[-1].time_range.end
                    or event.time_range.end > around[-1].time_range.end
                ):
                    around.pop()
                if around:
                    around[-1].append_cpu_child(event)
                    event.set_cpu_parent(around[-1])
                around.append(event)

    def _unite(self) -> None:
        """Leave out events that are all that one of the same name is."""
        while True:
            doubled = {
                id(event)
                for event in self
                if event.cpu_parent is not None
                and event.cpu_parent.name == event.name
                and len(event.cpu_parent.cpu_children) == 1
            }
            if not doubled:
                return
            for event in [event for event in self if id(event) in doubled]:
                parent = event.cpu_parent
                parent.cpu_children = event.cpu_children
                for child in event.cpu_children:
                    child.cpu_parent = parent
            self[:] = [event for event in self if id(event) not in doubled]

    def _hand_stacks_on(self) -> None:
        forward = {}
        for event in self:
            if event.fwd_thread in (None, 0) and event.sequence_nr >= 0:
                forward[event.sequence_nr] = event.stack
        for event in self:
            node = event
            while node is not None and not (node.fwd_thread and node.sequence_nr >= 0):
                node = node.cpu_parent
            if node is not None:
                event.stack = forward.get(node.sequence_nr, [])

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events."""
        return sum(event.self_cpu_time_total for event in self)

    def __str__(self) -> str:
        return self.table()

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """A table, one row for each event.

        Parameters
        ----------
        sort_by
            The attribute of events by which they come, the greatest first: ``"self_cpu_time_total"``, ``"count"``.
        row_limit
            The number of rows at most; -1 for all.
        top_level_events_only
            Whether events inside of others are left out.
        time_unit
            ``"s"``, ``"ms"`` or ``"us"`` for all times; otherwise each has one that fits.
        """
        return _build_table(
            self,
            sort_by=sort_by,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
            top_level_events_only=top_level_events_only,
            time_unit=time_unit,
        )

    def export_chrome_trace(self, path: str) -> None:
        """Write a file that Chrome's ``chrome://tracing`` and Perfetto show."""
        write_events(self, path)

    def supported_export_stacks_metrics(self) -> list[str]:
        """What `export_stacks` can write."""
        return [*_STACK_METRICS]

    def export_stacks(self, path: str, metric: str) -> None:
        """Write stacks with microseconds, one a line, as tools for flame graphs read them.

        Raises
        ------
        ValueError
            For another metric than those of `supported_export_stacks_metrics`.
        """
        if metric not in _STACK_METRICS:
            raise ValueError(f"metric should be one of: {self.supported_export_stacks_metrics()}")
        blanks = str.maketrans(" ;\t\n", "____")
        with open(path, "w") as file:
            for event in self:
                if event.stack:
                    time = int(getattr(event, _STACK_METRICS[metric]))
                    if time > 0:
                        names = ";".join(entry.translate(blanks) for entry in reversed(event.stack))
                        file.write(f"{names} {time}\n")

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """One entry for each name, or for each name with the shapes of its inputs, its stack or its overload.

        Parameters
        ----------
        group_by_stack_n
            How many functions of a stack tell events apart.
        """
        found: dict[tuple[Any, ...], FunctionEventAvg] = {}
        for event in self:
            stack = tuple((event.stack or ())[:group_by_stack_n])
            key = (
                event.key,
                event.node_id,
                event.device_type,
                event.is_legacy,
                event.is_user_annotation,
                event.overload_name if group_by_overload_name else "",
                str(event.input_shapes) if group_by_input_shapes else "",
                stack,
            )
            found.setdefault(key, FunctionEventAvg()).add(event)
        averages: EventList = EventList(
            found.values(),
            use_device=self._use_device,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
        )
        for average in averages:
            average.stack = [*(average.stack or ())][:group_by_stack_n]
            if not group_by_input_shapes:
                average.input_shapes = ""
            if not group_by_overload_name:
                average.overload_name = ""
        return averages

    def total_average(self) -> FunctionEventAvg:
        """The sum of all events, whose key is ``Total``."""
        total = FunctionEventAvg()
        for event in self:
            total += event
            total.key = None
        total.key = "Total"
        return total


def _filter_name(name: str) -> bool:
    """Whether events of a name say nothing about the program."""
    return name in _HIDDEN


_HIDDEN = frozenset(
    (MEMORY_EVENT_NAME, OUT_OF_MEMORY_EVENT_NAME, "profiler::_record_function_enter", "profiler::_record_function_exit")
)
