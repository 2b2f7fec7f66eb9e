"""``torch.__config__``: what this torch was made of."""

from __future__ import annotations

import os
import platform

from ._threads import get_num_interop_threads, get_num_threads
from .doctor import versions

__all__ = ["parallel_info", "show"]


def show() -> str:
    """Versions of Python, NumPy and every distribution of mindtorch: there is no build of C++."""
    lines = [f"  - {name}: {version}" for name, version in versions().items()]
    return "\n".join(["mindtorch runs on:", *lines, ""])


def _cxx_flags() -> str:
    """With what PyTorch's C++ was compiled: nothing was."""
    return ""


def parallel_info() -> str:
    """How many threads there are."""
    variables = [f"\t{name} : {os.environ.get(name, '[not set]')}" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")]
    lines = [
        "ATen/Parallel:",
        f"\tat::get_num_threads() : {get_num_threads()}",
        f"\tat::get_num_interop_threads() : {get_num_interop_threads()}",
        f"hardware threads : {os.cpu_count()} ({platform.machine()})",
        "Environment variables:",
        *variables,
    ]
    return "\n".join(lines) + "\n"
