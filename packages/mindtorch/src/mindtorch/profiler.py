"""``torch.profiler``: not supported; marks for it are accepted, since they mean nothing without it."""

import enum
import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any

from ._unsupported import unsupported_class, unsupported_function

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]

_REMEDY = "Use Python's own profilers, such as cProfile."

profile = unsupported_class("torch.profiler.profile", _REMEDY)
schedule = unsupported_function("torch.profiler.schedule", _REMEDY)
tensorboard_trace_handler = unsupported_function("torch.profiler.tensorboard_trace_handler", _REMEDY)


class ProfilerActivity(enum.Enum):
    """What can be watched."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def kineto_available() -> bool:
    """Whether PyTorch's profiling library is there."""
    return False


def supported_activities() -> set[ProfilerActivity]:
    """What can be watched here: nothing."""
    return set()


class record_function:
    """Context manager and decorator: name a part of a program for a profiler; none can be watching."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args

    def __enter__(self) -> "record_function":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """There is nothing to undo."""

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return recorded
