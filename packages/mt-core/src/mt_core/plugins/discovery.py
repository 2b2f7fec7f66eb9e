"""Finding and loading plugins by their entry points."""

from __future__ import annotations

import functools
import warnings
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from .protocols import CONTRACT

__all__ = ["PluginError", "backend_entry_points", "find_backend", "find_layer", "load_extensions", "register_backend"]


class PluginError(RuntimeError):
    """A plugin is missing, ambiguous, or failed to load; the message names it and the remedy."""


#: Device type -> what to install for it, for the devices that this project serves.
_REMEDIES = {
    "cpu": "pip install mt-backend-cpu",
    "cuda": "pip install mt-backend-gpu",
    "npu": "pip install mt-backend-ascend",
}
_LAYER_REMEDIES = {"autograd": "pip install mt-autograd"}

_loaded: dict[tuple[str, str], Any] = {}
_failures: dict[tuple[str, str], str] = {}


@functools.cache
def _entry_points(group: str) -> dict[str, list[EntryPoint]]:
    found: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=group):
        same = found.setdefault(point.name, [])
        if all(point.value != other.value for other in same):  # an editable install may be listed twice
            same.append(point)
    return found


def backend_entry_points() -> dict[str, list[EntryPoint]]:
    """Device type -> entry points that claim it, loaded or not, plus those registered in this process."""
    found = dict(_entry_points("mindtorch.backends"))
    for group, name in _loaded:
        if group == "mindtorch.backends":
            found.setdefault(name, [])
    return found


def distribution_of(point: EntryPoint) -> str:
    """Name of the distribution that an entry point comes from."""
    return point.dist.name if point.dist is not None else point.value


def register_backend(backend: Any) -> None:
    """Add a backend to this process without an entry point (tests, notebooks).

    Raises
    ------
    PluginError
        When its contract is not this core's, or another backend has its device type.
    """
    key = ("mindtorch.backends", backend.device_type)
    if key in _loaded and _loaded[key] is not backend:
        raise PluginError(f"device type '{backend.device_type}' is already served by {_loaded[key]!r}")
    _check_contract(backend, repr(backend))
    _loaded[key] = backend


def find_backend(device_type: str) -> Any:
    """The backend of a device type, loaded now if need be.

    Raises
    ------
    PluginError
        When none is installed, several are, or it failed to load; named, with the remedy.
    """
    return _find("mindtorch.backends", device_type, "backend for device type", _REMEDIES)


def find_layer(name: str) -> Any:
    """The dispatch layer of that name, loaded now if need be; errors as `find_backend`."""
    return _find("mindtorch.layers", name, "dispatch layer", _LAYER_REMEDIES)


def _find(group: str, name: str, what: str, remedies: dict[str, str]) -> Any:
    key = (group, name)
    found = _loaded.get(key)
    if found is not None:
        return found
    points = _entry_points(group).get(name, [])
    if not points:
        remedy = remedies.get(name, "install a package that provides it")
        raise PluginError(f"no {what} '{name}' is installed. To add it: {remedy}")
    if len(points) > 1:
        claims = " and ".join(distribution_of(p) for p in points)
        raise PluginError(f"the {what} '{name}' is claimed by {claims}: uninstall one of them")
    _loaded[key] = plugin = _load(points[0], key, what)
    return plugin


def _load(point: EntryPoint, key: tuple[str, str], what: str) -> Any:
    name = distribution_of(point)
    try:
        plugin = point.load()
    except Exception as error:  # a plugin is foreign code: whatever it raises becomes one error that names it
        _failures[key] = f"{type(error).__name__}: {error}"
        warnings.warn(f"{name}: the {what} '{point.name}' failed to load: {_failures[key]}", stacklevel=2)
        raise PluginError(
            f"the {what} '{point.name}' from {name} failed to load: {_failures[key]}. Repair or uninstall {name}"
        ) from error
    _check_contract(plugin, name)
    return plugin


def _check_contract(plugin: Any, name: str) -> None:
    contract = getattr(plugin, "contract", None)
    if contract != CONTRACT:
        raise PluginError(
            f"{name} was written for plugin contract {contract}, and this mt-core speaks contract {CONTRACT}: "
            f"install matching versions of the two"
        )


def load_extensions() -> list[str]:
    """Call every ``mindtorch.extensions`` entry point once; returns the names of those that loaded.

    One that fails warns, naming its distribution and the cause, and does not keep others from loading.
    """
    names = []
    for name, points in _entry_points("mindtorch.extensions").items():
        for point in points:
            key = ("mindtorch.extensions", f"{distribution_of(point)}:{name}")
            if key not in _loaded and key not in _failures:
                try:
                    point.load()()
                    _loaded[key] = point
                except Exception as error:  # noqa: BLE001 - foreign code, as in _load
                    _failures[key] = f"{type(error).__name__}: {error}"
                    warnings.warn(
                        f"{distribution_of(point)}: the extension '{name}' failed to load: {_failures[key]}",
                        stacklevel=2,
                    )
            if key in _loaded:
                names.append(name)
    return names


def failures() -> dict[tuple[str, str], str]:
    """(group, name) -> cause, of every plugin that failed to load in this process."""
    return dict(_failures)
