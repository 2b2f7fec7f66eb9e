"""``torch.Generator``: a random stream with a seed and a state that can be saved, on the CPU or another device.

A device's engine is its runtime's (`mt_core.plugins.runtime.Generators`); where the runtime has none, the numbers of a
device are drawn by PyTorch's CPU streams, from an engine of the device's own.
"""

from __future__ import annotations

import operator
import os
import threading
from typing import Any

import numpy as np

from .. import dtypes
from ..devices import device as Device
from ..plugins.runtime_access import checked_index, count_devices, has_part, require
from ..state import settle
from ..tensor import Tensor, from_array
from .engine import MersenneTwister

__all__ = ["Generator", "default_generator"]

#: Held while an engine is made, so that threads which draw their first numbers at once share it.
_starting = threading.Lock()

#: The seed of a generator that was given none.
DEFAULT_SEED = 67280421310721


class Generator:
    """A random stream of a device.

    Parameters
    ----------
    device : device or str, optional
        The CPU by default; of several devices of a type, the current one.

    Raises
    ------
    RuntimeError
        For a device that is not there.
    """

    __slots__ = ("__weakref__", "_device", "_engine", "_start_seed")

    def __init__(self, device: Any = None) -> None:
        self._device = _place(Device("cpu" if device is None else device))
        self._start_seed = DEFAULT_SEED
        self._engine: Any = None

    @classmethod
    def on_engine(cls, engine: Any) -> Generator:
        """A generator of the CPU that draws from an engine which another generator has."""
        made = cls()
        made._engine = engine
        return made

    @property
    def engine(self) -> Any:
        """What draws the numbers. Made when first asked for, because `numpy.random` takes a while to import."""
        if self._engine is None:
            with _starting:
                if self._engine is None:
                    self._engine = _new_engine(self._device, self._start_seed)
        return self._engine

    @property
    def device(self) -> Device:
        """The device whose numbers are drawn."""
        return self._device

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of a seed: an integer from -2**63 to 2**64 - 1, negative ones counted from 2**64 down.

        Raises
        ------
        RuntimeError
            When `seed` is no integer.
        ValueError
            When it is out of range.
        """
        if not isinstance(seed, int) or isinstance(seed, bool):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        self._restart(seed % 2**64)
        return self

    def _restart(self, seed: int) -> None:
        settle()
        self._start_seed = seed
        if self._engine is not None:
            with self._engine.lock:
                self._engine.reseed(seed)

    def seed(self) -> int:
        """Start the stream of a seed from the operating system's entropy, and return it."""
        self._restart(int.from_bytes(os.urandom(8), "little"))
        return self._start_seed

    def initial_seed(self) -> int:
        """The seed that the stream started from."""
        return self._start_seed if self._engine is None else self._engine.seed

    def get_state(self) -> Tensor:
        """A copy of the state: a uint8 tensor of the CPU, 5056 elements in PyTorch's layout for the CPU's streams."""
        settle()
        return from_array(self.engine.get_state())

    def set_state(self, new_state: Tensor) -> Generator:
        """Continue from a state that `get_state` returned, here or in PyTorch; returns the generator itself.

        Raises
        ------
        TypeError
            When it is no uint8 tensor of the CPU.
        RuntimeError
            When it is not contiguous, of another size, or no state; the generator is left as it was.
        """
        settle()
        state = _bytes_of(new_state)
        with self.engine.lock:
            self.engine.set_state(state)
        return self

    def clone_state(self) -> Generator:
        """Another generator at the same point of the same stream."""
        settle()
        twin = Generator(self._device)
        twin.engine.set_state(self.engine.get_state())
        return twin

    def get_offset(self) -> int:
        """How far the stream is from the start of its seed.

        Raises
        ------
        RuntimeError
            When the engine does not count, as that of the CPU.
        """
        settle()
        self._check_counts()
        return int(self.engine.offset)

    def set_offset(self, offset: int) -> None:
        """Continue the seed's stream from an offset; errors as `get_offset`."""
        settle()
        self._check_counts()
        self.engine.offset = operator.index(offset)

    def _check_counts(self) -> None:
        if not hasattr(self.engine, "offset"):
            raise RuntimeError(f"{self._device.type.upper()} Generator does not use offset")

    def graphsafe_get_state(self) -> Generator:
        """Raises: only CUDA generators have states that graphs can capture."""
        raise NotImplementedError("graphsafe_get_state is not supported in this Generator")

    def graphsafe_set_state(self, state: Generator) -> None:
        """Raises: only CUDA generators have states that graphs can capture."""
        raise NotImplementedError("graphsafe_set_state is not supported in this Generator")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._device,), (self.initial_seed(), None, self.get_state())

    def __setstate__(self, state: tuple[int, int | None, Tensor]) -> None:
        self.manual_seed(operator.index(state[0]))
        self.set_state(state[2])


def _place(wanted: Device) -> Device:
    """A generator's device, with the index that a device of several has.

    Raises
    ------
    RuntimeError
        When it is none that has numbers to draw, or is not there.
    """
    kind = wanted.type
    if kind == "cpu":
        return Device("cpu")
    if kind == "meta":
        raise RuntimeError("META device type not an accelerator.")
    if not count_devices(kind):
        raise RuntimeError(
            f"Cannot get {kind.upper()} generator: no device of type '{kind}' can be used, see `mindtorch doctor`"
        )
    return Device(kind, checked_index(kind, wanted.index))


def _new_engine(place: Device, seed: int) -> Any:
    if place.type == "cpu" or not has_part(place.type, "generators"):
        return MersenneTwister(seed)
    return require(place.type, "generators", "torch.Generator").engine(place.index, seed)


def _bytes_of(state: Any) -> np.ndarray:
    if not isinstance(state, Tensor):
        raise TypeError(f"expected a torch.ByteTensor, but got {type(state).__name__}")
    if state.dtype is not dtypes.uint8 or not state.is_cpu:
        raise TypeError("RNG state must be a torch.ByteTensor")
    array: np.ndarray = state._array
    if not array.flags.c_contiguous:
        raise RuntimeError("RNG state must be contiguous")
    return array


#: The stream of every function that is given no generator, on the CPU.
default_generator = Generator()
default_generator.seed()
