"""``torch.backends.opt_einsum``: products of many tensors are taken from left to right, without that package."""

__all__ = ["is_available"]

enabled = False
strategy = None


def is_available() -> bool:
    """Whether the order of products is optimized."""
    return False
