"""A backend that can only say why its device cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from .contract import members
from .errors import PluginError
from .protocols import Backend

__all__ = ["NoArray", "UnavailableBackend"]

_MEMBERS = frozenset(members(Backend))


class NoArray:
    """The array type of a backend without arrays; there are no instances."""

    def __init__(self) -> None:
        raise TypeError("a backend that is unavailable has no arrays")


class UnavailableBackend:
    """Follows `Backend` for a device that cannot be used, for as long as what it needs is missing.

    It reports no devices, tells `mindtorch doctor` the reason and the remedy, and raises both, as a `PluginError`,
    from whatever would need memory or a kernel.

    Parameters
    ----------
    contract
        The contract version that the backend's author wrote against.
    device_type
        The device type that it stands for.
    reason, remedy
        Sentences without their full stop: what is missing, and what to do about it.
    """

    array_type = NoArray

    def __init__(self, contract: int, device_type: str, reason: str, remedy: str) -> None:
        self.contract = contract
        self.device_type = device_type
        self.reason = reason
        self.remedy = remedy

    def __repr__(self) -> str:
        return f"UnavailableBackend({self.device_type!r}: {self.reason})"

    def device_count(self) -> int:
        """No device can be used."""
        return 0

    def diagnose(self) -> list[tuple[str, str]]:
        """The reason and the remedy."""
        return [("devices", f"none: {self.reason}"), ("remedy", self.remedy)]

    def _refuse(self, *arguments: object, **options: object) -> NoReturn:
        """Raise the reason and the remedy.

        Raises
        ------
        PluginError
            Always.
        """
        raise PluginError(f"device '{self.device_type}' cannot be used: {self.reason}. {self.remedy}")

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        """Whatever else the contract names of a backend: to refuse it."""
        if name in _MEMBERS:
            return self._refuse
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
