"""What a profiler writes down while it watches: events with their times, and what memory came and went.

A thread is watched while it includes the key `PROFILED`, whose layer (`_layer`) opens and closes an event for every
operator. A session is its thread's; one that goes on in another thread, as deep backwards do, takes it along.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter_ns, time_ns
from typing import Any
from weakref import ref

import numpy as np

from mt_core import Tensor
from mt_core.keys import CPU, PROFILED
from mt_core.state import settle, tls
from mt_core.tensor_types import tensors_in
from mt_core.thread_state import carried_over

from ._inputs import Inputs, inputs_of

__all__ = ["ANNOTATION", "BACKWARD", "OPERATOR", "PYTHON", "Event", "Memory", "Session", "Settings", "current"]

#: Kinds of events; PyTorch's numbers of their scopes are in `Event.scope`.
OPERATOR, ANNOTATION, BACKWARD, PYTHON = "cpu_op", "user_annotation", "backward", "python_function"
_SCOPES = {OPERATOR: 0, BACKWARD: 1, ANNOTATION: 7, PYTHON: 0}


@dataclass
class Settings:
    """What is to be written down."""

    record_shapes: bool = False
    profile_memory: bool = False
    with_stack: bool = False
    with_flops: bool = False
    with_modules: bool = False
    verbose: bool = False
    capture_overload_names: bool = False


class Event:
    """Something that took a time; times in nanoseconds of `perf_counter_ns`, memory in bytes."""

    __slots__ = (
        "allocated", "end", "forward_thread", "inputs", "kind", "name", "overload_name", "parent", "sequence", "stack",
        "start", "thread",
    )  # fmt: skip

    def __init__(self, name: str, kind: str, thread: int, parent: Event | None) -> None:
        self.name = name
        self.kind = kind
        self.thread = thread
        self.parent = parent
        self.overload_name = ""
        self.sequence = -1
        self.forward_thread = 0
        self.inputs: Inputs | None = None
        self.stack: list[str] = []
        #: What was allocated during this event and none inside of it, less what was freed.
        self.allocated = 0
        self.start = 0
        self.end: int | None = None

    @property
    def scope(self) -> int:
        return _SCOPES[self.kind]


@dataclass
class Memory:
    """Memory that came (positive) or went (negative), at a time; `event` is what it happened in."""

    time: int
    nbytes: int
    thread: int
    address: int
    event: Event | None
    total: int


class _Here(threading.local):
    """The session that watches this thread, and its events that have not ended, the innermost last."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.open: list[Event] = []


_here = carried_over(_Here())


def current() -> Session | None:
    """The session that watches this thread, or None."""
    return _here.session


@dataclass
class Session:
    """One stretch of watching."""

    settings: Settings
    events: list[Event] = field(default_factory=list)
    memory: list[Memory] = field(default_factory=list)
    threads: dict[int, int] = field(default_factory=dict)
    #: Name of a module's class -> instances that were called, by the order of their first calls.
    modules: dict[str, list[Any]] = field(default_factory=dict)
    start: int = 0
    stop: int = 0
    #: Nanoseconds of the wall clock where `perf_counter_ns` is 0.
    clock_offset: int = 0
    #: Whether operators are written down just now (``toggle_collection_dynamic``).
    is_collecting: bool = True
    _allocations: dict[int, Any] = field(default_factory=dict)
    _living: int = 0

    # Start and end

    def begin(self) -> None:
        """Watch this thread from now on."""
        settle()
        self.clock_offset = time_ns() - perf_counter_ns()
        self.start = perf_counter_ns()
        _here.session, _here.open = self, []
        tls.include |= PROFILED
        tls.refresh()

    def finish(self) -> None:
        """Watch no longer; events that have not ended end now."""
        settle()
        self.stop = perf_counter_ns()
        if _here.session is self:
            _here.session, _here.open = None, []
            tls.include &= ~PROFILED
            tls.refresh()
        for event in self.events:
            if event.end is None:
                event.end = self.stop
        self._allocations.clear()

    # Events

    def open(self, name: str, kind: str) -> Event:
        """An event that begins now, inside of the innermost one of this thread."""
        stack = _here.open
        event = Event(name, kind, self.thread_number(), stack[-1] if stack else None)
        if self.settings.verbose and self.settings.with_stack and kind != PYTHON:
            event.stack = _stack_above(event)
        self.events.append(event)
        stack.append(event)
        event.start = perf_counter_ns()
        return event

    def close(self, event: Event) -> None:
        """End an event, and those inside of it that an error has left open."""
        now = perf_counter_ns()
        stack = _here.open
        if event not in stack:
            return  # it was left open by an event around it, or the session began after it
        while stack:
            ended = stack.pop()
            ended.end = now
            if ended is event:
                return

    def describe(self, event: Event, arguments: Sequence[Any], values: Sequence[Any]) -> None:
        """Note the inputs of an event, if they are asked for."""
        if self.settings.record_shapes or self.settings.with_flops:
            event.inputs = inputs_of(arguments, values)

    def thread_number(self) -> int:
        """The number of this thread among those that were watched, from 1."""
        return self.threads.setdefault(threading.get_native_id(), len(self.threads) + 1)

    # Memory

    def count_results(self, result: Any, arguments: Sequence[Any]) -> None:
        """Note memory of the CPU that a call has allocated for its results."""
        owners = [owner for tensor in _tensors(result) if (owner := _owner_of(tensor)) is not None]
        fresh = {id(owner): owner for owner in owners if id(owner) not in self._allocations}
        if not fresh:
            return
        for tensor in _tensors(arguments):
            fresh.pop(id(_owner_of(tensor)), None)
        for address, owner in fresh.items():
            self._allocated(address, owner)

    def _allocated(self, address: int, owner: np.ndarray[Any, Any]) -> None:
        nbytes, at = owner.nbytes, owner.ctypes.data
        if not nbytes:
            return

        def gone(_: Any) -> None:
            if self._allocations.pop(address, None) is not None:
                self._note(-nbytes, at)

        self._allocations[address] = ref(owner, gone)
        self._note(nbytes, at)

    def _note(self, nbytes: int, address: int) -> None:
        inside = _here.open[-1] if _here.session is self and _here.open else None
        while inside is not None and inside.kind == PYTHON:
            inside = inside.parent
        self._living += nbytes
        self.memory.append(Memory(perf_counter_ns(), nbytes, self.thread_number(), address, inside, self._living))
        if inside is not None:
            inside.allocated += nbytes


def _tensors(values: Any) -> Iterator[Tensor]:
    return iter(tensors_in((values,)))


def _owner_of(tensor: Tensor) -> Any:
    """The NumPy array whose memory a tensor of the CPU lies in; None where there is none."""
    array = tensor._array
    if not tensor._keys & CPU or not isinstance(array, np.ndarray):
        return None
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _stack_above(event: Event) -> list[str]:
    """The Python functions that an event is inside of, the innermost first."""
    names: list[str] = []
    outer = event.parent
    while outer is not None:
        if outer.kind == PYTHON:
            names.append(outer.name)
        outer = outer.parent
    return names
