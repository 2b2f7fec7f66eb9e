"""The default generators of devices: one for each device that is used, seeded as the program asked.

Seeding does not touch devices that are not in use yet: what was asked is kept, and takes effect when a device's
generator is first needed. So ``torch.manual_seed`` costs nothing on a machine whose accelerators nobody uses, and a
seed set before a device was first used holds there too.
"""

from __future__ import annotations

import os
import threading
from typing import Any

from ..devices import device as Device
from ..plugins.runtime_access import checked_index, count_devices, current_index
from ..tensor import Tensor
from .generator import Generator, default_generator

__all__ = [
    "ask_state",
    "default_generator_of",
    "default_generators",
    "device_states",
    "generator_for",
    "restore_device_states",
    "seed_all_devices",
    "seed_device",
]

_lock = threading.RLock()
_generators: dict[tuple[str, int], Generator] = {}
#: What was asked before a generator was needed, a seed or a state: of all devices (None, None), of all of a type, or of
#: one.
_asked: dict[tuple[str | None, int | None], Any] = {}


def _entropy() -> int:
    return int.from_bytes(os.urandom(8), "little")


def default_generator_of(device_type: str, index: int | None = None) -> Generator:
    """The generator of functions on a device that are given none; `index` None for the current device.

    Raises
    ------
    RuntimeError
        When there is no such device.
    """
    if device_type == "cpu":
        return default_generator
    place = (device_type, checked_index(device_type, index))
    found = _generators.get(place)
    if found is None:
        with _lock:
            found = _generators.get(place)
            if found is None:
                found = _generators[place] = _started(Generator(Device(*place)))
    return found


def _started(generator: Generator) -> Generator:
    """A new generator, where it was last asked to start; `seed_device` has dropped what it replaced."""
    place = generator.device
    for key in ((place.type, place.index), (place.type, None), (None, None)):
        if key in _asked:
            asked = _asked[key]
            if isinstance(asked, int):
                return generator.manual_seed(asked)
            generator.set_state(asked)
            return generator
    return generator.manual_seed(_entropy())


def default_generators(device_type: str) -> tuple[Generator, ...]:
    """The default generators of all devices of a type, in the order of their indices."""
    return tuple(default_generator_of(device_type, index) for index in range(count_devices(device_type)))


def seed_device(device_type: str, seed: int, index: int | None = None) -> None:
    """Start the default stream of one device, or with None of all of a type, now or when it is first needed."""
    with _lock:
        if index is None:
            for key in [key for key in _asked if key[0] == device_type]:
                del _asked[key]
        _asked[device_type, index] = seed
        for place, generator in _generators.items():
            if place[0] == device_type and index in (None, place[1]):
                generator.manual_seed(seed)


def ask_state(device_type: str, index: int, state: Tensor) -> None:
    """Continue the default stream of a device that is not there yet from a state, when it is first needed."""
    with _lock:
        _asked[device_type, index] = state


def seed_all_devices(seed: int) -> None:
    """Start the default streams of all devices but the CPU, now or when they are first needed."""
    with _lock:
        _asked.clear()
        _asked[None, None] = seed
        for generator in _generators.values():
            generator.manual_seed(seed)


def device_states() -> dict[tuple[str, int], Tensor]:
    """Device -> the state of its default stream, of all devices that are in use."""
    with _lock:
        return {place: generator.get_state() for place, generator in _generators.items()}


def restore_device_states(states: dict[tuple[str, int], Tensor]) -> None:
    """Continue the default streams of devices from `device_states`; one first used since starts over, as it started."""
    with _lock:
        for place, generator in _generators.items():
            if place in states:
                generator.set_state(states[place])
            else:
                generator.manual_seed(generator.initial_seed())


def generator_for(generator: Generator | None, device_type: str, index: int | None = None) -> Generator:
    """The generator that a kernel draws from: the one that was passed, or the device's default.

    Raises
    ------
    RuntimeError
        When the one passed belongs to another device type, in PyTorch's words.
    """
    if generator is None:
        return default_generator_of(device_type, index)
    found = generator.device
    if found.type != device_type:
        raise RuntimeError(f"Expected a '{device_type}' device type for generator but found '{found.type}'")
    if device_type != "cpu" and found.index != (current_index(device_type) if index is None else index):
        raise RuntimeError(f"Expected a generator of device '{device_type}:{index}' but found one of '{found}'")
    return generator
