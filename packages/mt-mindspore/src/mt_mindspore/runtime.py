"""Whether MindSpore can be used in this interpreter, and if not, why."""

from __future__ import annotations

import importlib
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

from mt_core.plugins.discovery import PluginError

__all__ = ["require_mindspore", "why_unavailable"]

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
