"""``torch.jit._state``: whether TorchScript is on, and the classes that were compiled, of which there are none."""

from __future__ import annotations

import os
from typing import Any

__all__: list[str] = []

#: Python class -> the class of TorchScript.
_script_classes: dict[type, Any] = {}


class EnabledProxy:
    """Whether `script` makes something of what it is given: not with the environment variable ``PYTORCH_JIT=0``."""

    def __init__(self) -> None:
        self.enabled = os.environ.get("PYTORCH_JIT", "1") != "0"

    def __bool__(self) -> bool:
        return self.enabled


_enabled = EnabledProxy()


def disable() -> None:
    """Have `script` return what it is given."""
    _enabled.enabled = False


def enable() -> None:
    """Have `script` make scripted modules and functions."""
    _enabled.enabled = True


def _clear_class_state() -> None:
    """Forget the classes that were compiled."""
    _script_classes.clear()
