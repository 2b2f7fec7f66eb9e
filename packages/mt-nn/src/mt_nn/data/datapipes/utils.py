"""What the pipes share: checks of functions, and streams that are closed with what holds them."""

from __future__ import annotations

import fnmatch
import functools
import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = ["StreamWrapper", "check_column", "refuse_what_is_no_function"]


def refuse_what_is_no_function(function: Any) -> None:
    """Raise unless it can be called; warn of a lambda, which workers are not sent."""
    if not callable(function):
        raise TypeError(f"A callable function is expected, but {type(function)} is provided.")
    if inspect.isfunction(function) and function.__name__ == "<lambda>":
        warnings.warn(
            "Lambda function is not supported by pickle, please use regular python function or functools.partial "
            "instead.",
            stacklevel=4,
        )


def check_column(function: Callable[..., Any], column: Any) -> None:
    """Raise where a function cannot take as many arguments as there are columns; functions without a signature pass.

    Raises
    ------
    ValueError
        With PyTorch's words.
    """
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return
    count = len(column) if isinstance(column, list | tuple) else 1
    positional = [p for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    by_name = [p for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    named = function.func if isinstance(function, functools.partial) else function
    name = getattr(named, "__name__", repr(named))
    if by_name:
        raise ValueError(
            f"The function {name} takes {len(by_name)} non-default keyword-only parameters, which is not allowed."
        )
    needed = sum(p.default is p.empty for p in positional)
    if needed > count:
        raise ValueError(f"The function {name} takes {needed} positional parameters, but {count} are required.")
    if any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values()):
        return
    of_any_kind = sum(p.kind is not p.VAR_KEYWORD for p in signature.parameters.values())
    if of_any_kind < count:
        raise ValueError(f"The function {name} takes {of_any_kind} parameters, but {count} are required.")
    if len(positional) < count:
        raise ValueError(
            f"The function {name} takes {len(positional)} positional parameters, but {count} are required."
        )


def files_below(root: str, masks: str | list[str], recursive: bool, abspath: bool) -> Iterator[str]:
    """Paths of files, those of a folder in order; a path of a file is itself."""
    if os.path.isfile(root):
        path = os.path.abspath(root) if abspath else root
        if _fits(os.path.basename(path), masks):
            yield path
        return

    def on_error(error: OSError) -> None:
        warnings.warn(f"{error.filename} : {error.strerror}", stacklevel=2)
        raise error

    for folder, folders, files in os.walk(root, onerror=on_error):
        place = os.path.abspath(folder) if abspath else folder
        yield from (os.path.join(place, name) for name in sorted(files) if _fits(name, masks))
        folders.sort()
        if not recursive:
            return


def _fits(name: str, masks: str | list[str]) -> bool:
    if not masks:
        return True
    return any(fnmatch.fnmatch(name, mask) for mask in ([masks] if isinstance(masks, str) else masks))


class StreamWrapper:
    """A file that is closed when nothing refers to it any more; it has the file's attributes."""

    def __init__(self, file_obj: Any, parent_stream: Any = None, name: str | None = None) -> None:
        self.file_obj = file_obj
        self.name = name
        self.parent_stream = parent_stream
        self.closed = False
        if parent_stream is not None and not isinstance(parent_stream, StreamWrapper):
            raise RuntimeError(f"Parent stream should be StreamWrapper, {type(parent_stream)} was given")

    @classmethod
    def close_streams(cls, v: Any, depth: int = 0) -> None:
        """Close what is a wrapped file in a structure, ten levels deep."""
        if depth > 10:
            return
        if isinstance(v, StreamWrapper):
            v.close()
        elif isinstance(v, dict | list | tuple):
            for part in v.values() if isinstance(v, dict) else v:
                cls.close_streams(part, depth + 1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["file_obj"], name)

    def close(self, *args: Any, **kwargs: Any) -> None:
        """Close the file, once."""
        if not self.closed:
            self.closed = True
            self.file_obj.close(*args, **kwargs)

    def __del__(self) -> None:
        if "file_obj" in self.__dict__ and not self.closed:
            self.close()

    def __iter__(self) -> Iterator[Any]:
        yield from self.file_obj

    def __next__(self) -> Any:
        return next(self.file_obj)

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *dir(self.file_obj)]

    def __repr__(self) -> str:
        return f"StreamWrapper<{self.name if self.name is not None else repr(self.file_obj)}>"

    def __getstate__(self) -> Any:
        return self.file_obj
