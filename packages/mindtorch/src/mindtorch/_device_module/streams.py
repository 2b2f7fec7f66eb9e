"""``torch.<device>``: streams and events."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import mt_core
from mt_core import streams
from mt_core.plugins import runtime_access

from .control import Control, named

__all__ = ["Streams", "event_class", "stream_class"]


class Streams(Control):
    """The functions about streams. `Stream` and `Event` are the module's own classes."""

    def __init__(self, device_type: str) -> None:
        super().__init__(device_type)
        self.Stream = stream_class(self)
        self.Event = event_class(self)
        self.ExternalStream = external_stream_class(self)
        self.StreamContext = _stream_context_class(self)

    def _stream(self, handle: Any) -> Any:
        return self.Stream.of_handle(self.device_type, handle)

    def current_stream(self, device: Any = None) -> Any:
        """The stream that work on a device is given to."""
        runtime = self.runtime("streams", "current_stream")
        return self._stream(runtime.current_stream(self.index(device)))

    def default_stream(self, device: Any = None) -> Any:
        """The stream of a device that is used when a program sets none."""
        runtime = self.runtime("streams", "default_stream")
        return self._stream(runtime.default_stream(self.index(device)))

    def get_stream_from_external(self, data_ptr: int, device: Any = None) -> Any:
        """A stream that another library made, by the address of the driver's stream."""
        runtime = self.runtime("streams", "get_stream_from_external")
        return self._stream(runtime.external_stream(data_ptr, self.index(device)))

    def set_stream(self, stream: Any) -> None:
        """Make a stream the current one of its device, and its device the current one; None changes nothing."""
        if stream is not None:
            runtime = self.runtime("streams", "set_stream")
            runtime.set_device(stream._handle.device_index)
            streams.make_current(self.device_type, stream._handle)

    def stream(self, stream: Any) -> Any:
        """A `StreamContext`."""
        return self.StreamContext(stream)


def stream_class(module: Streams) -> Any:
    """The class ``torch.<device>.Stream``."""
    name = module.device_type

    @named(name, "Stream")
    class Stream(streams.Stream):
        """A queue of work of a device, done in order; see `torch.Stream`.

        Parameters
        ----------
        device
            Where; the current device by default.
        priority
            Lower numbers are served first.
        """

        __slots__ = ()

        def __init__(self, device: Any = None, priority: int = 0) -> None:
            if not module.device_count():
                raise module.absence.stream_error()
            super().__init__(mt_core.device(name, module.index(device)), priority=priority)

        @property
        def priority(self) -> int:
            """Its priority; lower numbers are served first."""
            return int(self._handle.priority)

        def _new_event(self) -> Any:
            return module.Event._on(self.device)

        def __repr__(self) -> str:
            return f"<torch.{name}.Stream device={self.device} {name}_stream={self.native_handle:#x}>"

    # `cuda_stream` of a CUDA stream, and likewise elsewhere.
    setattr(Stream, f"{name}_stream", streams.Stream.native_handle)
    return Stream


def external_stream_class(module: Streams) -> Any:
    """The class ``torch.<device>.ExternalStream``."""

    @named(module.device_type, "ExternalStream")
    class ExternalStream(module.Stream):  # type: ignore[name-defined, misc]
        """A stream that another library made.

        Parameters
        ----------
        stream_ptr
            Address of the driver's stream.
        device
            Its device; the current one by default.
        """

        __slots__ = ()

        def __init__(self, stream_ptr: int, device: Any = None) -> None:
            if not module.device_count():
                raise module.absence.exchange_error("ExternalStream")
            index = module.index(device)
            handle = module.runtime("streams", "ExternalStream").external_stream(stream_ptr, index)
            self._bind(mt_core.device(module.device_type, index), handle)

    return ExternalStream


def event_class(module: Streams) -> Any:
    """The class ``torch.<device>.Event``."""
    name = module.device_type

    @named(name, "Event")
    class Event(streams.Event):
        """A point in a stream's work, on the device of the stream that it is first recorded on; see `torch.Event`."""

        __slots__ = ("_placed",)

        def __init__(
            self,
            enable_timing: bool = False,
            blocking: bool = False,
            interprocess: bool = False,
            external: bool = False,
        ) -> None:
            if not module.device_count():
                raise module.absence.dummy_error("Event")
            if external:
                raise NotImplementedError(f"torch.{name}.Event(external=True) is not supported by mindtorch.")
            place = mt_core.device(name, runtime_access.current_index(name))
            super().__init__(place, enable_timing=enable_timing, blocking=blocking, interprocess=interprocess)
            self._placed = False

        @classmethod
        def _on(cls, place: Any) -> Any:
            made = cls()
            made.device, made._placed = place, True
            return made

        def record(self, stream: Any = None) -> None:
            """Mark the point after all that a stream, by default the current one, was given until now."""
            if stream is None:
                stream = module.current_stream()
            if not self._placed:
                self.device, self._placed = stream.device, True
            super().record(stream)

        def wait(self, stream: Any = None) -> None:
            """Let a stream, by default the current one, wait for the event. The caller does not wait."""
            super().wait(module.current_stream() if stream is None else stream)

        def __repr__(self) -> str:
            return (
                f"<torch.{name}.Event {self.event_id:#x}>" if self.event_id else f"<torch.{name}.Event uninitialized>"
            )

    setattr(Event, f"{name}_event", streams.Event.event_id)
    return Event


def _stream_context_class(module: Streams) -> Any:
    @named(module.device_type, "StreamContext")
    class StreamContext:
        """Context manager: give work to a stream, whose device is the current one meanwhile; None changes nothing."""

        def __init__(self, stream: Any) -> None:
            if stream is not None and not module.device_count():
                raise module.absence.error("stream")
            self.stream = stream

        def __enter__(self) -> None:
            if self.stream is not None:
                self.stream.__enter__()

        def __exit__(
            self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
        ) -> None:
            if self.stream is not None:
                self.stream.__exit__(kind, error, trace)

    return StreamContext
