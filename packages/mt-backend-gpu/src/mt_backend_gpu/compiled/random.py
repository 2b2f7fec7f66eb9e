"""Random numbers on the device: the streams that PyTorch draws from a CUDA generator.

A call takes a seed and an offset, and tells by how much the offset grows. The grid is part of the stream: 256 threads a
block, as many blocks as the elements need, at most as many as the device holds at once.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from .element_types import c_name
from .machine import Machine

__all__ = ["RANGE_OF_LONG_WORDS", "draw", "draw_integers", "dropout", "grid_of", "philox_words"]

THREADS = 256
#: From this range on, integers take 64 bits each.
RANGE_OF_LONG_WORDS = 1 << 28


def grid_of(machine: Machine, count: int) -> int:
    """The blocks of PyTorch's launch for so many elements."""
    return min(machine.processors * (machine.threads_per_processor // THREADS), -(-count // THREADS))


def growth(count: int, grid: int, per_draw: int) -> int:
    """By how much the offset grows: four for each draw of a thread."""
    return ((count - 1) // (THREADS * grid * per_draw) + 1) * 4


def launch_draw(
    machine: Machine, form: str, per_draw: int, out: Any, seed: int, offset: int, parameters: bytes, device_offset: int
) -> int:
    """Fill a row-major array; the growth of the offset."""
    if not out.size:
        return 0
    grid = grid_of(machine, out.size)
    launch = machine.launcher("random", form, "qQQP16sP")
    launch(
        grid, 1, 1, THREADS, 1, 0, out.size, seed % (1 << 64), offset, device_offset, parameters, machine.address(out)
    )
    return growth(out.size, grid, per_draw)


def draw(
    machine: Machine, name: str, out: Any, seed: int, offset: int, first: float = 0.0, second: float = 0.0,
    *, device_offset: int = 0, single: bool = False,
) -> int:  # fmt: skip
    """Fill a row-major array from a distribution of real numbers.

    Parameters
    ----------
    name
        ``uniform`` (low, high), ``normal`` and ``log_normal`` (mean, deviation), ``exponential`` (rate), ``cauchy``
        (median, sigma), ``geometric`` and ``bernoulli`` (probability).
    device_offset
        The address of two int64, for graphs: what is added to the offset, and the bits of the seed to be used in place
        of `seed`. 0 for none.
    single
        Numbers are drawn as floats though the array holds doubles.
    """
    double = out.dtype.name == "float64" and not single
    form = f"draw<{name}, {c_name(out.dtype)}, {'double' if double else 'float'}>"
    return launch_draw(
        machine, form, 2 if double else 4, out, seed, offset, struct.pack("dd", first, second), device_offset
    )


def draw_integers(
    machine: Machine, out: Any, seed: int, offset: int, low: int, high: int, *, device_offset: int = 0,
    wide: bool | None = None,
) -> int:  # fmt: skip
    """Fill a row-major array with integers of [low, high); `wide` tells whether each is made of 64 bits.

    By default the range decides. All 2**64 integers are 64 bits each, as they are.
    """
    if high - low == 1 << 64:
        form, bits = f"draw<long_masked_bits, {c_name(out.dtype)}, u64>", struct.pack("Qq", (1 << 64) - 1, 0)
        return launch_draw(machine, form, 2, out, seed, offset, bits, device_offset)
    if wide is None:
        wide = high - low >= RANGE_OF_LONG_WORDS
    form = f"draw<{'long_integers' if wide else 'integers'}, {c_name(out.dtype)}, {'u64' if wide else 'u32'}>"
    return launch_draw(
        machine, form, 2 if wide else 4, out, seed, offset, struct.pack("Qq", high - low, low), device_offset
    )


def dropout_length(machine: Machine, *arrays: Any) -> int:
    """How many neighbours share a draw: what PyTorch's access is wide, where the count is whole packs."""
    itemsize, count = arrays[0].dtype.itemsize, arrays[0].size
    length = 16 // itemsize
    while length > 1 and (count % length or any(machine.address(a) % (length * a.dtype.itemsize) for a in arrays)):
        length //= 2
    return length


def dropout(
    machine: Machine, array: Any, probability: float, seed: int, offset: int, *, device_offset: int = 0
) -> tuple[Any, Any, int]:
    """array: row-major. Its elements kept and scaled, the mask of those kept, and the growth of the offset."""
    out, mask = machine.empty(array.shape, array.dtype), machine.empty(array.shape, np.dtype("bool"))
    if not array.size:
        return out, mask, 0
    grid = grid_of(machine, array.size)
    length = dropout_length(machine, array, out, mask)
    launch = machine.launcher("random", f"dropout<{c_name(array.dtype)}, {length}>", "qQQPdPPP")
    launch(
        grid,
        1,
        1,
        THREADS,
        1,
        0,
        array.size,
        seed % (1 << 64),
        offset,
        device_offset,
        1.0 - probability,
        machine.address(array),
        machine.address(out),
        machine.address(mask),
    )
    return out, mask, growth(array.size, grid, 4)


def philox_words(machine: Machine, counters: Any, keys: Any) -> Any:
    """counters: (rows, 4), keys: (rows, 2), uint32 -> (rows, 4)."""
    out = machine.empty(counters.shape, counters.dtype)
    launch = machine.launcher("random", "philox_words", "qPPP")
    rows = counters.shape[0]
    launch(
        -(-rows // 128), 1, 1, 128, 1, 0, rows, machine.address(counters), machine.address(keys), machine.address(out)
    )
    return out
