"""Concatenation in one launch for up to 64 arrays."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from .machine import Machine, pieces

__all__ = ["MAX_JOINED", "cat"]

MAX_JOINED = 64
THREADS = 256
#: The C type that carries a word of so many bytes.
WORDS = {1: "uint8_t", 2: "uint16_t", 4: "u32", 8: "u64", 16: "Pack<u64, 2>"}


def cat(machine: Machine, arrays: Sequence[Any], dim: int) -> Any:
    """arrays: row-major, of one dtype, alike but along `dim`."""
    first = arrays[0]
    dim %= len(first.shape)
    total = sum(array.shape[dim] for array in arrays)
    out = machine.empty((*first.shape[:dim], total, *first.shape[dim + 1 :]), first.dtype)
    if not out.size:
        return out
    outer = int(np.prod(first.shape[:dim], dtype=np.int64))
    inner = int(np.prod(first.shape[dim + 1 :], dtype=np.int64)) * first.dtype.itemsize
    widths = [array.shape[dim] * inner for array in arrays]
    starts = [0, *np.cumsum(widths).tolist()]
    addresses = [machine.address(array) for array in arrays]
    together = 16
    for number in (*widths, *starts, *addresses, machine.address(out)):
        together = min(together, number & -number if number else 16)
    for begin in range(0, len(arrays), MAX_JOINED):
        at = slice(begin, begin + MAX_JOINED)
        launch_cat(machine, out, outer, starts[-1], together, addresses[at], widths[at], starts[:-1][at])
    return out


def launch_cat(
    machine: Machine, out: Any, outer: int, total: int, word: int, addresses: Sequence[int], widths: Sequence[int],
    starts: Sequence[int],
) -> None:  # fmt: skip
    """One launch. Widths, starts and the total in bytes, which are whole words of `word` bytes."""
    count, rest = len(addresses), [0] * (MAX_JOINED - len(addresses))
    data = struct.pack(
        f"q{3 * MAX_JOINED}q",
        count,
        *addresses,
        *rest,
        *(w // word for w in widths),
        *rest,
        *(s // word for s in starts),
        *rest,
    )
    launch = machine.launcher("join", f"cat<{WORDS[word]}>", f"{len(data)}sqqP")
    blocks = min(pieces(outer * max(widths) // word, THREADS * 4), 1 << 20)
    launch(blocks, count, 1, THREADS, 1, 0, data, outer, total // word, machine.address(out))
