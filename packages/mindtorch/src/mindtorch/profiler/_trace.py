"""Traces in the format of ``chrome://tracing`` and Perfetto."""

from __future__ import annotations

import gzip
import json
import os
import socket
import uuid
from collections.abc import Iterator
from typing import Any

from ._session import ANNOTATION, BACKWARD, PYTHON, Event, Session

__all__ = ["trace_of", "write_events", "write_trace"]

_NAME = "PyTorch Profiler"


def write_trace(path: str, trace: dict[str, Any]) -> None:
    """Write a trace; compressed, where the name ends in ``.gz``."""
    if path.endswith(".gz"):
        with gzip.open(path, "wt") as file:
            json.dump(trace, file)
    else:
        with open(path, "w") as file:
            json.dump(trace, file)


def trace_of(session: Session, metadata: dict[str, str], trace_id: str) -> dict[str, Any]:
    """The trace of a session.

    Parameters
    ----------
    metadata
        Name -> JSON text, entered at the top.
    """
    settings = session.settings
    options = {
        "with_stack": settings.with_stack,
        "profile_memory": settings.profile_memory,
        "record_shapes": settings.record_shapes,
        "with_modules": settings.with_modules,
        "with_flops": settings.with_flops,
    }
    return {
        "schemaVersion": 1,
        "deviceProperties": [],
        "trace_id": trace_id,
        **{name: 1 for name, on in options.items() if on},
        "host_name": socket.gethostname(),
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": session.clock_offset,
        **{name: json.loads(text) for name, text in metadata.items()},
        "traceEvents": [*_headings(session), *_events(session), *_span(session)],
    }


def new_trace_id() -> str:
    """A number that no other trace has."""
    return uuid.uuid4().hex.upper()


def _headings(session: Session) -> Iterator[dict[str, Any]]:
    at, process = session.start / 1e3, os.getpid()
    yield _meta("process_name", at, process, 0, {"name": "python"})
    yield _meta("process_labels", at, process, 0, {"labels": "CPU"})
    yield _meta("process_sort_index", at, process, 0, {"sort_index": process})
    for thread in session.threads:
        yield _meta("thread_name", at, process, thread, {"name": f"thread {thread} (python)"})
        yield _meta("thread_sort_index", at, process, thread, {"sort_index": thread})


def _meta(name: str, at: float, process: int, thread: int, args: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "M", "name": name, "ts": at, "pid": process, "tid": thread, "args": args}


def _events(session: Session) -> Iterator[dict[str, Any]]:
    process = os.getpid()
    threads = {number: native for native, number in session.threads.items()}
    numbers: dict[int, int] = {}
    for index, event in enumerate(session.events):
        numbers[id(event)] = index
        yield _entry(session, event, index, numbers, process, threads[event.thread])
    yield from _arrows(session, process, threads)
    for memory in session.memory:
        args = {
            "Total Reserved": 0,
            "Total Allocated": memory.total,
            "Bytes": memory.nbytes,
            "Device Id": -1,
            "Device Type": 0,
            "Addr": memory.address,
        }
        yield {
            "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": process,
            "tid": threads[memory.thread], "ts": memory.time / 1e3, "args": args,
        }  # fmt: skip


def _entry(
    session: Session, event: Event, index: int, numbers: dict[int, int], process: int, thread: int
) -> dict[str, Any]:
    assert event.end is not None  # the session has ended
    args: dict[str, Any]
    if event.kind == PYTHON:
        outer = event.parent
        while outer is not None and outer.kind != PYTHON:
            outer = outer.parent
        args = {"Python parent id": None if outer is None else numbers[id(outer)], "Python id": index}
    else:
        args = {"External id": index + 1, "Record function id": 0}
    if event.sequence >= 0:
        args["Sequence number"] = event.sequence
        args["Fwd thread id"] = event.forward_thread
    if event.inputs is not None and session.settings.record_shapes:
        args["Concrete Inputs"] = ["" if value is None else str(value) for value in event.inputs.values]
        args["Input type"] = event.inputs.types
        args["Input Strides"] = event.inputs.strides
        args["Input Dims"] = event.inputs.shapes
    if event.stack:
        args["Call stack"] = ";".join(event.stack)
    args["Ev Idx"] = index
    category = "cpu_op" if event.kind == BACKWARD else event.kind
    return {
        "ph": "X", "cat": category, "name": event.name, "pid": process, "tid": thread, "ts": event.start / 1e3,
        "dur": (event.end - event.start) / 1e3, "args": args,
    }  # fmt: skip


def _arrows(session: Session, process: int, threads: dict[int, int]) -> Iterator[dict[str, Any]]:
    """From each recorded call to the node of the backward that belongs to it."""
    forward: dict[int, Event] = {}
    for event in session.events:
        if event.sequence >= 0 and not event.forward_thread and event.kind != ANNOTATION:
            forward[event.sequence] = event  # the innermost: that one made the node
    seen: set[int] = set()
    for event in session.events:
        origin = forward.get(event.sequence) if event.forward_thread else None
        if origin is None or event.kind == BACKWARD or event.sequence in seen:
            continue
        seen.add(event.sequence)
        common = {"id": len(seen), "pid": process, "cat": "fwdbwd", "name": "fwdbwd"}
        yield {"ph": "s", **common, "tid": threads[origin.thread], "ts": origin.start / 1e3}
        yield {"ph": "f", **common, "tid": threads[event.thread], "ts": event.start / 1e3, "bp": "e"}


def _span(session: Session) -> Iterator[dict[str, Any]]:
    start = session.start / 1e3
    yield {
        "ph": "X", "cat": "Trace", "name": f"{_NAME} (0)", "pid": "Spans", "tid": _NAME, "ts": start,
        "dur": (session.stop - session.start) / 1e3, "args": {"Op count": 0},
    }  # fmt: skip
    yield {
        "ph": "i",
        "s": "g",
        "name": f"Iteration Start: {_NAME}",
        "pid": "Traces",
        "tid": f"Trace {_NAME}",
        "ts": start,
    }
    yield {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": session.stop / 1e3}


def write_events(events: Any, path: str) -> None:
    """Write events without a session: names and times."""
    entries = [
        {
            "ph": "X", "name": event.trace_name or event.name, "pid": "CPU functions", "tid": event.thread,
            "ts": event.time_range.start, "dur": event.time_range.elapsed_us(), "args": {},
        }
        for event in events
    ]  # fmt: skip
    with open(path, "w") as file:
        json.dump(entries, file)
