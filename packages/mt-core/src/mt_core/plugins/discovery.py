"""Finding and loading plugins by their entry points.

Backends, layers, compilers, collectives and bridges are found by name. What must be in effect before anyone asks for it
is loaded by `mt_core.plugins.activation`.
"""

from __future__ import annotations

import threading
import warnings
from typing import Any

from .. import keys
from .contract import CHECKS, check_backend
from .entry_points import EntryPoint, all_entry_points
from .errors import PluginError as PluginError
from .remedies import remedy_for

__all__ = [
    "PluginError",
    "backend_entry_points",
    "dispatch_key_of",
    "entry_points_of",
    "failures",
    "find_backend",
    "find_bridge",
    "find_collectives",
    "find_compiler",
    "find_layer",
    "load_alone",
    "load_extensions",
    "names_in",
    "note_failure",
    "only_claim",
    "register_backend",
]


#: Group -> what its plugins are called in messages.
_WHAT = {
    "mindtorch.backends": "backend for device type",
    "mindtorch.layers": "dispatch layer",
    "mindtorch.extensions": "extension",
    "mindtorch.compilers": "compiler",
    "mindtorch.collectives": "library of collectives",
    "mindtorch.bridges": "bridge to",
}

_loaded: dict[tuple[str, str], Any] = {}
_failures: dict[tuple[str, str], str] = {}
#: What is being loaded, and by which thread.
_being_loaded: dict[tuple[str, str], int] = {}


def _entry_points(group: str) -> dict[str, list[EntryPoint]]:
    return all_entry_points()[group]


def entry_points_of(group: str) -> list[EntryPoint]:
    """Every entry point of a group, claims to one name beside one another."""
    return [point for points in _entry_points(group).values() for point in points]


def names_in(group: str) -> list[str]:
    """Names that can be asked for in a group, sorted: those of entry points, loaded or not, and those registered."""
    return sorted({*_entry_points(group), *(name for other, name in _loaded if other == group)})


def backend_entry_points() -> dict[str, list[EntryPoint]]:
    """Device type -> entry points that claim it, loaded or not, plus those registered in this process."""
    found = _entry_points("mindtorch.backends")
    return {**found, **{name: [] for name in names_in("mindtorch.backends") if name not in found}}


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
    check_backend(backend, backend.device_type, repr(backend))
    _loaded[key] = backend


def find_backend(device_type: str) -> Any:
    """The backend of a device type, loaded now if need be.

    Raises
    ------
    PluginError
        When none is installed, several are, or it failed to load; named, with the remedy.
    """
    return _find("mindtorch.backends", device_type)


def find_layer(name: str) -> Any:
    """The dispatch layer of that name, loaded now if need be; errors as `find_backend`."""
    return _find("mindtorch.layers", name)


def find_compiler(name: str) -> Any:
    """The ``torch.compile`` backend of that name, loaded now if need be; errors as `find_backend`."""
    return _find("mindtorch.compilers", name)


def find_collectives(name: str) -> Any:
    """The library of collectives of that name, loaded now if need be; errors as `find_backend`."""
    return _find("mindtorch.collectives", name)


def find_bridge(name: str) -> Any:
    """The bridge to the framework of that name, loaded now if need be; errors as `find_backend`."""
    return _find("mindtorch.bridges", name)


def _find(group: str, name: str) -> Any:
    found = _loaded.get((group, name))
    if found is None:
        found = _loaded[group, name] = _load_checked(only_claim(group, name))
    return found


def only_claim(group: str, name: str) -> EntryPoint:
    """The entry point of a name.

    Raises
    ------
    PluginError
        Where there is none, or several; named, with the remedy.
    """
    points = _entry_points(group).get(name, [])
    if not points:
        remedy = remedy_for(group, name, names_in(group))
        raise PluginError(f"no {_WHAT[group]} '{name}' is installed. To add it: {remedy}")
    if len(points) > 1:
        claims = " and ".join(point.distribution for point in points)
        raise PluginError(f"the {_WHAT[group]} '{name}' is claimed by {claims}: uninstall one of them")
    return points[0]


def _load_checked(point: EntryPoint) -> Any:
    """Load an entry point, and check what it gives against the contract; a failure is told once and kept."""
    key, what = (point.group, point.name), f"the {_WHAT[point.group]} '{point.name}'"
    cause = _failures.get(key)
    if cause is not None:
        raise _failed(cause, what, point)
    if _being_loaded.get(key) == threading.get_ident():
        raise PluginError(f"{what} is being loaded, and was asked for by what interrupted that: a signal handler?")
    _being_loaded[key] = threading.get_ident()
    try:
        plugin = point.load()
    except (Exception, SystemExit) as error:  # a plugin is foreign code: whatever it raises becomes one error
        cause = _failures[key] = _told(error)
        warnings.warn(f"{point.distribution}: {what} failed to load: {cause}", stacklevel=4)
        raise _failed(cause, what, point) from error
    finally:
        _being_loaded.pop(key, None)
    CHECKS[point.group](plugin, point.name, _described(point))
    return plugin


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _failed(cause: str, what: str, point: EntryPoint) -> PluginError:
    return PluginError(
        f"{what} from {point.distribution} failed to load: {cause}. Repair or uninstall {point.distribution}"
    )


def _described(point: EntryPoint) -> str:
    """Distribution and entry point, for the start of a message."""
    return f"{point.distribution} (entry point '{point.name} = {point.value}' of {point.group})"


def dispatch_key_of(layer: Any) -> int:
    """The key that a layer says it serves.

    Raises
    ------
    PluginError
        Where its `dispatch_key` is not the name of a key that a layer can serve.
    """
    possible = {name: key for key, name in keys.NAMES.items() if not key & (keys.FLAGS | keys.BACKEND_MASK)}
    if layer.dispatch_key not in possible:
        raise PluginError(
            f"a dispatch layer cannot serve the key {layer.dispatch_key!r}. Its dispatch_key must be one of "
            + ", ".join(possible)
        )
    return possible[layer.dispatch_key]


def load_extensions() -> list[str]:
    """Call every ``mindtorch.extensions`` entry point once; returns the names of those that loaded.

    One that fails warns, naming its distribution and the cause, and does not keep others from loading.
    """
    names = []
    for point in entry_points_of("mindtorch.extensions"):
        key = _extension_key(point)
        if key not in _loaded and key not in _failures:
            _load_extension(point)
        if key in _loaded:
            names.append(point.name)
    return names


def _extension_key(point: EntryPoint) -> tuple[str, str]:
    """Several distributions may give extensions of one name: they are kept apart by distribution."""
    return point.group, f"{point.distribution}:{point.name}"


def _load_extension(point: EntryPoint) -> None:
    key = _extension_key(point)
    _loaded[key] = point  # entered first: what it imports may come back to here
    try:
        point.load()()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code, as in _load_checked
        del _loaded[key]
        _failures[key] = _told(error)
        warnings.warn(
            f"{point.distribution}: the extension '{point.name}' failed to load: {_failures[key]}. "
            f"Repair or uninstall {point.distribution}",
            stacklevel=2,
        )


def note_failure(group: str, name: str, error: PluginError) -> None:
    """Tell once, by a warning, that a plugin cannot be used."""
    if (group, name) not in _failures:  # what failed to load was told then
        _failures[group, name] = str(error)
        warnings.warn(str(error), stacklevel=2)


def failures() -> dict[tuple[str, str], str]:
    """(group, name) -> cause, of every plugin that failed to load in this process."""
    return dict(_failures)


def load_alone(point: EntryPoint) -> Any:
    """Load one entry point as it is loaded when needed, whatever else claims its name; None for an extension.

    Raises
    ------
    PluginError
        As `find_backend`.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the error says the same
        if point.group == "mindtorch.extensions":
            _load_extension(point)
            cause = _failures.get(_extension_key(point))
            if cause is not None:
                raise _failed(cause, f"the extension '{point.name}'", point)
            return None
        plugin = _load_checked(point)
    if point.group == "mindtorch.layers":
        dispatch_key_of(plugin)
    return plugin
