"""The errors of ``torch.distributed``."""

from __future__ import annotations

__all__ = ["DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "QueueEmptyError"]


class DistError(RuntimeError):
    """Anything that goes wrong between processes."""


class DistBackendError(DistError):
    """A collective failed: a rank died, left, or did not come in time."""


class DistNetworkError(DistError):
    """A connection could not be made, or broke."""


class DistStoreError(DistError):
    """A store did not have in time what was asked of it."""


class QueueEmptyError(DistStoreError):
    """Nothing is in the queue of a store."""


for _error in (DistError, DistBackendError, DistNetworkError, DistStoreError, QueueEmptyError):
    _error.__module__ = "torch.distributed"  # what programs print and pickles name
