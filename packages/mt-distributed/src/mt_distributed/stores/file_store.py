"""A store in a file that the processes of one machine, or of a shared file system, share."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from ..errors import DistStoreError
from .base import Store, to_bytes
from .server import LENGTH

__all__ = ["FileStore"]

#: Seconds between two looks at the file.
LOOK = 0.01


class FileStore(Store):
    """A store in a file: what is set is written at its end, under a lock, and the last word on a key counts.

    Parameters
    ----------
    file_name
        The file, made where it is missing; its folder must exist.
    world_size
        How many processes use it; the last of them that lets go removes it. Without it nobody does.
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self._file_name, self._world_size = file_name, world_size
        self._values: dict[str, bytes] = {}
        self._read_to = 0
        self._is_user = world_size > 0
        if self._is_user:
            self.add("refs/", 1)

    @property
    def path(self) -> str:
        """The file."""
        return self._file_name

    def __del__(self) -> None:
        if getattr(self, "_is_user", False) and os.path.exists(self._file_name):
            if self.add("refs/", -1) == 0:
                os.unlink(self._file_name)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        import fcntl  # not on every platform; only this store needs it

        descriptor = os.open(self._file_name, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)

    def _changed(self, change: Callable[[dict[str, bytes]], tuple[Any, dict[str, bytes | None]]]) -> Any:
        """Bring the values up to date, and write down what `change` makes of them; its result."""
        with self._locked() as descriptor:
            self._catch_up(descriptor)
            result, written = change(self._values)
            record = b"".join(_entry(key, value) for key, value in written.items())
            if record:
                os.lseek(descriptor, 0, os.SEEK_END)
                os.write(descriptor, record)
                self._catch_up(descriptor)
        return result

    def _catch_up(self, descriptor: int) -> None:
        os.lseek(descriptor, self._read_to, os.SEEK_SET)
        data = b""
        while block := os.read(descriptor, 1 << 20):
            data += block
        at = 0
        while at < len(data):
            fields = []
            for _ in range(2):
                (length,) = LENGTH.unpack_from(data, at)
                fields.append(data[at + 4 : at + 4 + length])
                at += 4 + length
            if fields[1][:1] == b"+":
                self._values[fields[0].decode()] = fields[1][1:]
            else:
                self._values.pop(fields[0].decode(), None)
        self._read_to += len(data)

    def set(self, key: str, value: str | bytes) -> None:
        self._changed(lambda values: (None, {key: to_bytes(value)}))

    def get(self, key: str) -> bytes:
        self.wait([key])
        return self._values[key]

    def add(self, key: str, amount: int) -> int:
        def change(values: dict[str, bytes]) -> tuple[int, dict[str, bytes | None]]:
            total = int(values.get(key, b"0")) + amount
            return total, {key: str(total).encode()}

        return self._changed(change)

    def check(self, keys: Sequence[str]) -> bool:
        return self._changed(lambda values: (all(key in values for key in keys), {}))

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        end = time.monotonic() + (self.timeout if timeout is None else timeout).total_seconds()
        while not self.check(keys):
            if time.monotonic() >= end:
                raise DistStoreError("Wait timeout")
            time.sleep(LOOK)

    def delete_key(self, key: str) -> bool:
        return self._changed(lambda values: (key in values, {key: None}))

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        def change(values: dict[str, bytes]) -> tuple[bytes, dict[str, bytes | None]]:
            present, wanted = values.get(key), to_bytes(expected)
            if present is None and wanted:
                return wanted, {}
            if present is None or present == wanted:
                return to_bytes(desired), {key: to_bytes(desired)}
            return present, {}

        return self._changed(change)

    def num_keys(self) -> int:
        return self._changed(lambda values: (len(values), {}))

    def list_keys(self) -> list[str]:
        return self._changed(lambda values: (list(values), {}))

    def clone(self) -> FileStore:
        return FileStore(self._file_name)


def _entry(key: str, value: bytes | None) -> bytes:
    name, kept = key.encode(), b"-" if value is None else b"+" + value
    return LENGTH.pack(len(name)) + name + LENGTH.pack(len(kept)) + kept
