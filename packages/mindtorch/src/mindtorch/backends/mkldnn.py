"""``torch.backends.mkldnn``: oneDNN is absent; its preferences can be set and have no effect."""

__all__ = ["is_available"]

enabled = True
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Whether mindtorch's kernels use it."""
    return False
