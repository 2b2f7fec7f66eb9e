"""Warnings while a call is described: the call is carried out at once instead, and gives them where it stands, once.

A filter at the head of Python's list turns them into errors, in the thread that describes a call and nowhere else. It
is put back wherever a program has changed the list (`warnings.catch_warnings`), and taken out when a pipeline is left.
"""

from __future__ import annotations

import threading
import warnings
from typing import Any

__all__ = ["describing", "refuse_warnings", "take_warnings_again"]


class _Describing(threading.local):
    """Whether this thread is describing a call."""

    active = False


describing = _Describing()


class _OfThisThread(type):
    def __subclasscheck__(cls, category: type) -> bool:
        return describing.active


class _Refused(Warning, metaclass=_OfThisThread):
    """Every category of warnings, while this thread describes a call; none otherwise."""


_FILTER: Any = ("error", None, _Refused, None, 0)


def refuse_warnings() -> None:
    """See to it that the filter is there."""
    filters: list[Any] = warnings.filters  # type: ignore[assignment]
    if not filters or filters[0] is not _FILTER:
        filters.insert(0, _FILTER)


def take_warnings_again() -> None:
    """Take the filter out."""
    filters: list[Any] = warnings.filters  # type: ignore[assignment]
    filters[:] = [entry for entry in filters if entry is not _FILTER]
