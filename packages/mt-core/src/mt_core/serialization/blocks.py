"""Storages as the formats of before PyTorch 1.6 have them: a count of elements (8 bytes), then the elements."""

from __future__ import annotations

import io
import sys
from typing import IO, Any

import numpy as np

from ..dtypes import dtype
from ..storage import UntypedStorage

__all__ = ["read_block", "truncated", "write_block"]

_COUNT_SIZE = 8


def truncated(missing: int, position: int) -> RuntimeError:
    """The error for a file that ends `missing` bytes too early, found out when reading stood at `position`."""
    return RuntimeError(
        f"unexpected EOF, expected {missing} more bytes. The file might be corrupted. "
        f"(the file, before byte {position})"
    )


def _read_exactly(file: IO[bytes], count: int) -> bytes:
    data = file.read(count)
    if len(data) != count:
        raise truncated(count - len(data), file.tell())
    return data


def read_block(file: IO[bytes], storage: UntypedStorage, d: dtype) -> None:
    """Fill a storage with the elements that follow in the file."""
    count = int.from_bytes(_read_exactly(file, _COUNT_SIZE), "little", signed=True)
    if count * d.itemsize != storage.nbytes():
        raise RuntimeError(
            f"storage has wrong byte size: expected {storage.nbytes()} got {count * d.itemsize}; corrupt file? "
            f"(the file, before byte {file.tell()})"
        )
    if storage.device.type == "meta":
        file.seek(storage.nbytes(), io.SEEK_CUR)
        return
    storage._write(0, np.frombuffer(_read_exactly(file, storage.nbytes()), np.uint8))
    if sys.byteorder == "big":
        storage.byteswap(d)


def write_block(file: Any, storage: UntypedStorage, d: dtype) -> None:
    """Write a storage as `read_block` reads it."""
    storage = storage.cpu()
    if sys.byteorder == "big":
        storage = storage.clone()
        storage.byteswap(d)
    file.write((storage.nbytes() // d.itemsize).to_bytes(_COUNT_SIZE, "little"))
    file.write(memoryview(storage._host_bytes()))  # type: ignore[arg-type]
