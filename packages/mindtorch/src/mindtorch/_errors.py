"""Exceptions that PyTorch has at the top level."""

__all__ = ["AcceleratorError", "OutOfMemoryError"]


class OutOfMemoryError(RuntimeError):
    """A device has no memory left for a tensor."""


class AcceleratorError(RuntimeError):
    """A device reported an error."""
