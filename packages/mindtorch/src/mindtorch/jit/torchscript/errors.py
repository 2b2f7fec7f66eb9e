"""Errors of running code, as PyTorch's interpreter tells them."""

from __future__ import annotations

import traceback
from typing import Any

from .._script import Error
from .sources import plain_name

__all__ = ["RaisedException", "explained"]

_HEAD = "The following operation failed in the TorchScript interpreter.\n"


class RaisedException(Exception):
    """What ``raise`` of a program raised: its message, and the full name of its class, where the code has it."""

    def __init__(self, message: str, cls: str | None) -> None:
        super().__init__(message)
        self.cls = cls


def explained(error: Exception, lines: dict[str, list[str]]) -> Exception:
    """The error of a call, with the lines of the archive that it went through.

    Parameters
    ----------
    lines
        Record -> its lines.
    """
    places = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith("torchscript:")]
    text = "".join(_place(frame, lines) for frame in places)
    head = f"{_HEAD}Traceback of TorchScript, serialized code (most recent call last):\n{text}"
    if isinstance(error, RaisedException):
        return Error(f"{head}\n{error.cls or 'RuntimeError'}: {error}\n")
    kind = type(error) if type(error) is NotImplementedError else RuntimeError
    plain = isinstance(error, (RuntimeError, IndexError, ValueError, TypeError))
    told = str(error) if plain else f"{type(error).__name__}: {error}"
    return kind(f"{head}\nRuntimeError: {told}\n")


def _place(frame: Any, lines: dict[str, list[str]]) -> str:
    record = frame.filename.partition(":")[2]
    number = frame.lineno or 1
    known = lines.get(record, [])
    line = plain_name(known[number - 1]) if 0 < number <= len(known) else ""
    mark = " " * (len(line) - len(line.lstrip())) + "~" * len(line.strip())
    return f'  File "{record}", line {number}\n{line}\n{mark} <--- HERE\n'
