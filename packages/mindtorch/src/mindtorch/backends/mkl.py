"""``torch.backends.mkl``: mindtorch does not call MKL itself. NumPy may, as ``mindtorch doctor`` tells."""

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether mindtorch's kernels use it."""
    return False
