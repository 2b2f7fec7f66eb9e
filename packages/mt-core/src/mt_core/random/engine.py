"""The Mersenne Twister that feeds PyTorch's CPU random numbers, with PyTorch's byte layout of its state."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["STATE_BYTES", "MersenneTwister"]

_WORDS = 624

#: What ``Generator.get_state()`` holds. `normal_x` and `normal_rho` are remnants that PyTorch keeps and never reads.
_STATE = np.dtype(
    [
        ("seed", "<u8"),
        ("left", "<i4"),
        ("seeded", "<i4"),
        ("next", "<u8"),
        ("words", "<u8", _WORDS),
        ("normal_x", "<f8"),
        ("normal_y", "<f8"),
        ("normal_rho", "<f8"),
        ("normal_is_valid", "<i4"),
        ("padding", "<i4"),
        ("float_normal", "<f4"),
        ("float_normal_is_valid", "<u4"),
    ]
)
STATE_BYTES: int = _STATE.itemsize

_LOW_32 = 0xFFFFFFFF
_MANTISSA_FLOAT = np.uint64(2**24 - 1)
_MANTISSA_DOUBLE = np.uint64(2**53 - 1)
_HALF_WORD = np.uint64(32)


class MersenneTwister:
    """Words of 32 and 64 bits and uniform numbers in [0, 1), in the order in which PyTorch draws them.

    Attributes
    ----------
    seed : int
        The seed that was last given, as an unsigned 64-bit number; the words depend on its lower 32 bits.
    next_double_normal, next_float_normal : float or None
        Second half of a pair of normal numbers, kept for the next call; no function draws the float one, states hold
        it.
    lock : threading.Lock
        Held while a distribution draws what belongs together.
    """

    __slots__ = ("_bits", "_fresh", "_seeder", "lock", "next_double_normal", "next_float_normal", "seed")

    def __init__(self, seed: int) -> None:
        self.lock = threading.Lock()
        self._bits = np.random.MT19937(0)
        self._seeder = np.random.RandomState(self._bits)
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        """Start the stream of a seed and forget kept normal numbers."""
        self.seed = seed
        self._seeder.seed(seed & _LOW_32)
        # PyTorch's saved state tells "seeded, nothing drawn" from "all words of the block drawn"; NumPy's does not.
        self._fresh = True
        self.next_double_normal: float | None = None
        self.next_float_normal: float | None = None

    def words(self, count: int) -> np.ndarray:
        """`count` words of 32 bits, each in a uint64."""
        if count:
            self._fresh = False
        words: np.ndarray = self._bits.random_raw(count)
        return words

    def words64(self, count: int) -> np.ndarray:
        """`count` words of 64 bits; the word drawn first is the upper half."""
        pairs = self.words(2 * count).reshape(count, 2)
        joined: np.ndarray = pairs[:, 0] << _HALF_WORD
        joined |= pairs[:, 1]
        return joined

    def skip(self, count: int) -> None:
        """Draw `count` words of 32 bits and drop them."""
        if count:
            self._fresh = False
            self._bits.random_raw(count, output=False)

    def drawn_from(self, draws: bool = True) -> Any:
        """The capsule of NumPy's bit generator, for a kernel that draws from the state in it.

        `draws` tells whether it draws a word at all. The caller holds `lock` meanwhile, and the engine itself: NumPy's
        capsule does not keep the state that it leads to.
        """
        self._fresh = self._fresh and not draws
        return self._bits.capsule

    def uniform_float(self, count: int) -> np.ndarray:
        """`count` float32 numbers in [0, 1): the lower 24 bits of a word each."""
        return (self.words(count) & _MANTISSA_FLOAT).astype(np.float32) * np.float32(2.0**-24)

    def fill_uniform_float(self, out: np.ndarray) -> None:
        """Fill a float32 array, row-major, with what `uniform_float` draws."""
        np.multiply((self.words(out.size) & _MANTISSA_FLOAT).reshape(out.shape), 2.0**-24, out)

    def mantissas(self, count: int) -> np.ndarray:
        """`count` integers below 2**53 (uint64): the lower bits of a 64-bit word each."""
        words = self.words64(count)
        words &= _MANTISSA_DOUBLE
        return words

    def uniform_double(self, count: int) -> np.ndarray:
        """`count` float64 numbers in [0, 1): the lower 53 bits of a 64-bit word each."""
        return np.multiply(self.mantissas(count), 2.0**-53)

    def get_state(self) -> np.ndarray:
        """The state as `STATE_BYTES` bytes (uint8) in PyTorch's layout."""
        record = np.zeros(1, _STATE)
        state = self._bits.state["state"]
        position = int(state["pos"])
        record["seed"], record["seeded"], record["words"] = self.seed, 1, state["key"]
        record["left"], record["next"] = (1, 0) if self._fresh else (_WORDS + 1 - position, position)
        if self.next_double_normal is not None:
            record["normal_y"], record["normal_is_valid"] = self.next_double_normal, 1
        if self.next_float_normal is not None:
            record["float_normal"], record["float_normal_is_valid"] = self.next_float_normal, 1
        return record.view(np.uint8)

    def set_state(self, state: np.ndarray) -> None:
        """Take over a state from `get_state`, or from PyTorch.

        Raises
        ------
        RuntimeError
            When it has another size, or cannot be the state of an engine; nothing is changed then.
        """
        if state.size != STATE_BYTES:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but found the input RNG state size to be "
                f"{state.size}"
            )
        record = np.frombuffer(state.tobytes(), _STATE)[0]
        position = _position(record)
        self.seed = int(record["seed"])
        self._fresh = record["next"] == 0 and record["left"] == 1
        self._bits.state = {
            "bit_generator": "MT19937",
            "state": {"key": record["words"].astype(np.uint32), "pos": position},
        }
        self.next_double_normal = float(record["normal_y"]) if record["normal_is_valid"] else None
        self.next_float_normal = float(record["float_normal"]) if record["float_normal_is_valid"] & 0xFF else None

    def uniform_doubles(self) -> UniformDoubles:
        """An iterator over `uniform_double` numbers for algorithms that do not know how many they need."""
        return UniformDoubles(self)

    def _snapshot(self) -> tuple[Any, bool]:
        return self._bits.state, self._fresh

    def _restore(self, snapshot: tuple[Any, bool]) -> None:
        self._bits.state, self._fresh = snapshot


def _position(record: np.void) -> int:
    """Index of the next word in the block (624: the block is used up)."""
    left, following = int(record["left"]), int(record["next"])
    possible = record["seeded"] == 1 and 0 < left <= _WORDS and following <= _WORDS
    if not possible or (following and left + following != _WORDS + 1) or (not following and left != 1):
        raise RuntimeError("Invalid mt19937 state")
    return following or _WORDS


class UniformDoubles(Iterator[float]):
    """Numbers in [0, 1), drawn in blocks; leaving the ``with`` block gives back those that were not used."""

    _BLOCK = 256

    def __init__(self, engine: MersenneTwister) -> None:
        self._engine = engine
        self._block: list[float] = []
        self._used = 0

    def __enter__(self) -> UniformDoubles:
        self._before = self._engine._snapshot()
        return self

    def __next__(self) -> float:
        if self._used == len(self._block):
            self._before = self._engine._snapshot()
            self._block = self._engine.uniform_double(self._BLOCK).tolist()
            self._used = 0
        self._used += 1
        return self._block[self._used - 1]

    def __exit__(self, *exc_info: object) -> None:
        self._engine._restore(self._before)
        self._engine.skip(2 * self._used)
