"""``torch.utils._traceback``: where a program is, kept now and written out later."""

from __future__ import annotations

import contextlib
import hashlib
import linecache
import os
import sys
import traceback
from collections.abc import Sequence
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any

__all__ = [
    "CapturedTraceback",
    "format_frame",
    "format_traceback_short",
    "report_compile_source_on_error",
    "shorten_filename",
]


class CapturedTraceback:
    """The calls that led to a place, outermost first; their lines are read when they are asked for.

    Attributes
    ----------
    tb : list of (code, line) or None
        None after `cleanup`, and in copies that a pickle made: code does not travel.
    skip : int
        How many of the innermost calls are left out.
    """

    __slots__ = ("tb", "skip", "_summary")

    def __init__(self, tb: list[tuple[CodeType, int]] | None, skip: int = 0) -> None:
        self.tb = tb
        self.skip = skip
        self._summary: traceback.StackSummary | None = None

    @staticmethod
    def extract(*, script: bool = False, cpp: bool = False, skip: int = 0) -> CapturedTraceback:
        """The calls that led here; `skip` innermost ones are left out.

        Raises
        ------
        NotImplementedError
            For `script` and `cpp`: there are no frames of TorchScript or C++.
        """
        if script or cpp:
            raise NotImplementedError(
                "frames of TorchScript and C++ (script=True, cpp=True) are not supported by mindtorch"
            )
        frame: FrameType | None = sys._getframe(1)
        found = []
        while frame is not None:
            found.append((frame.f_code, frame.f_lineno))
            frame = frame.f_back
        return CapturedTraceback(found[::-1], skip)

    def summary(self) -> traceback.StackSummary:
        """The calls as `traceback` shows them; none after `cleanup`."""
        if self.tb is None:
            return traceback.StackSummary()
        if self._summary is None:
            kept = self.tb[: len(self.tb) - self.skip]
            self._summary = traceback.StackSummary.from_list(
                [(code.co_filename, line, code.co_name, None) for code, line in kept]
            )
        return self._summary

    def format(self) -> list[str]:
        """The calls as lines of text, as in `traceback.format_list`."""
        return traceback.format_list(self.summary())

    @staticmethod
    def format_all(tbs: Sequence[CapturedTraceback]) -> list[list[str]]:
        """`format` of each."""
        return [tb.format() for tb in tbs]

    def cleanup(self) -> None:
        """Let go of the calls."""
        self.tb = self._summary = None

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        return None, {"tb": None, "skip": self.skip}

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        self.__init__(**state[1])  # type: ignore[misc]


def shorten_filename(fn: str, *, base: str | None = None) -> str:
    """A path without what it has in common with the folder `base`, by default mindtorch's own."""
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) if base is None else base
    try:
        common = os.path.commonpath([home, fn])
    except ValueError:  # one is relative, or they are on two drives
        return fn
    return fn[len(common) :].lstrip(os.sep)


def format_frame(frame: traceback.FrameSummary, *, base: str | None = None, line: bool = False) -> str:
    """``file:line in function``, and with `line` the line of the program before it."""
    before = f"{frame.line}  # " if line else ""
    return f"{before}{shorten_filename(frame.filename, base=base)}:{frame.lineno} in {frame.name}"


def format_traceback_short(tb: TracebackType | None) -> str:
    """`format_frame` of the innermost call of a traceback."""
    return format_frame(traceback.extract_tb(tb)[-1])


class report_compile_source_on_error(contextlib.ContextDecorator):
    """Context manager: the lines of generated programs show in the tracebacks of errors that are raised inside.

    A program is generated, for this, when it was run by `exec` and its globals hold its text as ``__compile_source__``.
    """

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if isinstance(error, Exception):
            raise error.with_traceback(_with_sources(tb))


def _with_sources(tb: TracebackType | None) -> TracebackType | None:
    entries = []
    while tb is not None:
        entries.append(tb)
        tb = tb.tb_next
    rebuilt: TracebackType | None = None
    for entry in reversed(entries):
        frame, instruction = entry.tb_frame, entry.tb_lasti
        source = frame.f_globals.get("__compile_source__")
        if frame.f_code.co_filename == "<string>" and isinstance(source, str):
            frame, instruction = _frame_of(_file_of(source), frame.f_code.co_name), -1  # it is no place in that code
        rebuilt = TracebackType(rebuilt, frame, instruction, entry.tb_lineno)
    return rebuilt


def _file_of(source: str) -> str:
    """The name under which `linecache` finds a text, which is in no file."""
    name = f"<generated {hashlib.sha256(source.encode()).hexdigest()[:12]}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    return name


def _here() -> FrameType:
    return sys._getframe()


def _frame_of(filename: str, name: str) -> FrameType:
    """A frame of a function of any name in any file, since a traceback takes only true frames."""
    code = _here.__code__.replace(co_filename=filename, co_name=name)
    return FunctionType(code, {"sys": sys})()  # type: ignore[no-any-return]
