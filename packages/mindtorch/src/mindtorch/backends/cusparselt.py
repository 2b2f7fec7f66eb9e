"""``torch.backends.cusparselt``: cuSPARSELt is not used."""

from __future__ import annotations

__all__ = ["get_max_alg_id", "is_available", "version"]


def is_available() -> bool:
    """Whether mindtorch's kernels use it."""
    return False


def version() -> int | None:
    """None: it is not there."""
    return None


def get_max_alg_id() -> int | None:
    """None: it is not there."""
    return None
