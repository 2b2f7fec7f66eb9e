"""``torch.cuda.streams``: queues of CUDA work, of which there is none."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from .. import _absent_device
from ._message import NOT_ENABLED

__all__ = ["Event", "ExternalStream", "Stream", "StreamContext", "stream"]

Event = _absent_device.dummy_class("Event")
Stream = _absent_device.dummy_class("Stream")
ExternalStream = _absent_device.dummy_class("ExternalStream")


class StreamContext:
    """Context manager: put work on a stream. Without devices there is no stream but None, which changes nothing."""

    def __init__(self, stream: Any) -> None:
        if stream is not None:
            raise AssertionError(NOT_ENABLED)
        self.stream = stream

    def __enter__(self) -> None:
        """There is nothing to change."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """There is nothing to undo."""


def stream(stream: Any) -> StreamContext:
    """A `StreamContext`."""
    return StreamContext(stream)
