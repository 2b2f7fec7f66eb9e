"""Methods named after device types: ``Tensor.foo()``, ``Tensor.is_foo``, ``Module.foo()`` for a device type ``foo``.

A class that has such methods offers an installer (`offer`), wherever it is defined; `generate` asks for the methods of
a device type. Types of installed backends get them on every class by themselves (`generate_for_backends`), also on
classes that are defined later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .devices import device as Device
from .plugins import discovery
from .plugins.runtime_access import current_index, runtime_of

__all__ = ["generate", "generate_for_backends", "install", "moved_to", "offer", "on_device"]

Installer = Callable[[str, bool, list[Any]], None]

#: Kind of class ("tensor", "module", ...) -> what gives the classes of that kind the methods of a device type.
_installers: dict[str, list[Installer]] = {}
#: (device type, kind, dtypes) that were asked for.
_asked: list[tuple[str, str, list[Any]]] = []
#: Types of backends, whose methods classes get without being asked.
_automatic: list[str] = []
#: Device types whose methods are written in the classes.
_WRITTEN = frozenset(("cpu", "cuda", "meta", "xpu", "mps", "mtia"))


def offer(kind: str, installer: Installer) -> None:
    """Enter what gives a class its methods.

    Parameters
    ----------
    kind : {"tensor", "module", "packed sequence", "storage"}
        Under which name `generate` asks for it.
    installer
        Called with a device type, whether an attribute of that name is an error, and the dtypes that the device type's
        storages do not take.
    """
    _installers.setdefault(kind, []).append(installer)
    for name in _automatic:
        installer(name, False, [])
    for name, asked, unsupported in _asked:
        if asked == kind:
            installer(name, True, unsupported)


def generate(name: str, kind: str, unsupported: list[Any]) -> None:
    """Give the classes of a kind the methods of a device type, those that are not defined yet when they are.

    Raises
    ------
    RuntimeError
        When a class has an attribute of that name, other than by `generate_for_backends`.
    """
    for installer in _installers.get(kind, []):
        installer(name, True, unsupported)
    _asked.append((name, kind, unsupported))


def generate_for_backends() -> None:
    """Give all classes the methods of every device type that has a backend, and none in PyTorch."""
    for name in sorted(set(discovery.backend_entry_points()) - _WRITTEN - set(_automatic)):
        _automatic.append(name)
        for installers in list(_installers.values()):
            for installer in installers:
                installer(name, False, [])


def install(cls: type, name: str, value: Any, strict: bool) -> None:
    """Make a member of a class.

    Raises
    ------
    RuntimeError
        In PyTorch's words, when the class has one of that name; where not `strict`, that one stays.
    """
    present = hasattr(cls, name)
    if present and strict and not getattr(getattr(cls, name), "automatic", False):
        raise RuntimeError(f"The custom device module of {cls} has already been registered with {name}")
    if not present or strict:
        setattr(cls, name, value if strict else _marked(value))


class _AutomaticProperty(property):
    automatic = True


def _marked(value: Any) -> Any:
    """A member that a program may ask to be made once more."""
    if isinstance(value, property):
        return _AutomaticProperty(value.fget, doc=value.__doc__)
    value.automatic = True
    return value


def moved_to(name: str, wanted: Any) -> Device:
    """The device that ``x.foo(wanted)`` moves to: an index or a device of type `name`; None is the current one.

    Raises
    ------
    RuntimeError
        For a device of another type.
    """
    if wanted is None:
        return Device(name, current_index(name)) if runtime_of(name) is not None else Device(name)
    if isinstance(wanted, int):
        return Device(name, wanted)
    where = Device(wanted)
    if where.type != name:
        raise RuntimeError(f"Invalid device, must be {name} device")
    return where


def on_device(name: str) -> property:
    """The property ``is_foo`` of what has a `device`."""

    def is_on_device(self: Any) -> bool:
        return bool(self.device.type == name)

    return property(is_on_device, doc=f"Whether it is on a device of type '{name}'.")


def tensor_method(name: str) -> Callable[..., Any]:
    """The method ``Tensor.foo``."""

    def to_device(self: Any, device: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        return self.to(device=moved_to(name, device), non_blocking=non_blocking, **kwargs)

    to_device.__name__ = name
    to_device.__qualname__ = f"Tensor.{name}"
    to_device.__doc__ = f"The tensor on a device of type '{name}', by default the current one; itself if it is there."
    return to_device
