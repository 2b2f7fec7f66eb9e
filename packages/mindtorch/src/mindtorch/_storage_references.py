"""``torch.multiprocessing.reductions``: weak references to storages, and what a queue is told of what it carries."""

from __future__ import annotations

from typing import Any
from weakref import ref

from mt_core.process_sharing import reduce_storage, reduce_tensor

__all__ = ["StorageWeakRef", "reduce_storage", "reduce_tensor"]


class StorageWeakRef:
    """A weak reference to a storage; those to the same memory are equal.

    Attributes
    ----------
    cdata
        A number that no other storage alive has.
    """

    __slots__ = ("_block", "cdata")

    def __init__(self, storage: Any) -> None:
        untyped = getattr(storage, "_untyped_storage", storage)
        self._block = ref(untyped._block)
        self.cdata = untyped._cdata

    def expired(self) -> bool:
        """Whether the memory is gone."""
        return self._block() is None

    def __hash__(self) -> int:
        return hash(self.cdata)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StorageWeakRef) and (self is other or self.cdata == other.cdata)
