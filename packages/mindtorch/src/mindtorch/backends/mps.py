"""``torch.backends.mps``: mindtorch serves no Metal device."""

__all__ = ["is_available", "is_built", "is_macos13_or_newer", "is_macos_or_newer"]


def is_built() -> bool:
    """Whether mindtorch holds Metal kernels."""
    return False


def is_available() -> bool:
    """Whether a Metal device can be used."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether Metal runs on this version of macOS or a newer one."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Whether Metal runs on macOS 13 or newer."""
    return False
