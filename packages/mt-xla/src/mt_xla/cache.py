"""Compiled programs on disk, kept by jax: a process finds what another one has compiled."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from pathlib import Path

import jax

__all__ = ["folder", "keep_programs"]


def folder() -> Path:
    """Where compiled programs are kept: below ``MINDTORCH_CACHE_DIR``, or the platform's folder for caches.

    Machines that share a folder and have other processors do not share programs.
    """
    named = os.environ.get("MINDTORCH_CACHE_DIR")
    if named:
        base = Path(named)
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "mindtorch"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mindtorch"
    return base / "xla" / hashlib.sha256(_processor().encode()).hexdigest()[:16]


def _processor() -> str:
    """What tells the instructions of this machine's processor from others'."""
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text(errors="replace").splitlines() if facts.exists() else []
    names = ("flags", "Features", "model name")
    return "\n".join(dict.fromkeys(line for line in lines if line.startswith(names))) or platform.processor()


def keep_programs() -> None:
    """Have jax keep what it compiles from now on, unless it was told where, or not to (`jax.config`).

    An entry is found by the program's text, the options and the versions of jax and XLA.
    """
    if jax.config.jax_compilation_cache_dir is None and jax.config.jax_enable_compilation_cache:
        jax.config.update("jax_compilation_cache_dir", str(folder()))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
