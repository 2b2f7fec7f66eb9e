"""``torch.cuda.random``: the random streams of devices, of which there is none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import _absent_device
from ._message import NOT_ENABLED

__all__ = [
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]


def manual_seed(seed: int) -> None:
    """Seed the stream of the current device; without one there is nothing to seed, which is no error in PyTorch."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the streams of all devices, as `manual_seed`."""
    int(seed)


def seed() -> None:
    """Seed the stream of the current device unpredictably, as `manual_seed`."""


def seed_all() -> None:
    """Seed the streams of all devices unpredictably, as `manual_seed`."""


def get_rng_state_all() -> list[Any]:
    """The states of the streams of all devices: none."""
    return []


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Set the streams of all devices.

    Raises
    ------
    AssertionError
        When there are states for devices that are not there.
    """
    if any(True for _ in new_states):
        raise AssertionError(NOT_ENABLED)


_needs_device = _absent_device.refusing(AssertionError, NOT_ENABLED)

get_rng_state = _needs_device("get_rng_state")
initial_seed = _needs_device("initial_seed")
set_rng_state = _needs_device("set_rng_state")
