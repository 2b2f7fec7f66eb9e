"""``torch.profiler.itt``: marks for Intel's VTune, whose library is not part of mindtorch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]


def is_available() -> bool:
    """Whether Intel's library is there: never."""
    return False


def _refuse() -> NoReturn:
    raise RuntimeError(
        "ITT functions not installed. Are you sure you have a ITT build? mindtorch has none: "
        "use torch.profiler.profile."
    )


def range_push(msg: str) -> NoReturn:
    """Begin a range: RuntimeError, as in a PyTorch without ITT."""
    _refuse()


def range_pop() -> NoReturn:
    """End a range: RuntimeError."""
    _refuse()


def mark(msg: str) -> NoReturn:
    """Mark a moment: RuntimeError."""
    _refuse()


@contextmanager
def range(msg: str, *args: object, **kwargs: object) -> Iterator[None]:
    """A range around the body: RuntimeError."""
    range_push(msg.format(*args, **kwargs))
    yield
