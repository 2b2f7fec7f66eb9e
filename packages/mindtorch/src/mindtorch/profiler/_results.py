"""A session that has ended, as the events that programs see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mt_core.dtypes import dtype

from ._flops import flops_of
from ._session import ANNOTATION, PYTHON, Event, Session
from .profiler_util import MEMORY_EVENT_NAME, EventList, FunctionEvent

__all__ = ["events_of"]


def events_of(session: Session, first_id: int) -> EventList:
    """The events of a session by their start, with their tree; times are in microseconds since it began."""
    settings = session.settings
    usage = _memory_with_parts(session.events)
    made = [
        _function_event(session, event, first_id + index, usage.get(id(event), 0))
        for index, event in enumerate(session.events)
    ]
    made += [_memory_event(session, memory, first_id + len(made) + i) for i, memory in enumerate(_loose(session))]
    made.sort(key=lambda event: (event.time_range.start, -event.time_range.end))
    events = EventList(made, profile_memory=settings.profile_memory, with_flops=settings.with_flops)
    events._build_tree()
    return events


def _memory_with_parts(events: Sequence[Event]) -> dict[int, int]:
    """id of an event -> what was allocated during it, that of events inside of it too."""
    usage: dict[int, int] = {}
    for event in events:
        outer: Event | None = event
        while event.allocated and outer is not None:
            usage[id(outer)] = usage.get(id(outer), 0) + event.allocated
            outer = outer.parent
    return usage


def _loose(session: Session) -> list[Any]:
    return [memory for memory in session.memory if memory.event is None]


def _memory_event(session: Session, memory: Any, number: int) -> FunctionEvent:
    at = (memory.time - session.start) / 1e3
    return FunctionEvent(
        number, MEMORY_EVENT_NAME, memory.thread, at, at,
        overload_name="", fwd_thread=memory.thread, input_shapes=[], stack=[], cpu_memory_usage=memory.nbytes,
    )  # fmt: skip


def _function_event(session: Session, event: Event, number: int, usage: int) -> FunctionEvent:
    assert event.end is not None  # the session has ended
    described = event.inputs if session.settings.record_shapes else None
    shapes = described.shapes if described is not None else []
    is_step = event.kind == ANNOTATION and event.name.startswith("ProfilerStep#")
    return FunctionEvent(
        number,
        "ProfilerStep*" if is_step else event.name,
        event.thread,
        (event.start - session.start) / 1e3,
        (event.end - session.start) / 1e3,
        overload_name=event.overload_name,
        fwd_thread=event.forward_thread,
        input_shapes=[[] if any(isinstance(size, list) for size in shape) else shape for shape in shapes],
        stack=event.stack,
        scope=event.scope,
        cpu_memory_usage=usage,
        sequence_nr=event.sequence,
        flops=flops_of(event) if session.settings.with_flops else 0,
        trace_name=event.name,
        concrete_inputs=[_plain(value) for value in described.values] if described is not None else [],
        kwinputs={},
        is_user_annotation=event.kind == ANNOTATION,
        is_python_function=event.kind == PYTHON,
        structured_input_shapes=shapes,
        structured_input_strides=described.strides if described is not None else [],
        input_dtypes=described.types if described is not None else [],
    )


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, dtype) else value
