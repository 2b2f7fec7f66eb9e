"""``torch.backends.mps``: whether a backend serves Metal devices."""

from mt_core.plugins.runtime_access import count_devices

__all__ = ["is_available", "is_built", "is_macos13_or_newer", "is_macos_or_newer"]


def is_built() -> bool:
    """Whether there is a backend with Metal kernels that sees a device."""
    return count_devices("mps") > 0


def is_available() -> bool:
    """Whether a Metal device can be used."""
    return count_devices("mps") > 0


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether Metal runs on this version of macOS or a newer one."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Whether Metal runs on macOS 13 or newer."""
    return False
