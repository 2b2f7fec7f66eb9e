"""Weak references to storages as numbers, which programs hand around in PyTorch: ``storage._weak_ref()``."""

from __future__ import annotations

import itertools
import threading
from typing import Any
from weakref import ref

from .block import Block

__all__ = ["StorageReferences"]

_numbers = itertools.count(1)
_lock = threading.Lock()


class _Reference:
    """A block that may be gone, and how often its number was handed out."""

    __slots__ = ("block", "holders")

    def __init__(self, block: Block) -> None:
        self.block = ref(block)
        self.holders = 0


_references: dict[int, _Reference] = {}


class StorageReferences:
    """What a storage does with numbers that stand for it and do not keep it alive."""

    __slots__ = ()

    _block: Block

    def _weak_ref(self) -> int:
        """A number for these bytes, the same at each call; to be given to `_free_weak_ref` as often as it was asked."""
        with _lock:
            number: int = self._block.attributes.setdefault("weak reference", next(_numbers))
            reference = _references.setdefault(number, _Reference(self._block))
            reference.holders += 1
        return number

    @staticmethod
    def _expired(number: int) -> bool:
        """Whether the bytes that a number stands for are gone.

        Raises
        ------
        RuntimeError
            For a number that stands for none, or was freed; PyTorch reads memory that is not its own then.
        """
        return _found(number).block() is None

    @staticmethod
    def _free_weak_ref(number: int) -> None:
        """Give a number back.

        Raises
        ------
        RuntimeError
            For a number that stands for none, or was freed.
        """
        with _lock:
            reference = _found(number)
            reference.holders -= 1
            if not reference.holders:
                del _references[number]

    @classmethod
    def _new_with_weak_ptr(cls, number: int) -> Any:
        """The storage of the bytes that a number stands for; None where they are gone.

        Raises
        ------
        RuntimeError
            For a number that stands for none, or was freed.
        """
        block = _found(number).block()
        return None if block is None else cls._of_block(block)  # type: ignore[attr-defined]


def _found(number: int) -> _Reference:
    if number not in _references:
        raise RuntimeError(f"{number} is no weak reference to a storage, or was freed")
    return _references[number]
