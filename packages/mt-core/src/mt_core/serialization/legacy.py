"""The format that ``torch.save`` wrote before PyTorch 1.6: five pickles one after another, then the storages' bytes.

The pickles are a magic number, a protocol version, a description of the machine, the object, and the keys of the
storages in the order in which they follow, each as a count of elements (8 bytes) and the elements, in little-endian
order.
"""

from __future__ import annotations

import inspect
import io
import pickle
import sys
import warnings
from typing import IO, Any

from ..dtypes import dtype
from ..storage import UntypedStorage
from ..typed_storage import TypedStorage
from .blocks import read_block, truncated
from .locations import discards_data
from .reader import Reader, SourceChangeWarning, storage_request
from .tar import is_tar, load_tar

__all__ = ["load_legacy"]

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001


def header() -> tuple[Any, ...]:
    """The objects of the first three pickles."""
    sizes = {"short": 2, "int": 4, "long": 4}
    machine = {"protocol_version": PROTOCOL_VERSION, "little_endian": sys.byteorder == "little", "type_sizes": sizes}
    return MAGIC_NUMBER, PROTOCOL_VERSION, machine


def load_legacy(file: IO[bytes], reader: Reader) -> Any:
    """The object in a file of this format or of the tar format before it.

    Raises
    ------
    RuntimeError
        If the file is of neither format or is damaged.
    """
    if is_tar(file):
        return load_tar(file, reader)
    _check_header(file, reader)
    storages = _LegacyStorages(file, reader)
    result = reader.unpickle(file, storages.persistent_load)
    keys = reader.unpickle(file, _no_storage)
    if not isinstance(keys, list) or any(not isinstance(key, str) for key in keys):
        raise RuntimeError(f"the list of storages is damaged; corrupt file? {_place(file)}")
    for key in keys:
        storages.fill(key)
    return result


def _check_header(file: IO[bytes], reader: Reader) -> None:
    magic = reader.unpickle_header(file, _no_storage)
    if magic != MAGIC_NUMBER:
        raise RuntimeError(f"Invalid magic number; corrupt file? {_place(file)}")
    version = reader.unpickle_header(file, _no_storage)
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {_shown(version)} {_place(file)}")
    reader.unpickle_header(file, _no_storage)


def _place(file: IO[bytes]) -> str:
    """Where in the file reading stands."""
    return f"(the file, before byte {file.tell()})"


def _shown(value: Any) -> str:
    """A number; of anything else the type, because a damaged file can hold what takes forever to write out."""
    return str(value) if type(value) is int and value.bit_length() < 1024 else f"of {type(value)}"


def _no_storage(saved_id: Any) -> Any:
    raise pickle.UnpicklingError("a storage where the format has none: the file is corrupt")


class _LegacyStorages:
    """Storages are made when the pickle asks for them and filled when their bytes come, behind it."""

    def __init__(self, file: IO[bytes], reader: Reader) -> None:
        self._file = file
        self._reader = reader
        self._storages: dict[str, tuple[UntypedStorage, dtype]] = {}
        self._views: dict[str, UntypedStorage] = {}
        position = file.tell()
        file.seek(0, io.SEEK_END)
        self._bytes_left = file.tell() - position
        file.seek(position)

    def persistent_load(self, saved_id: Any) -> Any:
        """The storage (or, in untrusted files never, the class) that a tuple in the pickle stands for."""
        if (
            isinstance(saved_id, tuple)
            and saved_id[:1] in (("module",), (b"module",))
            and not self._reader.weights_only
        ):
            return _checked_class(*saved_id[1:4])
        d, key, location, nbytes = storage_request(saved_id)
        if key not in self._storages:
            self._storages[key] = self._make(d, location, nbytes), d
        storage = self._storages[key][0]
        view = saved_id[5] if len(saved_id) > 5 else None
        if view is not None:
            storage = self._view(storage, d, view)
        return TypedStorage(wrap_storage=storage, dtype=d, _internal=True)

    def _make(self, d: dtype, location: str, nbytes: int) -> UntypedStorage:
        self._bytes_left -= nbytes
        if self._bytes_left < 0:
            raise truncated(-self._bytes_left, self._file.tell())
        if discards_data(self._reader.map_location, location):
            return UntypedStorage(nbytes, device="meta")
        return self._reader.restore(UntypedStorage(nbytes), location)

    def _view(self, storage: UntypedStorage, d: dtype, view: Any) -> UntypedStorage:
        if not isinstance(view, tuple) or len(view) != 3 or any(type(v) is not int or v < 0 for v in view[1:]):
            raise pickle.UnpicklingError("the description of a storage makes no sense: the file is corrupt")
        key, start, count = str(view[0]), view[1] * d.itemsize, view[2] * d.itemsize
        if start + count > storage.nbytes():
            raise pickle.UnpicklingError("a view reaches beyond its storage: the file is corrupt")
        if key not in self._views:
            self._views[key] = storage[start : start + count]
        return self._views[key]

    def fill(self, key: str) -> None:
        """Read the bytes of the next storage."""
        if key not in self._storages:
            raise RuntimeError(
                f"the file has bytes for a storage {key[:40]!r} that its pickle does not mention; corrupt file? "
                f"{_place(self._file)}"
            )
        storage, d = self._storages[key]
        read_block(self._file, storage, d)


def _checked_class(cls: Any, source_file: Any, source: Any) -> Any:
    """A module class stored together with its source text; warns if the text has changed."""
    try:
        current = inspect.getsource(cls)
    except (OSError, TypeError):
        current = None
    if current != source:
        warnings.warn(
            f"source code of class '{cls.__module__}.{cls.__qualname__}' has changed. you can retrieve the original "
            f"source "
            "code by accessing the object's source attribute or set `torch.nn.Module.dump_patches = True` and use "
            "the patch "
            "tool to revert the changes.",
            SourceChangeWarning,
            stacklevel=2,
        )
    return cls
