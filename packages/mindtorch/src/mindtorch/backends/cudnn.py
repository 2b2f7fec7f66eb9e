"""``torch.backends.cudnn``: cuDNN is absent; its preferences can be set and have no effect."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

__all__ = ["flags", "is_acceptable", "is_available", "version"]

enabled = True
benchmark = False
benchmark_limit: int | None = None
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Whether cuDNN can be used."""
    return False


def version() -> int | None:
    """Its version; None without it."""
    return None


def is_acceptable(tensor: Any) -> bool:
    """Whether it could be used for a tensor."""
    return False


@contextlib.contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> Iterator[None]:
    """Context manager: set the preferences of this module."""
    wanted = {
        "enabled": enabled,
        "benchmark": benchmark,
        "benchmark_limit": benchmark_limit,
        "deterministic": deterministic,
        "allow_tf32": allow_tf32,
    }
    module = sys.modules[__name__]
    previous = {name: getattr(module, name) for name in wanted}
    vars(module).update(wanted)
    try:
        yield
    finally:
        vars(module).update(previous)
