"""``torch.save``."""

import io
import os
import pickle
import sys
from collections.abc import Iterator
from typing import Any

from ..dtypes import dtype, uint8
from ..storage import UntypedStorage, untyped
from ..typed_storage import TypedStorage, storage_class_of
from . import config
from .archive import ArchiveWriter, archive_name_of
from .blocks import write_block
from .files import Output, is_path, written
from .locations import location_tag
from .pickler import pickler_class

__all__ = ["DEFAULT_PROTOCOL", "save"]

DEFAULT_PROTOCOL = 2
_ZEROS = bytes(1 << 20)


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write an object to a file that ``torch.load`` of mindtorch and of PyTorch reads.

    Tensors that share memory share it again when loaded: the whole storage is written, once.

    Parameters
    ----------
    obj
        Anything picklable: a tensor, a ``state_dict``, a module.
    f
        A path, or a file-like object with ``write``. A file at the path is replaced only when the new one is complete,
        and hands over its mode and, where permitted, its owner; one with several hard links, or in a folder where no
        file can be made, is written in place, with a warning. What processes left in the folder that were killed while
        saving is removed.
    pickle_module
        Where the pickler comes from.
    pickle_protocol
        Protocol of the pickle. ``torch.load(weights_only=True)`` reads protocol 2.
    _use_new_zipfile_serialization
        Whether to write the zip format; otherwise the one that PyTorch had before 1.6.

    Raises
    ------
    RuntimeError
        If the directory does not exist, two tensors see the same storage as different dtypes, or ``write`` of a
        file-like object says that it took less than it was given.
    """
    with written(f) as file:
        if _use_new_zipfile_serialization:
            name = archive_name_of(os.fspath(f)) if is_path(f) else "archive"
            with ArchiveWriter(file.write, name, config.save.storage_alignment) as writer:
                _save_records(obj, writer, pickle_module, pickle_protocol, _disable_byteorder_record)
        else:
            _save_legacy(obj, file, pickle_module, pickle_protocol)


class StorageTable:
    """Gives each storage that a pickle meets a key, and refuses one that is seen as two dtypes."""

    def __init__(self) -> None:
        self._keys: dict[int, str] = {}
        #: Key -> (storage, dtype of its elements), in order of appearance.
        self.storages: dict[str, tuple[UntypedStorage, dtype]] = {}
        self._dtypes: dict[int, dtype] = {}

    def persistent_id(self, storage: Any) -> tuple[Any, ...]:
        """What stands in the pickle for a storage: its class, key, location and number of elements."""
        if isinstance(storage, TypedStorage):
            kind: Any = storage_class_of(storage.dtype)
            d = storage.dtype
        else:
            kind, d = UntypedStorage, uint8
        if kind is None:
            raise KeyError(f"dtype {d} is not recognized")
        block = untyped(storage)
        self._check_dtype(block, d)
        key = self._keys.setdefault(id(block), str(len(self._keys)))
        self.storages[key] = block, d
        return ("storage", kind, key, location_tag(block), block.nbytes() // d.itemsize)

    def _check_dtype(self, block: UntypedStorage, d: dtype) -> None:
        address = block.data_ptr()
        if address and self._dtypes.setdefault(address, d) is not d:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")


def _save_records(obj: Any, writer: ArchiveWriter, pickle_module: Any, protocol: int, without_byteorder: bool) -> None:
    table = StorageTable()
    pickled = io.BytesIO()
    pickler_class(pickle_module, table.persistent_id)(pickled, protocol).dump(obj)
    writer.write_record("data.pkl", pickled.getvalue())
    writer.write_record(".format_version", b"1")
    writer.write_record(".storage_alignment", str(config.save.storage_alignment).encode())
    if not without_byteorder:
        writer.write_record("byteorder", sys.byteorder.encode())
    for key, (storage, _) in table.storages.items():
        if config.is_skipping_data():
            writer.write_pieces(f"data/{key}", _zeros(storage.nbytes()), storage.nbytes())
        elif storage.device.type != "meta":
            writer.write_record(f"data/{key}", storage.cpu()._host_bytes())


def _zeros(count: int) -> Iterator[bytes]:
    while count > 0:
        yield _ZEROS[: min(count, len(_ZEROS))]
        count -= len(_ZEROS)


def _save_legacy(obj: Any, file: Output, pickle_module: Any, protocol: int) -> None:
    from .legacy import header  # lazy: files of before PyTorch 1.6 are rare

    table = StorageTable()
    pickled = io.BytesIO()
    pickler_class(pickle_module, lambda storage: (*table.persistent_id(storage), None))(pickled, protocol).dump(obj)
    for part in header():
        file.write(pickle.dumps(part, protocol))
    file.write(pickled.getbuffer())
    file.write(pickle.dumps(list(table.storages), protocol))
    for storage, d in table.storages.values():
        write_block(file, storage, d)
