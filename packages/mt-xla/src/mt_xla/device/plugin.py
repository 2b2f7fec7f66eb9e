"""The entry point of the device type ``xla``: the backend, or what says why there is none."""

from __future__ import annotations

import importlib.util
from typing import Any

from mt_core.plugins.protocols import CONTRACT
from mt_core.plugins.unavailable import UnavailableBackend

__all__ = ["backend"]


def _made() -> Any:
    if importlib.util.find_spec("jax") is None:
        return UnavailableBackend(CONTRACT, "xla", "jax is not installed", "pip install jax")
    from .backend import XlaBackend  # late: it imports jax

    return XlaBackend()


backend = _made()
