"""Exception types of PyTorch's that are not Python's."""

from __future__ import annotations

__all__ = ["LinAlgError"]


class LinAlgError(RuntimeError):
    """A matrix has no inverse or factorization of the kind asked for (``torch.linalg.LinAlgError``)."""
