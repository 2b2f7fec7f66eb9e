"""``torch.<device>``: the default random streams of devices."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from mt_core import Tensor
from mt_core.plugins.runtime_access import current_index
from mt_core.random import devices

from .control import Control

__all__ = ["Random"]


class Random(Control):
    """The functions about random streams.

    What is asked of devices that are not in use yet, even of such as are not there, holds when they are.
    """

    def manual_seed(self, seed: int) -> None:
        """Start the stream of the current device of a seed."""
        devices.seed_device(self.device_type, int(seed) % 2**64, current_index(self.device_type))

    def manual_seed_all(self, seed: int) -> None:
        """Start the streams of all devices of a seed."""
        devices.seed_device(self.device_type, int(seed) % 2**64)

    def seed(self) -> None:
        """Start the stream of the current device of an unpredictable seed."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))

    def seed_all(self) -> None:
        """Start the streams of all devices of one unpredictable seed."""
        self.manual_seed_all(int.from_bytes(os.urandom(8), "little"))

    def initial_seed(self) -> int:
        """The seed that the stream of the current device started from."""
        self._check_present("initial_seed")
        return self._generator(None).initial_seed()

    def _generator(self, device: Any) -> Any:
        return devices.default_generator_of(self.device_type, self.index(device))

    def get_rng_state(self, device: Any = None) -> Tensor:
        """A copy of the state of a device's stream: a uint8 tensor of the CPU."""
        self._check_present("get_rng_state")
        return self._generator(device).get_state()

    def get_rng_state_all(self) -> list[Tensor]:
        """The states of the streams of all devices."""
        return [generator.get_state() for generator in devices.default_generators(self.device_type)]

    def set_rng_state(self, new_state: Tensor, device: Any = None) -> None:
        """Continue a device's stream from a state that `get_rng_state` returned."""
        if self.device_count():
            self._generator(device).set_state(new_state)
        else:
            devices.ask_state(self.device_type, self.place(device) or 0, new_state.clone())

    def set_rng_state_all(self, new_states: Iterable[Tensor]) -> None:
        """Continue the streams of all devices, from a state for each."""
        for index, state in enumerate(new_states):
            self.set_rng_state(state, index)

    @property
    def default_generators(self) -> tuple[Any, ...]:
        """The generators of all devices that functions draw from which are given none."""
        return devices.default_generators(self.device_type)
