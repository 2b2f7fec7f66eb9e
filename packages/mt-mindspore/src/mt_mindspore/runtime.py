"""Whether MindSpore can be used in this interpreter, and if not, why."""

from __future__ import annotations

import functools
import importlib
import os
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any

from mt_core.plugins.discovery import PluginError

__all__ = ["require_mindspore", "start", "why_unavailable"]

_INSTALL = "pip install mindspore 'numpy<2' (there are builds for Python 3.10 to 3.12)"


def why_unavailable() -> str | None:
    """What keeps MindSpore from being used, with the remedy; None when nothing is known to. Imports nothing."""
    try:
        version("mindspore")
    except PackageNotFoundError:
        return f"MindSpore is not installed. {_INSTALL}"
    if int(version("numpy").split(".")[0]) >= 2:
        return f"MindSpore needs NumPy 1, and NumPy {version('numpy')} is installed. pip install 'numpy<2'"
    return None


def require_mindspore() -> ModuleType:
    """Import MindSpore.

    Raises
    ------
    PluginError
        When it is missing, unusable, or fails to import; with the cause and the remedy.
    """
    reason = why_unavailable()
    if reason is not None:
        raise PluginError(reason)
    try:
        return importlib.import_module("mindspore")
    except (ImportError, OSError, RuntimeError) as error:  # its libraries, or those of the device, do not load
        raise PluginError(f"MindSpore {version('mindspore')} fails to import: {error}") from error


@functools.cache
def start(target: str) -> Any:
    """Import MindSpore and choose its device target, for the whole process.

    On the CPU every operator is waited for, and on Ascend where ``ASCEND_LAUNCH_BLOCKING`` is set: an error is
    otherwise raised by whatever waits next.

    Raises
    ------
    PluginError
        When MindSpore or the target cannot be used; with the cause.
    """
    mindspore = require_mindspore()
    mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
    try:
        mindspore.set_device(target)
    except (RuntimeError, ValueError) as error:
        raise PluginError(f"MindSpore {mindspore.__version__} has no device target {target}: {error}") from error
    if target == "CPU" or os.environ.get("ASCEND_LAUNCH_BLOCKING", "0") not in ("", "0"):
        mindspore.runtime.launch_blocking()  # before the first operator: afterwards it is too late
    return mindspore
