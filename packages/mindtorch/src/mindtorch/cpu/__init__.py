"""``torch.cpu``: the CPU seen as a device. Its work is done when a call returns, so that streams order nothing."""

import contextlib
from types import TracebackType
from typing import Any

from . import amp

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "amp",
    "current_device",
    "current_stream",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]


class Stream:
    """The order in which work is done; on the CPU it is that of the program."""

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: "Stream") -> None:
        """Wait for what another stream was given: it is done."""

    def record_event(self) -> "Event":
        """An event that has happened."""
        return Event()

    def wait_event(self, event: "Event") -> None:
        """Wait for an event: it has happened."""


class Event:
    """A point in the order of work; on the CPU it has always been reached."""

    def query(self) -> bool:
        """Whether it has been reached."""
        return True

    def record(self, stream: "Stream | None" = None) -> None:
        """Put it after what was given to a stream."""

    def synchronize(self) -> None:
        """Wait until it is reached."""

    def wait(self, stream: "Stream | None" = None) -> None:
        """Let a stream wait until it is reached."""


_default_stream = Stream()
_current_stream = _default_stream


def is_available() -> bool:
    """Whether there is a CPU."""
    return True


def is_initialized() -> bool:
    """Whether it is ready for use."""
    return True


def device_count() -> int:
    """One, however many cores it has."""
    return 1


def current_device() -> str:
    """The name of the device."""
    return "cpu"


def set_device(device: Any) -> None:
    """Make a CPU the current one; there is but one."""


def synchronize(device: Any = None) -> None:
    """Wait until all work is done: it is."""


def current_stream(device: Any = None) -> "Stream":
    """The stream that work is put on."""
    return _current_stream


class StreamContext(contextlib.AbstractContextManager):
    """Context manager: put work on a stream."""

    def __init__(self, stream: "Stream | None") -> None:
        self.stream = stream
        self._previous = _current_stream

    def __enter__(self) -> None:
        global _current_stream
        self._previous = _current_stream
        if self.stream is not None:
            _current_stream = self.stream

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _current_stream
        _current_stream = self._previous


def stream(stream: "Stream | None") -> StreamContext:
    """A `StreamContext`."""
    return StreamContext(stream)
