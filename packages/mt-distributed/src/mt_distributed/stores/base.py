"""What every store can do, and a store that puts a prefix before each key."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

__all__ = ["PrefixStore", "Store", "to_bytes"]

DEFAULT_TIMEOUT = timedelta(seconds=300)


def to_bytes(value: str | bytes) -> bytes:
    """A value as it is kept."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError(
        f"set(): incompatible function arguments: the value of a store is a str or bytes, not {type(value).__name__}"
    )


class Store:
    """Keys and values that processes share; values are bytes.

    A subclass gives `set`, `get`, `add`, `check`, `wait` and `delete_key`; what it does not give is refused by name.
    """

    def __init__(self) -> None:
        self._timeout = DEFAULT_TIMEOUT

    def __getattr__(self, name: str) -> timedelta:
        if name == "_timeout":  # a subclass need not call this class's __init__
            return DEFAULT_TIMEOUT
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Say how long `get` and `wait` wait from now on."""
        self._timeout = timeout

    def _lacks(self, what: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} has no {what}()")

    def set(self, key: str, value: str | bytes) -> None:
        """Keep a value under a key, in place of what was there."""
        raise self._lacks("set")

    def get(self, key: str) -> bytes:
        """The value of a key, as soon as there is one; DistStoreError when the timeout is over."""
        raise self._lacks("get")

    def add(self, key: str, amount: int) -> int:
        """Add to the number under a key, which begins at 0; the sum."""
        raise self._lacks("add")

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys have values."""
        raise self._lacks("check")

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys have values; DistStoreError when the timeout is over."""
        raise self._lacks("wait")

    def delete_key(self, key: str) -> bool:
        """Forget a key; whether it was there."""
        raise self._lacks("delete_key")

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        """Set a key that has the expected value, or none if that is empty; the value that it has then."""
        raise self._lacks("compare_set")

    def num_keys(self) -> int:
        """How many keys there are."""
        raise self._lacks("num_keys")

    def list_keys(self) -> list[str]:
        """All keys."""
        raise self._lacks("list_keys")

    def append(self, key: str, value: str | bytes) -> None:
        """Put bytes behind those under a key."""
        raise self._lacks("append")

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of several keys, as soon as all are there."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Keep several values."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Put a value at the end of a queue."""
        raise self._lacks("queue_push")

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of a queue, waiting for one, or QueueEmptyError without `block`."""
        raise self._lacks("queue_pop")

    def queue_len(self, key: str) -> int:
        """How many values are in a queue."""
        raise self._lacks("queue_len")

    def clone(self) -> Store:
        """Another object for the same store, which another thread can use while this one waits."""
        raise self._lacks("clone")

    def has_extended_api(self) -> bool:
        """Whether there are `append`, `multi_get` and `multi_set`."""
        return type(self).append is not Store.append

    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None) -> None:
        """Wait until `world_size` processes have come to the barrier of this key."""
        come = self.add(f"{key}/num_members", 1)
        if come == world_size:
            self.set(f"{key}/last_member", "1")
        self.wait([f"{key}/last_member"], self.timeout if timeout is None else timeout)


class PrefixStore(Store):
    """A store whose keys are those of another that begin with a prefix.

    Parameters
    ----------
    prefix
        What stands before each key, with a slash between.
    store
        The store that keeps the values.
    """

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        self._prefix, self._store = prefix, store

    def _key(self, key: str) -> str:
        return f"{self._prefix}/{key}"

    @property
    def underlying_store(self) -> Store:
        """The store that keeps the values."""
        return self._store

    @property
    def _underlying_non_prefix_store(self) -> Store:
        store = self._store
        while isinstance(store, PrefixStore):
            store = store._store
        return store

    @property
    def timeout(self) -> timedelta:
        """That of the store below."""
        return self._store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Say it to the store below."""
        self._store.set_timeout(timeout)

    def set(self, key: str, value: str | bytes) -> None:
        self._store.set(self._key(key), value)

    def get(self, key: str) -> bytes:
        return self._store.get(self._key(key))

    def add(self, key: str, amount: int) -> int:
        return self._store.add(self._key(key), amount)

    def check(self, keys: Sequence[str]) -> bool:
        return self._store.check([self._key(key) for key in keys])

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        prefixed = [self._key(key) for key in keys]
        self._store.wait(prefixed) if timeout is None else self._store.wait(prefixed, timeout)

    def delete_key(self, key: str) -> bool:
        return self._store.delete_key(self._key(key))

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        return self._store.compare_set(self._key(key), expected, desired)

    def num_keys(self) -> int:
        """How many keys the store below has, whatever their prefix."""
        return self._store.num_keys()

    def list_keys(self) -> list[str]:
        """The keys with this prefix, without it."""
        start = self._key("")
        return [key[len(start) :] for key in self._store.list_keys() if key.startswith(start)]

    def append(self, key: str, value: str | bytes) -> None:
        self._store.append(self._key(key), value)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        return self._store.multi_get([self._key(key) for key in keys])

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        self._store.multi_set([self._key(key) for key in keys], values)

    def queue_push(self, key: str, value: str | bytes) -> None:
        self._store.queue_push(self._key(key), value)

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        return self._store.queue_pop(self._key(key), block)

    def queue_len(self, key: str) -> int:
        return self._store.queue_len(self._key(key))

    def clone(self) -> PrefixStore:
        return PrefixStore(self._prefix, self._store.clone())

    def has_extended_api(self) -> bool:
        return self._store.has_extended_api()
