"""``torch.backends.miopen``: MIOpen is absent; its preference can be set and has no effect."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["flags", "set_flags"]

immediate = False


def set_flags(_immediate: bool) -> tuple[bool]:
    """Set the preference, and return it as it was."""
    module = vars(sys.modules[__name__])
    before = (module["immediate"],)
    module["immediate"] = _immediate
    return before


@contextmanager
def flags(immediate: bool = False) -> Iterator[None]:
    """Another preference for the time of a ``with`` statement."""
    (before,) = set_flags(immediate)
    try:
        yield
    finally:
        set_flags(before)
