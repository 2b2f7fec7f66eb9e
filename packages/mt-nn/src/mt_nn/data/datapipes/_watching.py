"""What every ``__iter__`` of a stream is wrapped in: one iterator at a time, and errors that name the stream.

A stream may have one iterator: where another begins, the one before is invalid. A pipe is `reset` when an iterator of
it begins, which for generators is when its first element is asked for.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["begin", "refuse_if_stale", "watched"]

_ONE_AT_A_TIME = (
    "\nThis may be caused by multiple references to the same IterDataPipe. We recommend using `.fork()` if that is "
    "necessary.\nFor feedback regarding this single iterator per IterDataPipe constraint, feel free to comment on "
    "this issue: https://github.com/pytorch/data/issues/45."
)


def begin(pipe: Any) -> int:
    """The number of a new iterator, which is the valid one from now on; the pipe is reset."""
    pipe._valid_iterator_id = (pipe._valid_iterator_id or 0) + 1 if pipe._valid_iterator_id is not None else 0
    pipe._number_of_samples_yielded = 0
    pipe.reset()
    return int(pipe._valid_iterator_id)


def refuse_if_stale(pipe: Any, number: int) -> None:
    """Raise where another iterator has begun since."""
    if number != pipe._valid_iterator_id:
        raise RuntimeError(
            "This iterator has been invalidated because another iterator has been created from the same IterDataPipe: "
            f"{described(pipe)}{_ONE_AT_A_TIME}"
        )


def described(pipe: Any) -> str:
    """The class of a pipe with what it was made with."""
    parts = inspect.signature(type(pipe)).parameters
    listed = []
    for name in sorted(parts):
        if name in vars(pipe):
            value = vars(pipe)[name]
            text = repr(value) if isinstance(value, str) else getattr(value, "__name__", None) or str(value)
            listed.append(f"{name}={text if len(text) <= 400 else text[:397] + '...'}")
    return f"{type(pipe).__name__}({', '.join(listed)})"


def watched(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """An ``__iter__`` under both rules."""
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generate(pipe: Any) -> Iterator[Any]:
            number = begin(pipe)
            yield from _Stepped(pipe, function(pipe), number)

        return generate

    @functools.wraps(function)
    def iterate(pipe: Any) -> Any:
        number = begin(pipe)
        return _Stepped(pipe, function(pipe), number)

    return iterate


class _Stepped:
    """An iterator that is asked step by step; it has the other attributes of what it stands for."""

    def __init__(self, pipe: Any, iterator: Any, number: int) -> None:
        self._pipe, self._iterator, self._number = pipe, iterator, number

    def __iter__(self) -> _Stepped:
        return self

    def __next__(self) -> Any:
        refuse_if_stale(self._pipe, self._number)
        try:
            found = next(self._iterator)
        except StopIteration:
            raise
        except Exception as error:
            _name_the_pipe(error, self._pipe)
            raise
        refuse_if_stale(self._pipe, self._number)
        self._pipe._number_of_samples_yielded += 1
        return found

    def __getattr__(self, name: str) -> Any:
        if name in ("_pipe", "_iterator", "_number"):
            raise AttributeError(name)
        return getattr(self._iterator, name)


def _name_the_pipe(error: Exception, pipe: Any) -> None:
    """Add to an error's words which pipe it passed first."""
    text = f"This exception is thrown by __iter__ of {described(pipe)}"
    first = str(error.args[0]) if error.args else ""
    if "thrown by __iter__ of" in first or "single iterator per IterDataPipe constraint" in first:
        return
    error.args = (f"{first}\n{text}" if first else text, *error.args[1:])
