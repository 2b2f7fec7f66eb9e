"""``torch.monitor``: events that a program logs, and statistics that are logged once in a while."""

from __future__ import annotations

import enum
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

__all__ = [
    "Aggregation", "Event", "EventHandlerHandle", "STAT_EVENT", "Stat", "TensorboardEventHandler", "data_value_t",
    "log_event", "register_event_handler", "unregister_event_handler",
]  # fmt: skip

STAT_EVENT = "torch.monitor.Stat"

#: What an event may say.
data_value_t = str | float | int | bool


class Event:
    """Something of a name that happened at a time.

    Parameters
    ----------
    data
        Name -> text or number; a bool counts as 0.0 or 1.0, as in PyTorch.

    Raises
    ------
    TypeError
        For anything else.
    """

    def __init__(self, name: str, timestamp: datetime, data: Mapping[str, Any]) -> None:
        fits = isinstance(name, str) and isinstance(timestamp, datetime) and isinstance(data, Mapping)
        if not fits or not all(isinstance(key, str) and isinstance(data[key], (str, int, float)) for key in data):
            raise TypeError(
                "__init__(): incompatible constructor arguments. The following argument types are supported:\n"
                "    1. torch._C._monitor.Event(name: str, timestamp: datetime.datetime, "
                "data: collections.abc.Mapping[str, data_value_t])\n\n"
                f"Invoked with: {name!r}, {timestamp!r}, {data!r}"
            )
        self.name = name
        self.timestamp = timestamp
        self.data = {key: float(value) if isinstance(value, bool) else value for key, value in data.items()}


class EventHandlerHandle:
    """What `unregister_event_handler` takes."""

    def __init__(self, handler: Callable[[Event], None]) -> None:
        self._handler = handler


_handlers: list[EventHandlerHandle] = []
_lock = threading.Lock()


def register_event_handler(callback: Callable[[Event], None]) -> EventHandlerHandle:
    """Call a function with every event that is logged from now on."""
    handle = EventHandlerHandle(callback)
    with _lock:
        _handlers.append(handle)
    return handle


def unregister_event_handler(handler: EventHandlerHandle) -> None:
    """Call it no longer.

    Raises
    ------
    ValueError
        When it is not registered.
    """
    with _lock:
        if handler not in _handlers:
            raise ValueError("the event handler is not registered")
        _handlers.remove(handler)


def log_event(event: Event) -> None:
    """Call all handlers with an event."""
    with _lock:
        handlers = list(_handlers)
    for handle in handlers:
        handle._handler(event)


class Aggregation(enum.Enum):
    """What is said of the values of a window."""

    VALUE = 0
    MEAN = 2
    COUNT = 3
    SUM = 4
    MAX = 5
    MIN = 6


COUNT, MAX, MEAN = Aggregation.COUNT, Aggregation.MAX, Aggregation.MEAN
MIN, SUM, VALUE = Aggregation.MIN, Aggregation.SUM, Aggregation.VALUE


class Stat:
    """Values of a window of time, of which statistics are logged as an event where the window is over.

    Parameters
    ----------
    aggregations
        What is said of them.
    window_size
        How long a window is, in whole milliseconds.
    max_samples
        As soon as there are so many, they are logged, and further ones of the window are left out.

    A window that is over is logged by the next call of a method, or when the object goes.
    """

    def __init__(
        self, name: str, aggregations: Sequence[Aggregation], window_size: timedelta, max_samples: int | None = None
    ) -> None:
        self._name = name
        self._aggregations = [Aggregation(item) for item in aggregations]
        self._window = max(1, window_size // timedelta(milliseconds=1))
        self._most = max_samples
        self._lock = threading.RLock()
        self._values: list[float] = []
        self._is_full = False
        self._logged: dict[Aggregation, float] = {
            item: 0.0 for item in self._aggregations if item is not Aggregation.VALUE
        }
        self._current = self._now()

    def _now(self) -> int:
        return time.monotonic_ns() // 1_000_000 // self._window

    @property
    def name(self) -> str:
        """What the names in its events begin with."""
        return self._name

    @property
    def count(self) -> int:
        """How many values the window has."""
        with self._lock:
            self._turn()
            return len(self._values)

    def add(self, v: float) -> None:
        """Add a value to the window."""
        value = float(v)
        with self._lock:
            self._turn()
            if self._is_full:
                return
            self._values.append(value)
            if self._most is not None and len(self._values) >= self._most:
                self._log()
                self._is_full = True

    def get(self) -> dict[Aggregation, float]:
        """The statistics that were logged last."""
        with self._lock:
            self._turn()
            return dict(self._logged)

    def _turn(self) -> None:
        now = self._now()
        if now != self._current:
            self._log()
            self._current, self._is_full = now, False

    def _log(self) -> None:
        if not self._values:
            return
        values, self._values = self._values, []
        self._logged = {item: _STATISTICS[item](values) for item in self._aggregations}
        data = {f"{self._name}.{item.name.lower()}": value for item, value in self._logged.items()}
        log_event(Event(STAT_EVENT, datetime.now(), data))

    def __del__(self) -> None:
        if hasattr(self, "_current"):  # else it was not made
            self._log()


_STATISTICS: dict[Aggregation, Callable[[list[float]], float]] = {
    Aggregation.VALUE: lambda values: values[-1],
    Aggregation.MEAN: lambda values: sum(values) / len(values),
    Aggregation.COUNT: lambda values: float(len(values)),
    Aggregation.SUM: sum,
    Aggregation.MAX: max,
    Aggregation.MIN: min,
}


class TensorboardEventHandler:
    """An event handler that writes statistics as scalars of a ``SummaryWriter``."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def __call__(self, event: Event) -> None:
        if event.name == STAT_EVENT:
            for key, value in event.data.items():
                self._writer.add_scalar(key, value, walltime=event.timestamp.timestamp())
