"""When layers and extensions of other distributions take effect: at the end of ``import mindtorch``.

In the process of the command ``mindtorch`` the command decides: ``run`` puts them into effect once ``torch`` means
mindtorch, and ``doctor`` never does, so that none of them can keep it from telling which one is broken.
"""

from __future__ import annotations

import os
import sys

from mt_core.plugins.activation import activate

from .stand_in import DIRECTORY

__all__ = ["activate_unless_command", "is_command"]


def activate_unless_command() -> None:
    """Put plugins into effect, unless this process is the command's."""
    if not is_command():
        _take_place_of_stand_in()
        activate()


def is_command() -> bool:
    """Whether this process was started as ``mindtorch ...`` or ``python -m mindtorch ...``."""
    program, *arguments = getattr(sys, "argv", None) or [""]
    if program == "-m":  # while the interpreter looks for the module, and imports the packages above it
        module = sys.orig_argv[-len(arguments) - 1]
        return module in ("mindtorch", "-mmindtorch")
    return os.path.splitext(os.path.basename(program))[0] in ("mindtorch", "mindtorch-script")


def _take_place_of_stand_in() -> None:
    """Where ``import torch`` has led here, let it lead to mindtorch from now on: an extension may say it too."""
    origin = getattr(sys.modules.get("torch"), "__file__", None) or ""
    if origin.startswith(str(DIRECTORY)):
        sys.modules["torch"] = sys.modules["mindtorch"]
