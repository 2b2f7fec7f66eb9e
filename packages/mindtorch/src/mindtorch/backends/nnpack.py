"""``torch.backends.nnpack``: NNPACK is absent; its preference can be set and has no effect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["flags", "is_available", "set_flags"]

_enabled = True


def is_available() -> bool:
    """Whether mindtorch's kernels use it."""
    return False


def set_flags(_enabled: bool) -> tuple[bool]:
    """Set the preference, and return it as it was."""
    before = (globals()["_enabled"],)
    globals()["_enabled"] = _enabled
    return before


@contextmanager
def flags(enabled: bool = False) -> Iterator[None]:
    """Another preference for the time of a ``with`` statement."""
    (before,) = set_flags(enabled)
    try:
        yield
    finally:
        set_flags(before)
