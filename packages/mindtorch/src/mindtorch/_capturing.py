"""What the capture of programs (`_dynamo`) and ``torch.compiler`` both know: who is captured now, and who never is."""

from __future__ import annotations

import contextlib
import dis
import sys
import threading
import traceback
import weakref
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

from mt_core.capturing import capturing

__all__ = [
    "branches_here", "compiling", "disable_code_of", "disabled", "disabled_program", "exporting", "is_compiling",
    "is_exporting", "is_library", "is_own", "program_stack", "stance",
]  # fmt: skip

_OWN = frozenset(
    "mindtorch mt_core mt_autograd mt_backend_cpu mt_nn mt_library mt_mindspore mt_backend_gpu mt_backend_ascend "
    "mt_xla torch numpy ml_dtypes".split()
)


class _Exporting(threading.local):
    depth = 0


_exporting = _Exporting()


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """Context manager: the program in this thread runs in order to be captured."""
    capturing.depth += 1
    try:
        yield
    finally:
        capturing.depth -= 1


@contextlib.contextmanager
def exporting() -> Iterator[None]:
    """Context manager: the program in this thread runs in order to be exported."""
    _exporting.depth += 1
    try:
        with compiling():
            yield
    finally:
        _exporting.depth -= 1


def is_exporting() -> bool:
    """Whether this code runs in order to be exported."""
    return _exporting.depth > 0


def is_compiling() -> bool:
    """Whether this code runs in order to be captured as a graph."""
    return capturing.depth > 0


#: Code that is not to be captured; a program that calls it runs as it is.
disabled: weakref.WeakSet[CodeType] = weakref.WeakSet()


def disable_code_of(program: Any) -> None:
    """Keep a program from being captured; one that is not written in Python never is."""
    code = _code_of(program)
    if code is not None:
        disabled.add(code)


def _code_of(program: Any) -> CodeType | None:
    """The code that a program begins with; None of what is not written in Python."""
    program = getattr(program, "forward", program)
    return getattr(getattr(program, "__func__", program), "__code__", None)


def disabled_program(program: Any) -> bool:
    """Whether a program is not to be captured."""
    return bool(disabled) and _code_of(program) in disabled


class _Stance:
    """What ``torch.compiler.set_stance`` says."""

    name = "default"


stance = _Stance()


def is_library(module: str | None) -> bool:
    """Whether a module is mindtorch's own or Python's, whose globals are not part of a program."""
    top = (module or "").partition(".")[0]
    return top in _OWN or top in sys.stdlib_module_names and top != "__main__"


def is_own(module: str) -> bool:
    """Whether a module is mindtorch's own, or NumPy's."""
    return module.partition(".")[0] in _OWN


def _program_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and is_library(frame.f_globals.get("__name__")):
        frame = frame.f_back
    return frame


def branches_here() -> bool:
    """Whether the program's innermost frame is at an instruction that branches: `if`, `while`, `and`, `not`.

    ``bool(x)`` is none, its result may be an output; nor is `assert`, whose failure is no other way on.
    """
    frame = _program_frame()
    if frame is None:
        return False
    names = [step.opname for step in dis.get_instructions(frame.f_code) if step.offset >= frame.f_lasti][:3]
    decides = "JUMP" in names[0] or names[0] in ("UNARY_NOT", "TO_BOOL")
    return decides and "LOAD_ASSERTION_ERROR" not in names


def program_stack() -> str:
    """The innermost frame of the program, as a traceback shows it."""
    frame = _program_frame()
    if frame is None:
        return ""
    return "".join(traceback.format_list(traceback.extract_stack(frame, limit=1))).rstrip()
