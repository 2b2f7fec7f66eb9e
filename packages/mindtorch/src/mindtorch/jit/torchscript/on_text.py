"""Operators on text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .sequences import place_of
from .table import PLAIN, enter, too_long
from .text import format_percent, format_text, text_of
from .types import BOOL, INT, STR, Type, list_of

__all__: list[str] = []

_SPACE = " \n\t\f\v"


def _end(text: str, end: int) -> int:
    """Where a search ends: a negative place counts from behind, one behind the last."""
    return len(text) + 1 + end if end < 0 else end


def _method(name: str) -> Callable[..., Any]:
    def call(text: str) -> Any:
        return getattr(text, name)()

    return call


def _padded(name: str) -> Callable[..., Any]:
    def call(text: str, width: int, *fill: str) -> Any:
        too_long(width)
        if fill and len(fill[0]) != 1:
            raise RuntimeError("TypeError: The fill character must be exactly one character long")
        return getattr(text, name)(width, *fill)

    return call


def _stripping(name: str) -> Callable[..., Any]:
    def call(text: str, chars: str = _SPACE) -> Any:
        return getattr(text, name)(chars)

    return call


def _find(text: str, part: str, start: int = 0, end: int = -1) -> int:
    return text.find(part, start, _end(text, end))


def _rfind(text: str, part: str, start: int = 0, end: int = -1) -> int:
    return text.rfind(part, start, _end(text, end))


def _located(place: int) -> int:
    if place < 0:
        raise RuntimeError("ValueError: substring not found")
    return place


def _index(text: Any, part: Any, start: int = 0, end: int = -1) -> int:
    if isinstance(text, list):
        return place_of(text, part)
    return _located(_find(text, part, start, end))


def _count(text: Any, part: Any, start: int = 0, end: int = -1) -> int:
    return text.count(part) if isinstance(text, list) else text.count(part, start, _end(text, end))


def _startswith(text: str, part: str, start: int = 0, end: int = -1) -> bool:
    return text[start : _end(text, end)].startswith(part)


def _endswith(text: str, part: str, start: int = 0, end: int = -1) -> bool:
    return text[start : _end(text, end)].endswith(part)


def _replace(text: str, old: str, new: str, most: int = -1) -> str:
    too_long(len(text) + (len(text) + 1) * len(new))
    return text.replace(old, new, most)


def _split(text: str, separator: str | None = None, most: int = -1) -> list[str]:
    if separator == "":
        raise RuntimeError("ValueError: empty separator")
    return text.split(separator, most)


def _rsplit(text: str, separator: str = " ", most: int = -1) -> list[str]:
    if separator == "":
        raise RuntimeError("ValueError: empty separator")
    return text.rsplit(separator, most)


def _join(text: str, values: list[str]) -> str:
    too_long(sum(map(len, values)) + len(text) * len(values))
    return text.join(values)


def _expandtabs(text: str, size: int = 8) -> str:
    too_long(len(text) * max(size, 1))
    return text.expandtabs(size)


def _bounded(function: Callable[..., str]) -> Callable[..., str]:
    def call(*args: Any) -> str:
        made = function(*args)
        too_long(len(made))
        return made

    return call


_SAME = Type("Tuple", (STR, STR, STR))
enter(PLAIN, {name: _method(name) for name in "upper lower capitalize title swapcase".split()}, STR)
_QUESTIONS = "isalnum isalpha isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper"
enter(PLAIN, {name: _method(name) for name in _QUESTIONS.split()}, BOOL)
enter(PLAIN, {name: _padded(name) for name in "center ljust rjust zfill".split()}, STR)
enter(PLAIN, {name: _stripping(name) for name in "strip lstrip rstrip".split()}, STR)
enter(PLAIN, {"find": _find, "rfind": _rfind, "index": _index, "count": _count}, INT)
enter(PLAIN, {"rindex": lambda *args: _located(_rfind(*args))}, INT)
enter(PLAIN, {"startswith": _startswith, "endswith": _endswith}, BOOL)
enter(PLAIN, {"replace": _replace, "join": _join, "expandtabs": _expandtabs}, STR)
enter(PLAIN, {"split": _split, "rsplit": _rsplit}, list_of(STR))
enter(PLAIN, {"splitlines": lambda text, keepends=False: text.splitlines(keepends)}, list_of(STR))
enter(PLAIN, {"partition": str.partition, "rpartition": str.rpartition}, _SAME)

TEXT_OF_ANYTHING = {
    "str": _bounded(text_of), "format": _bounded(format_text), "percentFormat": _bounded(format_percent),
}  # fmt: skip
