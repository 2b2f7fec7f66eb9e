"""Exceptions that PyTorch has at the top level."""

from mt_core.plugins.runtime_access import OutOfMemoryError as OutOfMemoryError

__all__ = ["AcceleratorError", "FatalError", "OutOfMemoryError"]


class AcceleratorError(RuntimeError):
    """A device reported an error."""


class FatalError(Exception):
    """What PyTorch raises where it ends a process in debugging builds; programs name it in ``except``."""
