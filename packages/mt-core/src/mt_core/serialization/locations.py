"""Which device a storage in a file came from, and where it goes when it is read."""

from collections.abc import Callable
from typing import Any

from ..devices import device
from ..plugins.discovery import PluginError, backend_entry_points, find_backend
from ..storage import UntypedStorage, untyped

__all__ = ["default_restore_location", "location_tag", "register_package", "restorer"]

Tagger = Callable[[Any], "str | None"]
Deserializer = Callable[[Any, str], Any]
Restorer = Callable[[UntypedStorage, str], UntypedStorage]

_registry: list[tuple[int, Tagger, Deserializer]] = []


def register_package(priority: int, tagger: Tagger, deserializer: Deserializer) -> None:
    """Teach ``torch.save`` and ``torch.load`` a kind of storage.

    Parameters
    ----------
    priority
        Lower numbers are asked first. The CPU has 10, other devices 20 and up.
    tagger
        Given a storage, its location tag, or None if it is of another kind.
    deserializer
        Given a storage and a tag, the storage put there, or None if the tag is of another kind.
    """
    _registry.append((priority, tagger, deserializer))
    _registry.sort(key=lambda entry: entry[0])


def location_tag(storage: Any) -> str:
    """The tag that files carry for a storage's device, ``"cpu"`` or ``"npu:0"``.

    Raises
    ------
    RuntimeError
        If no package knows the storage.
    """
    for _, tagger, _ in _registry:
        location = tagger(storage)
        if location:
            return location
    raise RuntimeError(f"don't know how to determine data location of {_type_name(storage)}")


def default_restore_location(storage: Any, location: str) -> Any:
    """The storage put where its tag says.

    Raises
    ------
    RuntimeError
        If no package knows the tag, or the device is not there.
    """
    for _, _, deserializer in _registry:
        restored = deserializer(storage, location)
        if restored is not None:
            return restored
    raise RuntimeError(f"don't know how to restore data location of {_type_name(storage)} (tagged with {location})")


def _type_name(storage: Any) -> str:
    return "torch.storage." + type(storage).__name__


def _cpu_tag(storage: Any) -> str | None:
    return "cpu" if storage.device.type == "cpu" else None


def _cpu_deserialize(storage: Any, location: str) -> Any:
    return storage if location == "cpu" else None


def _meta_tag(storage: Any) -> str | None:
    return "meta" if storage.device.type == "meta" else None


def _meta_deserialize(storage: Any, location: str) -> Any:
    return UntypedStorage(storage.nbytes(), device="meta") if location == "meta" else None


def _device_tag(storage: Any) -> str | None:
    place = storage.device
    return place.type if place.index is None else f"{place.type}:{place.index}"


def _device_deserialize(storage: Any, location: str) -> Any:
    """Onto a device of an installed backend; None if there is none of that type."""
    type_ = location.partition(":")[0]
    if type_ not in backend_entry_points():
        if type_ == "cuda":
            raise _no_device(type_)
        return None
    place = device(location)
    if not _is_available(place):
        raise _no_device(type_)
    return untyped(storage).to(device=place)


def _is_available(place: device) -> bool:
    try:
        count = find_backend(place.type).device_count()
    except PluginError:
        return False
    return (place.index or 0) < count


def _no_device(type_: str) -> RuntimeError:
    return RuntimeError(
        f"Attempting to deserialize object on a {type_.upper()} device but torch.{type_}.is_available() is False. If "
        f"you are "
        "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
        "storages to "
        "the CPU."
    )


register_package(10, _cpu_tag, _cpu_deserialize)
register_package(22, _meta_tag, _meta_deserialize)
register_package(100, _device_tag, _device_deserialize)


def restorer(map_location: Any) -> Restorer:
    """The function that puts a storage where ``torch.load``'s `map_location` sends it.

    `map_location` is None (where the tag says), a device or its name (there), a dict from tags to tags, or a function
    of a CPU storage and a tag that returns a storage, or None for where the tag says.
    """
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, map_location.get(location, location))
    if isinstance(map_location, (str, bytes)):
        tag = map_location.decode() if isinstance(map_location, bytes) else map_location
        return lambda storage, location: default_restore_location(storage, tag)
    if isinstance(map_location, device):
        return lambda storage, location: default_restore_location(storage, str(map_location))
    return _calling(map_location)


def _calling(function: Callable[[Any, str], Any]) -> Restorer:
    def restore(storage: UntypedStorage, location: str) -> UntypedStorage:
        result = function(storage, location)
        return default_restore_location(storage, location) if result is None else untyped(result)

    return restore


def discards_data(map_location: Any, location: str) -> bool:
    """Whether a storage will go to the meta device, so that its bytes need not be read."""
    if isinstance(map_location, dict):
        return map_location.get(location, location) == "meta"
    if map_location is None:
        return location == "meta"
    return isinstance(map_location, (str, device)) and str(map_location) == "meta"
