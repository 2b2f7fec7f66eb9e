"""Exception types that are not Python's."""

from __future__ import annotations

__all__ = ["LinAlgError", "NoData", "NoElements"]


class _LinAlgError(RuntimeError):
    """A matrix has no inverse or factorization of the kind asked for (``torch.linalg.LinAlgError``)."""


#: PyTorch's class calls itself by the other name, which tracebacks and pickles show.
LinAlgError = _LinAlgError


class NoElements(RuntimeError):
    """The elements of a tensor were asked for that has none: on the meta device there are shapes only."""


class NoData(NoElements, NotImplementedError):
    """The same, where PyTorch says that it is not implemented."""
