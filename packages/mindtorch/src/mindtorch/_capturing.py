"""What the capture of programs (`_dynamo`) and ``torch.compiler`` both know: who is captured now, and who never is."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterator
from types import CodeType
from typing import Any

__all__ = ["compiling", "disable_code_of", "disabled", "disabled_program", "is_compiling", "stance"]


class _Capturing(threading.local):
    depth = 0


_capturing = _Capturing()


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """Context manager: the program in this thread runs in order to be captured."""
    _capturing.depth += 1
    try:
        yield
    finally:
        _capturing.depth -= 1


def is_compiling() -> bool:
    """Whether this code runs in order to be captured as a graph."""
    return _capturing.depth > 0


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
