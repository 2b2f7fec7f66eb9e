"""What the modules of device types share that mindtorch cannot use: questions are answered, work is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from mt_core.plugins import discovery
from mt_core.plugins.discovery import PluginError

__all__ = ["count_devices", "dummy_class", "refusing"]


def count_devices(device_type: str) -> int:
    """How many devices of a type can be used: none unless a backend for it is installed, loads, and sees some."""
    if device_type not in discovery.backend_entry_points():
        return 0
    try:
        return discovery.find_backend(device_type).device_count()
    except PluginError:  # its distribution and the cause were told by a warning when it failed to load
        return 0


def refusing(error: type[Exception], message: str) -> Callable[[str], Callable[..., NoReturn]]:
    """A maker of functions that need a device: ``synchronize = needs_device("synchronize")``.

    Each raises the error whatever it is given; ``{name}`` in the message becomes its name.
    """

    def needs_device(name: str) -> Callable[..., NoReturn]:
        def function(*args: Any, **kwargs: Any) -> NoReturn:
            raise error(message.replace("{name}", name))

        function.__name__ = function.__qualname__ = name
        function.__doc__ = f"Needs a device: raises {error.__name__}."
        return function

    return needs_device


def dummy_class(name: str) -> type:
    """A class for ``isinstance`` and annotations of which no instance can be made, in PyTorch's words."""

    def __new__(cls: type, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"Tried to instantiate dummy base class {name}")

    return type(name, (), {"__new__": __new__, "__doc__": "There are no instances, for want of a device."})
