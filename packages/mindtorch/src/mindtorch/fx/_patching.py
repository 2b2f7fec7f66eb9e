"""Functions replaced while a program is traced, and put back after."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterator
from typing import Any

from .proxy import Proxy

__all__ = ["Patcher", "patch_wrapped", "wrapped_functions", "wrapped_methods"]

_MISSING: Any = object()
#: (id of a module's globals, name) -> the globals: functions whose calls with proxies are steps (`wrap`).
wrapped_functions: dict[tuple[int, str], dict[str, Any]] = {}
#: Methods of which the same holds.
wrapped_methods: list[tuple[type, str]] = []


class Patcher:
    """Context manager: what is replaced through it is put back at the end, last first."""

    def __init__(self) -> None:
        self._undo: list[tuple[Any, str, Any]] = []
        self._seen: set[int] = set()

    def patch(self, frame_dict: dict[str, Any], name: str, new_fn: Any, deduplicate: bool = True) -> None:
        """Replace a global."""
        self._undo.append((frame_dict, name, frame_dict.get(name, _MISSING)))
        frame_dict[name] = new_fn

    def patch_method(self, cls: type, name: str, new_fn: Any, deduplicate: bool = True) -> None:
        """Replace a method of a class."""
        self._undo.append((cls, name, vars(cls).get(name, _MISSING)))
        setattr(cls, name, new_fn)

    def visit_once(self, thing: Any) -> bool:
        """Whether this is the first time that a thing is given to it."""
        first = id(thing) not in self._seen
        self._seen.add(id(thing))
        return first

    def __enter__(self) -> Patcher:
        return self

    def __exit__(self, *exc_info: object) -> None:
        for place, name, before in reversed(self._undo):
            _put_back(place, name, before)
        self._undo.clear()


def _put_back(place: Any, name: str, before: Any) -> None:
    if isinstance(place, dict):
        if before is _MISSING:
            del place[name]
        else:
            place[name] = before
    elif before is _MISSING:
        delattr(place, name)
    else:
        setattr(place, name, before)


def _proxies(values: Any) -> Iterator[Proxy]:
    if isinstance(values, Proxy):
        yield values
    elif isinstance(values, (list, tuple)):
        for value in values:
            yield from _proxies(value)
    elif isinstance(values, dict):
        yield from _proxies(list(values.values()))
    elif isinstance(values, slice):
        yield from _proxies([values.start, values.stop, values.step])


def _create_wrapped_func(orig_fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is a step of the graph where it is given a proxy."""

    @functools.wraps(orig_fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = next(_proxies([args, kwargs]), None)
        if proxy is None:
            return orig_fn(*args, **kwargs)
        result = proxy.tracer.create_proxy("call_function", orig_fn, args, kwargs)
        result.node.meta["is_wrapped"] = True
        return result

    return wrapped


def _create_wrapped_method(cls: type, name: str) -> Callable[..., Any]:
    """A method that is a step of the graph where it is given a proxy."""
    orig_fn = getattr(cls, name)

    @functools.wraps(orig_fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = next(_proxies([args, kwargs]), None)
        if proxy is None:
            return orig_fn(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return wrapped


def patch_wrapped(patcher: Patcher) -> None:
    """Replace all that was given to `wrap`."""
    for (_, name), space in wrapped_functions.copy().items():
        original = space[name] if name in space else getattr(builtins, name, None)
        if original is None:
            continue  # a name that was wrapped before it exists, and still does not
        patcher.patch(space, name, _create_wrapped_func(original))
    for cls, name in wrapped_methods:
        patcher.patch_method(cls, name, _create_wrapped_method(cls, name))


def patch_listed(patcher: Patcher, space: dict[str, Any], ids: set[int]) -> None:
    """Replace what globals hold of functions that a tracer was told to keep as steps; once for each globals."""
    if patcher.visit_once(space):
        for name, value in list(space.items()):
            if not name.startswith("_") and callable(value) and id(value) in ids:
                patcher.patch(space, name, _create_wrapped_func(value))
