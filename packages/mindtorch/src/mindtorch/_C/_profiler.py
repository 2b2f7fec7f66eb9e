"""``torch._C._profiler``: where in a program something happened."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable
from typing import Any

__all__ = ["CapturedTraceback", "gather_traceback", "symbolize_tracebacks"]


class CapturedTraceback:
    """The frames of a program at a moment, the innermost first; text is read when it is asked for."""

    def __init__(self, frames: list[tuple[Any, int]]) -> None:
        self._frames = frames


def gather_traceback(python: bool = True, script: bool = True, cpp: bool = True) -> CapturedTraceback:
    """Where the program is.

    Parameters
    ----------
    python
        Whether frames of Python are kept; of C++ and TorchScript there are none.
    """
    frames: list[tuple[Any, int]] = []
    if python:
        frames = [(frame.f_code, line) for frame, line in traceback.walk_stack(sys._getframe(1))]
    return CapturedTraceback(frames)


def symbolize_tracebacks(to_symbolize: Iterable[CapturedTraceback]) -> list[list[dict[str, Any]]]:
    """For each traceback its frames, each a dictionary of ``name``, ``filename`` and ``line``."""
    return [
        [{"name": code.co_name, "filename": code.co_filename, "line": line} for code, line in captured._frames]
        for captured in to_symbolize
    ]


def __getattr__(name: str) -> Any:
    if name in ("ProfilerActivity", "_ExperimentalConfig"):
        import mindtorch.profiler.autograd_profiler as profiler  # lazy: few programs are profiled

        return getattr(profiler, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
