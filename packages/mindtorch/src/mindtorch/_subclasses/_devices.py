"""On which device the results of an operator on fake tensors are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from mt_core.devices import device as Device
from mt_core.plugins.runtime_access import count_devices, current_index
from mt_core.state import tls
from mt_core.tensor import Tensor

from ._errors import FakeTensorDeviceMismatchError

__all__ = ["SETTINGS", "normalized", "on_meta", "place_of"]

_META = Device("meta")


class _Settings:
    """What programs may choose (``torch._functorch.config``)."""

    allows_meta = True
    propagates_real = False


SETTINGS = _Settings()

#: Operators that take tensors of several devices: copies go from one to another, and what lies on the CPU may index,
#: or be a part of, a tensor elsewhere. Their result is where their first tensor is.
_SEVERAL = frozenset(
    """
    _index_put_impl_ _to_copy copy copy_ index index_put index_put_ resize_as_ select_scatter set_ slice_scatter
    """.split()
)


def normalized(where: Any) -> Device:
    """A device with its index: of an accelerator's type alone, the current one of the thread."""
    place = Device(where)
    if place.index is not None or place.type in ("cpu", "meta"):
        return place
    return Device(place.type, current_index(place.type) if count_devices(place.type) else 0)


def place_of(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], fakes: Iterable[Tensor]) -> Device:
    """The device that a call asks for, else that of its tensors, else the default device.

    Raises
    ------
    FakeTensorDeviceMismatchError
        For tensors of several devices, numbers that are tensors on the CPU aside.
    AssertionError
        For the device meta, where the settings do not allow it.
    """
    place = _place_of(func, args, kwargs, fakes)
    if place.type == "meta" and not SETTINGS.allows_meta:
        raise AssertionError("device type must not be `meta`: fake_tensor_allow_meta is off")
    return place


def _place_of(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], fakes: Iterable[Tensor]) -> Device:
    tensors = list(fakes)
    several = func._schema.name.partition("::")[2] in _SEVERAL
    common = tensors[0].device if tensors and several else _common_device(tensors)
    asked = [value for _, value in _devices_asked_for(func, args, kwargs) if value is not None]
    if asked:
        return normalized(asked[0])
    if common is not None:
        return common
    return normalized(tls.default_device or "cpu")


def _common_device(tensors: list[Tensor]) -> Device | None:
    found, is_number = None, False
    for tensor in tensors:
        here, number = tensor.device, _is_number(tensor)
        if found is None:
            found, is_number = here, number
        elif here == found:
            is_number = is_number and number
        elif number:
            continue
        elif is_number:
            found, is_number = here, False
        else:
            raise FakeTensorDeviceMismatchError(
                f"Expected all tensors to be on the same device, but found at least two devices, {found} and {here}!"
            )
    return found


def _is_number(tensor: Tensor) -> bool:
    return tensor.device.type == "cpu" and not tensor.dim()


def _devices_asked_for(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[int | str, Any]]:
    """(position or name, value) of each argument that is a device."""
    for i, argument in enumerate(func._schema.parsed.arguments):
        if argument.type == "Device":
            if i < len(args):
                yield i, args[i]
            else:
                yield argument.name, kwargs.get(argument.name)


def on_meta(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], has_tensors: bool) -> Any:
    """Arguments with the meta device in place of that which they name; and where a call without tensors names none."""
    moved, named = list(args), dict(kwargs)
    for place, value in _devices_asked_for(func, args, kwargs):
        if value is None and has_tensors:
            continue
        if isinstance(place, int):
            moved[place] = _META
        else:
            named[place] = _META
    return tuple(moved), named
