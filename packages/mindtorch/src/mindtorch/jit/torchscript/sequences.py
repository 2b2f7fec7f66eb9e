"""What several kinds of operators do to lists, texts and dicts."""

from __future__ import annotations

from typing import Any

from mt_core import Tensor

from .table import too_long

__all__ = ["concatenated", "item_of", "place_of", "repeated", "same", "sliced"]


def concatenated(a: Any, b: Any) -> Any:
    """Two texts or lists one after the other."""
    too_long(len(a) + len(b))
    return a + b


def repeated(a: Any, b: Any) -> Any:
    """A list several times."""
    items, count = (a, b) if isinstance(a, (list, str)) else (b, a)
    too_long(len(items) * max(count, 0))
    return items * count


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal, as membership and lists ask it: tensors by their elements."""
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return bool((a == b).all()) if a.shape == b.shape else False
    return bool(a == b)


def place_of(items: list[Any], value: Any) -> int:
    """Where an item is."""
    for place, item in enumerate(items):
        if same(item, value):
            return place
    raise RuntimeError(f"'{value}' is not in list")


def item_of(container: Any, key: Any) -> Any:
    """``container[key]`` of a list, tuple, text or dict."""
    if isinstance(container, dict):
        if key not in container:
            raise RuntimeError(f"KeyError: {key}")
        return container[key]
    if not isinstance(container, (list, tuple, str)) or isinstance(key, slice):
        raise RuntimeError(f"'{type(container).__name__}' object cannot be indexed")
    try:
        return container[key]
    except IndexError:
        kind = "string" if isinstance(container, str) else type(container).__name__
        raise RuntimeError(f"{kind} index out of range") from None


def sliced(items: Any, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    """A part of a list, tuple or text."""
    if step == 0:
        raise RuntimeError("slice step cannot be zero")
    return items[start:end:step]
