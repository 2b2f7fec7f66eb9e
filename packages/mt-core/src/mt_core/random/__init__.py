"""``torch.random``: PyTorch's random streams on the CPU, and the streams of devices.

`engine` draws words, `distributions` and `sampling` turn them into the numbers PyTorch would draw, all on NumPy arrays;
`generator` is the class users see; `devices` holds the default generator of each device.
"""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Generator as Iterating
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..devices import device
from ..plugins.runtime_access import accelerator_type, count_devices, no_device
from .devices import default_generator_of, generator_for, seed_all_devices
from .generator import Generator, default_generator

if TYPE_CHECKING:
    from ..tensor import Tensor

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "generator_for",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
    "thread_safe_generator",
]


def manual_seed(seed: int) -> Generator:
    """Start the default streams of all devices of a seed, -2**63 to 2**64 - 1 or what ``int`` makes one of.

    Returns the generator of the CPU. Devices that are not in use yet start so when they are.
    """
    generator = default_generator.manual_seed(int(seed))
    seed_all_devices(generator.initial_seed())
    return generator


def seed() -> int:
    """Start the default streams of all devices of one unpredictable seed, and return the seed."""
    chosen = default_generator.seed()
    seed_all_devices(chosen)
    return chosen


def initial_seed() -> int:
    """The seed that the default stream started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """A copy of the default generator's state, a uint8 tensor."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Continue the default stream from a state of `get_rng_state`."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str | None = None,
) -> Iterating[None, None, None]:
    """A context that leaves the default streams of the CPU and of devices as it found them.

    Parameters
    ----------
    devices
        The devices, or their indices; all of the type by default, with a warning when there are several.
    enabled
        With False the context does nothing.
    device_type
        The type of `devices`; the accelerator's by default, and "cuda" where there is none.

    Raises
    ------
    RuntimeError, AssertionError
        When `device_type` is no device type, or a device is not there.
    """
    kind = (accelerator_type() or "cuda") if device_type is None else device(device_type).type
    if not enabled or kind == "meta":
        yield
        return
    places = _all_devices(kind, _caller, _devices_kw) if devices is None else [_index_of(kind, d) for d in devices]
    generators = [default_generator, *(default_generator_of(kind, index) for index in places)]
    states = [generator.get_state() for generator in generators]
    try:
        yield
    finally:
        for generator, state in zip(generators, states, strict=True):
            generator.set_state(state)


_warned = False


def _all_devices(kind: str, caller: str, keyword: str) -> list[int]:
    """The indices of all devices of a type; once in a process, a warning if they are several."""
    global _warned
    count = 0 if kind == "cpu" else count_devices(kind)
    visible = f"{kind.upper()}_VISIBLE_DEVICES"
    if count > 1 and not _warned and visible not in os.environ:
        _warned = True
        warnings.warn(
            f"{kind.upper()} reports that you have {count} available devices, and you have used {caller} without "
            f"explicitly specifying which devices are being used. The streams of all of them are kept. Name those in "
            f"use by the '{keyword}' keyword argument or the environment variable {visible}; "
            f"range(torch.{kind}.device_count()) means all of them and is not warned of.",
            stacklevel=5,
        )
    return list(range(count))


def _index_of(kind: str, where: Any) -> int | None:
    """A device's index, None for the current one.

    Raises
    ------
    AssertionError, RuntimeError
        When no device of the type can be used.
    """
    if not count_devices(kind):
        raise no_device(kind)
    return where if isinstance(where, int) else device(where).index


_worker = threading.local()


def thread_safe_generator() -> Generator | None:
    """The generator of this thread where it is a worker thread of a data loader, else None."""
    return getattr(_worker, "generator", None)
