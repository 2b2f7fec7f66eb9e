"""A store in memory, for the threads of one process; and the base of the one in a file."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from datetime import timedelta

from ..errors import DistStoreError, QueueEmptyError
from .base import Store, to_bytes

__all__ = ["HashStore"]


class HashStore(Store):
    """A store in the memory of this process."""

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[str, bytes] = {}
        self._queues: dict[str, deque[bytes]] = {}
        self._changed = threading.Condition()

    def set(self, key: str, value: str | bytes) -> None:
        with self._changed:
            self._values[key] = to_bytes(value)
            self._changed.notify_all()

    def get(self, key: str) -> bytes:
        self.wait([key])
        return self._values[key]

    def add(self, key: str, amount: int) -> int:
        with self._changed:
            total = int(self._values.get(key, b"0")) + amount
            self._values[key] = str(total).encode()
            self._changed.notify_all()
        return total

    def check(self, keys: Sequence[str]) -> bool:
        return all(key in self._values or self._queues.get(key) for key in keys)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        seconds = (self.timeout if timeout is None else timeout).total_seconds()
        with self._changed:
            if not self._changed.wait_for(lambda: self.check(keys), seconds):
                raise DistStoreError("Wait timeout")

    def delete_key(self, key: str) -> bool:
        with self._changed:
            return self._values.pop(key, None) is not None

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        with self._changed:
            present, wanted = self._values.get(key), to_bytes(expected)
            if present is None and wanted:
                return wanted
            if present is None or present == wanted:
                self._values[key] = to_bytes(desired)
                self._changed.notify_all()
            return self._values[key]

    def num_keys(self) -> int:
        return len(self._values)

    def list_keys(self) -> list[str]:
        with self._changed:
            return list(self._values)

    def append(self, key: str, value: str | bytes) -> None:
        with self._changed:
            self._values[key] = self._values.get(key, b"") + to_bytes(value)
            self._changed.notify_all()

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        self.wait(keys)
        return [self._values[key] for key in keys]

    def queue_push(self, key: str, value: str | bytes) -> None:
        with self._changed:
            self._queues.setdefault(key, deque()).append(to_bytes(value))
            self._changed.notify_all()

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        end = time.monotonic() + self.timeout.total_seconds()
        with self._changed:
            while not self._queues.get(key):
                if not block:
                    raise QueueEmptyError("queue is empty")
                if not self._changed.wait(max(0.0, end - time.monotonic())) and time.monotonic() >= end:
                    raise DistStoreError("Wait timeout")
            return self._queues[key].popleft()

    def queue_len(self, key: str) -> int:
        return len(self._queues.get(key, ()))

    def clone(self) -> HashStore:
        """This store itself: any thread may use it."""
        return self
