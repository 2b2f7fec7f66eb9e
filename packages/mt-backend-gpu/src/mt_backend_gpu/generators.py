"""Random streams of the device: a seed and an offset, from which Philox draws, as in PyTorch on CUDA."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable

import cupy
import numpy

from mt_core.random.engine import MersenneTwister

__all__ = ["PhiloxEngine", "Recording"]

_STATE = numpy.dtype([("seed", "<u8"), ("offset", "<u8")])
#: A state that has no offset is that of a seed just given.
_SEED_BYTES = 8
#: Numbers that a thread takes from one counter: offsets are multiples of it.
_PER_COUNTER = 4


class Recording:
    """What a graph draws: by how much its offset grows, and where a replay finds the offset and the seed.

    words: (2,) of int64 on the device, offset and seed.
    """

    def __init__(self) -> None:
        self.words = cupy.empty((2,), numpy.int64)
        self.growth = 0

    def before_replay(self, engine: PhiloxEngine) -> None:
        """Give the current stream the writing of the words, and let the engine go on after what will be drawn."""
        with engine.lock:
            offset, seed = engine.offset, engine.seed
            engine.offset = offset + self.growth
        self.words[0] = offset
        self.words[1] = seed - (1 << 64) if seed >= 1 << 63 else seed


class PhiloxEngine:
    """Follows `mt_core.plugins.runtime.Engine`; `offset` counts what was drawn, as PyTorch counts it."""

    def __init__(self, seed: int) -> None:
        self.lock = threading.RLock()
        self.recording: Recording | None = None
        self.seed, self._offset = seed, 0

    @property
    def offset(self) -> int:
        """Where the stream of the seed goes on: a multiple of 4."""
        return self._offset

    @offset.setter
    def offset(self, offset: int) -> None:
        if offset % _PER_COUNTER:
            raise RuntimeError("offset must be a multiple of 4")
        if not 0 <= offset < 1 << 64:
            raise RuntimeError(f"offset must be between 0 and 2**64 - 1, not {offset}")
        self._offset = offset

    def reseed(self, seed: int) -> None:
        self.seed, self._offset = seed, 0

    def get_state(self) -> numpy.ndarray:
        return numpy.array([(self.seed, self._offset)], _STATE).view(numpy.uint8)

    def set_state(self, state: numpy.ndarray) -> None:
        if state.size not in (_SEED_BYTES, _STATE.itemsize):
            raise RuntimeError("RNG state is wrong size")
        words = state.reshape(-1).view("<u8")
        self.offset = int(words[1]) if words.size > 1 else 0
        self.seed = int(words[0])

    def draw(self, run: Callable[[int, int, int], int]) -> None:
        """Let a kernel draw: ``run(seed, offset, address of a recording's words or 0)`` tells the offset's growth."""
        with self.lock:
            recording = self.recording
            if recording is None:
                self.offset = self._offset + run(self.seed, self._offset, 0)
            else:
                recording.growth += run(self.seed, recording.growth, recording.words.data.ptr)

    def host_stream(self) -> MersenneTwister:
        """A stream of the host for what has no kernel: another one for each seed and offset, which moves on by 4.

        Raises
        ------
        NotImplementedError
            While a graph is recorded, which cannot hold what the host does.
        """
        with self.lock:
            if self.recording is not None:
                raise NotImplementedError("numbers that are drawn on the host cannot be recorded in a CUDA graph")
            name = f"{self.seed} {self._offset}".encode()
            self.offset = self._offset + _PER_COUNTER
        return MersenneTwister(int.from_bytes(hashlib.sha256(name).digest()[:8], "little"))
