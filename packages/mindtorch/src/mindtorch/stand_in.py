"""Making ``import torch`` mean mindtorch.

A folder that holds a package `torch` and its metadata goes first on the path, in this process and through
``PYTHONPATH`` in those that it starts, so that the workers of a data loader and scripts run by a script see it too.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

__all__ = ["DIRECTORY", "install_as_torch", "is_torch_free"]

#: Holds ``torch/`` and ``torch-2.13.0+mindtorch.dist-info/``, which answers ``importlib.metadata.version("torch")``.
DIRECTORY = Path(__file__).parent / "_stand_in"
#: Holds ``torchrun``; first on ``PATH`` where mindtorch stands in for PyTorch, and nowhere else.
COMMANDS = DIRECTORY / "bin"


def install_as_torch() -> None:
    """Make ``import torch`` mean mindtorch from now on, in this process and in those it starts.

    Raises
    ------
    RuntimeError
        If PyTorch was imported before: two libraries of one name in a process would exchange tensors they cannot read.
    """
    own = sys.modules[__package__]
    present = sys.modules.get("torch")
    if present is not None and present is not own:
        raise RuntimeError(
            f"PyTorch is already imported in this process, from {getattr(present, '__file__', None)}. "
            "Call mindtorch.install_as_torch() before anything imports torch, or start the program by `mindtorch run`."
        )
    sys.path[:] = [str(DIRECTORY), *(entry for entry in sys.path if entry != str(DIRECTORY))]
    os.environ["PYTHONPATH"] = with_directory(os.environ.get("PYTHONPATH", ""))
    os.environ["MINDTORCH_PYTHON"] = sys.executable
    commands = [entry for entry in os.environ.get("PATH", "").split(os.pathsep) if entry and entry != str(COMMANDS)]
    os.environ["PATH"] = os.pathsep.join([str(COMMANDS), *commands])
    sys.modules["torch"] = own
    own.__name__ = "torch"
    from . import _naming  # lazy: programs that import mindtorch by its own name see its own names

    _naming.install()


def is_torch_free() -> bool:
    """Whether ``torch`` means nothing else here: PyTorch is neither imported nor installed, the name not withheld."""
    present = sys.modules.get("torch")
    if present is not None:
        return present is sys.modules[__package__]
    try:
        spec = importlib.util.find_spec("torch")
    except ImportError:  # a finder of the program's own forbids the name
        return False
    return spec is None or (spec.origin or "").startswith(str(DIRECTORY))


def with_directory(python_path: str) -> str:
    """A value of ``PYTHONPATH`` with the stand-in's folder first."""
    entries = [entry for entry in python_path.split(os.pathsep) if entry and entry != str(DIRECTORY)]
    return os.pathsep.join([str(DIRECTORY), *entries])
