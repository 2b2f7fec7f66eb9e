"""``torch.utils._mode_utils``: small helpers for dispatch modes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mt_core.keys import PYTHON
from mt_core.python_dispatch import without_modes
from mt_core.state import excluding

__all__ = ["all_same_mode", "no_dispatch"]


@contextmanager
def no_dispatch() -> Iterator[None]:
    """Neither modes nor classes are handed operators inside of the block."""
    with without_modes(), excluding(PYTHON):
        yield


def all_same_mode(modes: list[Any]) -> bool:
    """Whether all are the first."""
    return all(mode == modes[0] for mode in modes)
