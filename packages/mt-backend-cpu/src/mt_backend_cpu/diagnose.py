"""What ``mindtorch doctor`` says about the CPU."""

from __future__ import annotations

import os
import platform
from typing import Any

import numpy as np

from . import native

__all__ = ["lines"]


def blas() -> str:
    """Name and version of the BLAS that NumPy was built with."""
    config: Any = np.show_config(mode="dicts") if hasattr(np, "show_config") else {}
    found = (config or {}).get("Build Dependencies", {}).get("blas", {})
    return f"{found.get('name', 'unknown')} {found.get('version', '')}".strip()


def lines() -> list[tuple[str, str]]:
    """(what, state) pairs."""
    return [
        ("processor", f"{platform.machine()}, {os.cpu_count()} cores"),
        ("NumPy", np.__version__),
        ("BLAS", blas()),
        ("native library", native.state),
    ]
