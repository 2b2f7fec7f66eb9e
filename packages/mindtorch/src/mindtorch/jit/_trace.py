"""``torch.jit.trace``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .._unsupported import unsupported_function
from ._script import ScriptModule

__all__ = [
    "TopLevelTracedModule", "TracedModule", "TracerWarning", "TracingCheckError", "is_tracing", "script_if_tracing",
    "trace", "trace_module",
]  # fmt: skip


class TracerWarning(Warning):
    """Warns where the tracer cannot record what a program does, and keeps the value that it saw."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Silence those that the libraries of the house cause, from now on."""
        for package in ("mindtorch", "mt_nn", "mt_core", "mt_autograd", "torch"):
            warnings.filterwarnings("ignore", category=TracerWarning, module=rf"{package}\.(?!jit)")


class TracingCheckError(Exception):
    """Raised where a function traced a second time does something else."""


class TracedModule(ScriptModule):
    """A part of a traced module: its tensors, under their names."""


class TopLevelTracedModule(TracedModule):
    """A traced module."""


trace = unsupported_function("torch.jit.trace", "Run the program as ordinary Python.")
trace_module = unsupported_function("torch.jit.trace_module", "Run the program as ordinary Python.")


def is_tracing() -> bool:
    """Whether this code is being traced by `trace`."""
    return False


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Have a function compiled when it is first called while tracing; it stays Python, and is traced then."""
    return fn
