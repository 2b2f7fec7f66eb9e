"""``torch.backends.kleidiai``: KleidiAI is not used."""

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether mindtorch's kernels use it."""
    return False
