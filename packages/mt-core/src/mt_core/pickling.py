"""What storages and layouts tell a pickler about themselves, as in PyTorch, so that pickles travel both ways.

The classes know nothing of files, which hold them; `mt_core._assemble` attaches these functions.
"""

from __future__ import annotations

import io
import weakref
from typing import Any

from .dtypes import dtype, uint8
from .formats import layout
from .storage import UntypedStorage
from .typed_storage import TypedStorage, storage_class_of

__all__ = ["reduce_layout", "reduce_typed_storage", "reduce_untyped_storage", "typed_storage_on"]

Reduced = tuple[Any, tuple[Any, ...]]


def reduce_layout(self: layout) -> Reduced:
    """The layout by its printed name."""
    from .serialization.rebuild import _get_layout  # lazy: files and pickles come late

    return _get_layout, (repr(self),)


def reduce_typed_storage(self: TypedStorage, protocol: Any) -> Reduced:
    """The storage as a whole file of the format before the archives, as bytes."""
    if storage_class_of(self.dtype) is None:  # PyTorch has no pickles of these
        return _rebuild_typed, (self._untyped_storage, self.dtype)
    from .serialization import loading, saving  # lazy: files and pickles come late

    file = io.BytesIO()
    saving.save(self, file, _use_new_zipfile_serialization=False)
    return loading._load_from_bytes, (file.getvalue(),)


def _rebuild_typed(storage: UntypedStorage, d: dtype) -> TypedStorage:
    return TypedStorage(wrap_storage=storage, dtype=d, _internal=True)


def reduce_untyped_storage(self: UntypedStorage, protocol: Any) -> Reduced:
    """The bytes of a typed storage: PyTorch opens those, and not its own pickles of untyped ones."""
    return getattr, (_any_typed_storage_on(self), "_untyped_storage")


def typed_storage_on(storage: UntypedStorage, d: dtype) -> TypedStorage:
    """The one typed storage of a dtype on these bytes, while anyone holds it: picklers know by it what is shared."""
    typed = _typed_storages_of(storage)
    found = typed.get(d)
    if found is None:
        found = typed[d] = TypedStorage(wrap_storage=storage, dtype=d, _internal=True)
    return found


def _any_typed_storage_on(storage: UntypedStorage) -> TypedStorage:
    """A typed storage that a pickler may have met already; else that of the bytes."""
    size = storage.nbytes()
    known = [found for found in _typed_storages_of(storage).values() if size % found.element_size() == 0]
    return known[0] if known else typed_storage_on(storage, uint8)


def _typed_storages_of(storage: UntypedStorage) -> weakref.WeakValueDictionary[dtype, TypedStorage]:
    return storage._block.attributes.setdefault("typed storages", weakref.WeakValueDictionary())
