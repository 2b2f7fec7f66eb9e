"""``torch.random``: PyTorch's random streams on the CPU.

`engine` draws words, `distributions` and `sampling` turn them into the numbers PyTorch would draw, all on NumPy arrays;
`generator` is the class users see.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator as Iterating
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..devices import device
from .generator import Generator, default_generator

if TYPE_CHECKING:
    from ..tensor import Tensor

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
    "thread_safe_generator",
]


def manual_seed(seed: int) -> Generator:
    """Start the default stream of a seed, -2**63 to 2**64 - 1 or what ``int`` makes one of; returns the generator."""
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Start the default stream of an unpredictable seed, and return the seed."""
    return default_generator.seed()


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
    """A context that leaves the default stream as it found it.

    Parameters
    ----------
    devices
        Accelerators whose streams are to be kept as well; there is none whose streams this distribution manages.
    enabled
        With False the context does nothing.
    device_type
        The type of `devices`, if they are numbers.

    Raises
    ------
    RuntimeError
        When `devices` names an accelerator, or `device_type` is no device type.
    """
    if device_type is not None:
        device(device_type)
    if not enabled:
        yield
        return
    if devices is not None and list(devices):
        raise RuntimeError(
            f"{_caller}: the streams of {_devices_kw}={devices!r} cannot be kept, because only the CPU has one here; "
            f"pass {_devices_kw}=[]"
        )
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)


_worker = threading.local()


def thread_safe_generator() -> Generator | None:
    """The generator of this thread where it is a worker thread of a data loader, else None."""
    return getattr(_worker, "generator", None)
