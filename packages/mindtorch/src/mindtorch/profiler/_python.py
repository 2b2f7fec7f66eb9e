"""Python functions as events, by ``sys.setprofile``: those of the program, not of the packages that carry it out."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

from mt_nn.modules.module import Module

from ._session import PYTHON, Event, Session

__all__ = ["PythonTracer"]

#: Whose functions carry programs out.
_OURS = ("mindtorch", "mt_core", "mt_autograd", "mt_nn", "mt_library", "mt_backend_cpu", "mt_distributed", "numpy")
_MODULE_CALL = Module._wrapped_call_impl.__code__


def _folders() -> tuple[str, ...]:
    found = [find_spec(name) for name in _OURS]
    return tuple(str(Path(spec.origin).parent) + "/" for spec in found if spec is not None and spec.origin is not None)


class PythonTracer:
    """Writes calls of a thread down for a session, from `start` to `stop`.

    Calls of the house's own functions are left out, but for those of modules (``nn.Module: Linear_0``); what a program
    had set by ``sys.setprofile`` is put back.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._hidden = _folders()
        self._open: list[tuple[Any, Event]] = []
        self._before: Any = None

    def start(self) -> None:
        """Events for the functions that the thread is in, and for those that it calls."""
        frames = []
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            frames.append(frame)
            frame = frame.f_back
        for frame in reversed(frames):
            self._enter(frame)
        self._before = sys.getprofile()
        sys.setprofile(self._follow)

    def stop(self) -> None:
        """Follow no longer."""
        sys.setprofile(self._before)
        while self._open:
            self._session.close(self._open.pop()[1])

    def _follow(self, frame: FrameType, what: str, argument: Any) -> None:
        if what == "call":
            self._enter(frame)
        elif what == "return":
            self._leave(frame)
        elif what == "c_call":
            if not self._is_hidden(frame):
                self._open.append((argument, self._session.open(_builtin(argument), PYTHON)))
        elif self._open and self._open[-1][0] is argument:  # c_return, c_exception
            self._session.close(self._open.pop()[1])

    def _enter(self, frame: FrameType) -> None:
        code = frame.f_code
        if code is _MODULE_CALL:
            name = self._module(frame.f_locals["self"])
        elif self._is_hidden(frame):
            return
        else:
            name = f"{_shortened(code.co_filename)}({code.co_firstlineno}): {code.co_name}"
        self._open.append((frame, self._session.open(name, PYTHON)))

    def _leave(self, frame: FrameType) -> None:
        if any(entered is frame for entered, _ in self._open):
            while True:
                entered, event = self._open.pop()
                self._session.close(event)
                if entered is frame:
                    return

    def _is_hidden(self, frame: FrameType | None) -> bool:
        """Whether a function is one of the house, or of code that one of these has made."""
        while frame is not None:
            name = frame.f_code.co_filename
            if not name.startswith("<"):
                return name.startswith(self._hidden)
            frame = frame.f_back
        return False

    def _module(self, module: Any) -> str:
        kind = type(module).__name__
        known = self._session.modules.setdefault(kind, [])
        number = next((i for i, other in enumerate(known) if other is module), len(known))
        if number == len(known):
            known.append(module)
        return f"nn.Module: {kind}_{number}"


def _builtin(function: Any) -> str:
    """What a trace calls a function that is not written in Python, without the address of what it belongs to."""
    owner = getattr(function, "__self__", None)
    if owner is None or type(owner).__name__ == "module":
        return f"<built-in function {function.__name__}>"
    return f"<built-in method {function.__name__} of {type(owner).__name__} object at {id(owner):#x}>"


def _shortened(path: str) -> str:
    """A path below the folder of ``sys.path`` that it is found in."""
    inside = [folder for folder in sys.path if folder and path.startswith(folder.rstrip("/") + "/")]
    return path[len(max(inside, key=len).rstrip("/")) + 1 :] if inside else path
