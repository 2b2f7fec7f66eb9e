"""``torch.Stream`` and ``torch.Event``: queues of a device's work and points in them, by the runtime of its backend.

The CPU takes part as in PyTorch: its work is done when a call returns, so its one stream is always done, and events
cannot be recorded on it.
"""

from __future__ import annotations

from typing import Any

from .devices import device as Device
from .plugins.runtime_access import accelerator_type, checked_index, has_part, require

__all__ = ["Event", "Stream", "device_number", "joined_streams", "make_current"]

#: What ``Stream.device_type`` says; third parties' types are PyTorch's private one.
_NUMBERS = {
    "cpu": 0, "cuda": 1, "mkldnn": 2, "opengl": 3, "opencl": 4, "ideep": 5, "hip": 6, "fpga": 7, "maia": 8, "xla": 9,
    "vulkan": 10, "xpu": 12, "mps": 13, "meta": 14, "hpu": 15, "ve": 16, "lazy": 17, "ipu": 18, "mtia": 19,
}  # fmt: skip
_PRIVATE_NUMBER = 20


def device_number(device_type: str) -> int:
    """PyTorch's number of a device type."""
    return _NUMBERS.get(device_type, _PRIVATE_NUMBER)


def _type_of_number(number: int) -> str:
    """The device type of one of PyTorch's numbers."""
    found = next((name for name, known in _NUMBERS.items() if known == number), None)
    if found is None:
        raise RuntimeError("Expected isValidDeviceType(device_type) to be true, but got false.")
    return found


class _NameOnly:
    """The handle of a stream that is known by its numbers alone: nothing can be asked of it, and nothing done in it."""

    def __init__(self, id: int, device_index: int) -> None:
        self.id, self.device_index = id, device_index

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("a torch.Stream that was made of a stream_id is a name: no work can be given to it")


def _place(wanted: Any, what: str) -> Device:
    """A device with its index: that of the accelerator when none is named, and the CPU where there is none.

    Raises
    ------
    RuntimeError
        When there is no such device, or its backend has no streams.
    """
    place = Device(accelerator_type() or "cpu") if wanted is None else Device(wanted)
    if place.type in ("cpu", "meta"):
        return Device(place.type)
    require(place.type, "streams", what)
    return Device(place.type, checked_index(place.type, place.index))


#: (device type, device index, stream id) -> the handle of a stream, other than a default one, that has been current.
_entered: dict[tuple[str, int, int], Any] = {}


def make_current(device_type: str, handle: Any) -> None:
    """Make a stream, by its `StreamHandle`, the current one of its device; the current device stays as it is."""
    if handle.id:
        _entered[device_type, handle.device_index, handle.id] = handle
    require(device_type, "streams", "torch.Stream").set_stream(handle)


class JoinedStreams:
    """Context manager: the current streams wait for all others on entering, and the others for them on leaving.

    So work that uses what any stream made, as a backward does, may be given to the current stream, and what it frees is
    not written by another stream before it is done. Streams that have never been current have been given nothing.
    """

    def __enter__(self) -> None:
        if _entered:
            _join(inwards=True)

    def __exit__(self, *exc_info: object) -> None:
        if _entered:
            _join(inwards=False)


joined_streams = JoinedStreams()


def _join(inwards: bool) -> None:
    for (kind, index, _), handle in list(_entered.items()):
        if not has_part(kind, "streams"):
            continue
        runtime = require(kind, "streams", "torch.Stream")
        current = runtime.current_stream(index)
        # A graph may not depend on what is not recorded with it.
        recorded = has_part(kind, "graphs") and (runtime.is_capturing(current) or runtime.is_capturing(handle))
        if current.id != handle.id and not recorded:
            waiting, awaited = (current, handle) if inwards else (handle, current)
            event = runtime.event(index, False, False, False)
            event.record(awaited)
            waiting.wait(event)


class Stream:
    """``torch.Stream(device=None, *, priority=0)``: a queue of work, done in order.

    As a context manager it is the current stream of its device, which is the current device.

    Parameters
    ----------
    device
        Where; the accelerator's current device by default.
    priority
        Lower numbers are served first.
    stream_id, device_index, device_type
        All three in place of the others: only the name of a stream, whose device need not be there, with PyTorch's
        number of its type.

    Raises
    ------
    RuntimeError
        When there is no such device.
    NotImplementedError
        When its backend has no streams.
    """

    __slots__ = ("__weakref__", "_before", "_handle", "device")

    #: The `StreamHandle` of the device's runtime; None on the CPU.
    _handle: Any
    device: Device

    def __init__(
        self, device: Any = None, *, priority: int = 0, stream_id: int | None = None, device_index: int | None = None,
        device_type: int | None = None,
    ) -> None:  # fmt: skip
        if stream_id is not None or device_index is not None or device_type is not None:
            if stream_id is None or device_index is None or device_type is None or device is not None:
                wrong = "device_type" if stream_id is None and device_index is None else "stream_id"
                raise TypeError(f"Stream() got an unexpected keyword argument '{wrong}'")
            self._bind(Device(_type_of_number(device_type), device_index), _NameOnly(stream_id, device_index))
            return
        self._bind(_place(device, "torch.Stream"), None)
        if self.device.index is not None:
            self._handle = self._runtime().stream(self.device.index, priority)

    def _bind(self, place: Device, handle: Any) -> None:
        self.device, self._handle = place, handle
        #: (device, stream) that were current, for each context that is open.
        self._before: list[tuple[int, Any]] = []

    @classmethod
    def of_handle(cls, device_type: str, handle: Any) -> Any:
        """A stream for a `StreamHandle` that a runtime gave."""
        made = cls.__new__(cls)
        made._bind(Device(device_type, handle.device_index), handle)
        return made

    def _runtime(self, what: str = "torch.Stream") -> Any:
        return require(self.device.type, "streams", what)

    @property
    def stream_id(self) -> int:
        """A number that tells the streams of a device apart; 0 is the default stream."""
        return 0 if self._handle is None else self._handle.id

    @property
    def device_index(self) -> int:
        """The device's index; -1 on the CPU."""
        return -1 if self.device.index is None else self.device.index

    @property
    def device_type(self) -> int:
        """PyTorch's number of the device type."""
        return device_number(self.device.type)

    @property
    def native_handle(self) -> int:
        """Address of the driver's own stream.

        Raises
        ------
        RuntimeError
            On the CPU, which has none.
        """
        if self._handle is None:
            raise RuntimeError("Backend doesn't support getting stream native handle.")
        return int(self._handle.native)

    def query(self) -> bool:
        """Whether all its work is done. Does not wait."""
        return self._handle is None or bool(self._handle.query())

    def synchronize(self) -> None:
        """Wait until all its work is done."""
        if self._handle is not None:
            self._handle.synchronize()

    def wait_event(self, event: Event) -> None:
        """Let what the stream is given from now on wait for an event. The caller does not wait."""
        if self._handle is not None and event._handle is not None:
            self._handle.wait(event._handle)

    def wait_stream(self, stream: Stream) -> None:
        """Let what the stream is given from now on wait for all that another was given until now."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        """An event after all that the stream was given until now: the one passed, or a new one."""
        if event is None:
            event = self._new_event()
        event.record(self)
        return event

    def _new_event(self) -> Event:
        return Event(self.device)

    def is_capturing(self) -> bool:
        """Whether what the stream is given is being recorded as a graph."""
        if self._handle is None:
            return False
        runtime = require(self.device.type, "graphs", "torch.Stream.is_capturing")
        return bool(runtime.is_capturing(self._handle))

    def __enter__(self) -> Stream:
        if self._handle is not None:
            runtime = self._runtime()
            index = self._handle.device_index
            self._before.append((runtime.current_device(), runtime.current_stream(index)))
            runtime.set_device(index)
            make_current(self.device.type, self._handle)
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._handle is not None:
            runtime = self._runtime()
            index, stream = self._before.pop()
            runtime.set_stream(stream)
            runtime.set_device(index)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self.device, self.stream_id) == (other.device, other.stream_id)

    def __hash__(self) -> int:
        return hash((self.device, self.stream_id))

    def __repr__(self) -> str:
        return (
            f"torch.Stream device_type={self.device.type}, device_index={self.device_index}, stream_id={self.stream_id}"
        )


class Event:
    """``torch.Event(device=None, *, enable_timing=False, ...)``: a point in a stream's work.

    Parameters
    ----------
    device
        Where; the accelerator's current device by default.
    enable_timing
        Whether `elapsed_time` will be asked.
    blocking
        Whether a thread that waits sleeps, rather than spins.
    interprocess
        Whether other processes will open it.

    Raises
    ------
    RuntimeError
        When there is no such device.
    NotImplementedError
        When its backend has no streams.
    """

    __slots__ = ("__weakref__", "_handle", "_options", "device")

    #: The `EventHandle` of the device's runtime, made when the event is first recorded; None until then.
    _handle: Any
    device: Device

    def __init__(
        self, device: Any = None, *, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        self.device = _place(device, "torch.Event")
        self._options = (bool(enable_timing), bool(blocking), bool(interprocess))
        self._handle = None

    @property
    def event_id(self) -> int:
        """Address of the driver's own event; 0 before it was first recorded."""
        return 0 if self._handle is None else int(self._handle.native)

    def record(self, stream: Stream | None = None) -> None:
        """Mark the point after all that a stream, by default the device's current one, was given until now.

        Raises
        ------
        RuntimeError
            On the CPU, and for a stream of another device.
        """
        if self.device.index is None:
            raise RuntimeError(f"{self.device.type} backend doesn't support events.")
        runtime = require(self.device.type, "streams", "torch.Event.record")
        if stream is not None and stream.device != self.device:
            raise RuntimeError(f"Event device {self.device} does not match recording stream's device {stream.device}.")
        handle = runtime.current_stream(self.device.index) if stream is None else stream._handle
        if self._handle is None:
            self._handle = runtime.event(self.device.index, *self._options)
        self._handle.record(handle)

    def wait(self, stream: Stream | None = None) -> None:
        """Let a stream, by default the device's current one, wait for the event. The caller does not wait."""
        if self._handle is None:
            return
        if stream is None:
            runtime = require(self.device.type, "streams", "torch.Event.wait")
            runtime.current_stream(self.device.index).wait(self._handle)
        else:
            stream.wait_event(self)

    def query(self) -> bool:
        """Whether the point has been reached; True before the event was recorded."""
        return self._handle is None or bool(self._handle.query())

    def synchronize(self) -> None:
        """Wait until the point has been reached."""
        if self._handle is not None:
            self._handle.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to another.

        Raises
        ------
        ValueError
            When one of the two was made without ``enable_timing=True``, or was not recorded.
        RuntimeError
            When one of the two has not been reached.
        """
        if not (self._options[0] and end_event._options[0]):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._handle is None or end_event._handle is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return float(self._handle.elapsed(end_event._handle))

    def ipc_handle(self) -> Any:
        """Raises: events do not travel to other processes."""
        raise NotImplementedError("torch.Event ipc is not supported yet, please open an issue if you need this!")

    @classmethod
    def from_ipc_handle(cls, device: Any, handle: Any) -> Any:
        """Raises: events do not travel to other processes."""
        raise NotImplementedError("torch.Event ipc is not supported yet, please open an issue if you need this!")

    def __repr__(self) -> str:
        index = -1 if self.device.index is None else self.device.index
        return (
            f"torch.Event device_type={self.device.type}, device_index={index}, event_flag={int(self._options[0])}, "
            f"event_id={self.event_id}"
        )
