"""``torch.backends.mha``: a preference for a fused kernel of encoder layers, which mindtorch does not have."""

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

_fastpath_enabled = True


def get_fastpath_enabled() -> bool:
    """Whether the fused kernel may be used, where there is one."""
    return _fastpath_enabled


def set_fastpath_enabled(value: bool) -> None:
    """Set `get_fastpath_enabled`."""
    global _fastpath_enabled
    _fastpath_enabled = value
