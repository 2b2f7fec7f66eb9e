"""Exceptions that PyTorch has at the top level."""

from mt_core.plugins.runtime_access import OutOfMemoryError as OutOfMemoryError

__all__ = ["AcceleratorError", "OutOfMemoryError"]


class AcceleratorError(RuntimeError):
    """A device reported an error."""
