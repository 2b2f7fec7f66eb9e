"""The version, comparable with strings and tuples: ``torch.__version__ >= "2.1"``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

__all__ = ["TorchVersion"]

_VERSION = re.compile(
    r"v?(?P<release>\d+(\.\d+)*)([-_.]?(?P<phase>a|b|rc|dev|post)[-_.]?(?P<number>\d*))?(\+(?P<local>[a-z0-9.]+))?",
    re.I,
)
_PHASES = {"dev": -4, "a": -3, "b": -2, "rc": -1, None: 0, "post": 1}


def _key(version: str) -> tuple[Any, ...] | None:
    """What versions are ordered by: release numbers, phase, local part; None for what is no version."""
    match = _VERSION.fullmatch(version.strip())
    if match is None:
        return None
    release = [int(part) for part in match["release"].split(".")]
    while release and release[-1] == 0:
        release.pop()
    phase = match["phase"] and match["phase"].lower()
    return tuple(release), _PHASES[phase], int(match["number"] or 0), match["local"] or ""


def _comparison(compare: Callable[[Any, Any], bool]) -> Callable[[TorchVersion, Any], bool]:
    def method(self: TorchVersion, other: Any) -> bool:
        if isinstance(other, (tuple, list)):
            other = ".".join(map(str, other))
        if not isinstance(other, str):
            return NotImplemented
        mine, theirs = _key(str(self)), _key(other)
        if mine is None or theirs is None:
            return compare(str(self), str(other))
        return compare(mine, theirs)

    method.__name__ = f"__{compare.__name__}__"
    return method


class TorchVersion(str):
    """A version string that compares as a version with strings, with tuples of numbers and with other versions.

    What is no version number compares as text.
    """

    __slots__ = ()
    __hash__ = str.__hash__

    __eq__ = _comparison(operator.eq)
    __ne__ = _comparison(operator.ne)
    __lt__ = _comparison(operator.lt)
    __le__ = _comparison(operator.le)
    __gt__ = _comparison(operator.gt)
    __ge__ = _comparison(operator.ge)
