"""``torch.load``."""

import io
import mmap as mmap_module
import os
import pickle
import warnings
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from .. import torch_names
from ..devices import device
from ..plugins.remedies import from_a_clone
from ..storage import UntypedStorage
from ..typed_storage import TypedStorage
from . import config
from .archive import ArchiveReader, expected_size_error
from .files import is_path, opened
from .locations import discards_data
from .reader import Reader, storage_request
from .weights_unpickler import RERUN, unsafe_globals

__all__ = ["FILE_LIKE", "MAP_LOCATION", "FileLike", "get_unsafe_globals_in_checkpoint", "load"]

#: What `load` and ``torch.save`` take as a file, and what `load` takes as ``map_location``.
FileLike = FILE_LIKE = str | os.PathLike[str] | IO[bytes]
MAP_LOCATION = Callable[[Any, str], Any] | device | str | dict[str, str] | None

_ZIP_MAGIC = b"PK\x03\x04"
_TRUE = ("1", "y", "yes", "true")


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read an object that ``torch.save`` of mindtorch or of PyTorch wrote, in the zip format or one of those before it.

    Parameters
    ----------
    f
        A path, or a file-like object with ``read``, ``readline``, ``seek`` and ``tell``.
    map_location
        Where tensors go: None (the device they were saved from), a device or its name, a dict from names to names, or a
        function of a storage and a name that returns a storage.
    pickle_module
        Where the unpickler comes from, if not weights_only.
    weights_only
        True (the default): tensors, numbers, strings and containers only, and nothing in the file is run. False: any
        object; the file can run any code, so it must come from someone trusted.
    mmap
        Whether to map the file instead of reading it: tensors are read when used, and writing to them does not change
        the file. Only for a path.

    Raises
    ------
    pickle.UnpicklingError
        If weights_only refuses the file's content; the message says what it was and what to do.
    RuntimeError, EOFError
        If the file is damaged.
    """
    weights_only = _weights_only(weights_only, pickle_module)
    if mmap is None:
        mmap = config.load.mmap
    if mmap and not is_path(f):
        raise ValueError("f must be a file path in order to use the mmap argument")
    if weights_only and pickle_load_args:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    reader = Reader(weights_only, pickle_module or pickle, map_location, {"encoding": "utf-8", **pickle_load_args})
    with opened(f) as file:
        if _is_zip(file):
            return _load_archive(f, file, reader, mmap)
        if mmap:
            raise RuntimeError(
                f"mmap can only be used with files saved with `torch.save({f}, _use_new_zipfile_serialization=True), "
                "please torch.save your checkpoint with this option in order to use mmap."
            )
        from .legacy import load_legacy  # lazy: files of before PyTorch 1.6 are rare

        return load_legacy(file, reader)


def _weights_only(requested: bool | None, pickle_module: Any) -> bool:
    """What `weights_only` means, given the environment variables that PyTorch knows."""
    forced = os.environ.get("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0") in _TRUE
    forbidden = os.environ.get("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0") in _TRUE
    if forced and forbidden:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, but "
            "both were set."
        )
    weights_only = requested
    if weights_only is None:
        weights_only = pickle_module is None and not forbidden
    if forced:
        weights_only = True
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    return weights_only


def _is_zip(file: IO[bytes]) -> bool:
    start = file.tell()
    magic = file.read(len(_ZIP_MAGIC))
    file.seek(start)
    return magic == _ZIP_MAGIC


def _load_archive(f: Any, file: IO[bytes], reader: Reader, mmap: bool) -> Any:
    archive = ArchiveReader(file)
    if "constants.pkl" in archive:
        return _load_torchscript(file, reader)
    storages = ArchiveStorages(archive, reader, _mapped(f) if mmap else None)
    pickled = archive.open("data.pkl")
    return reader.unpickle(pickled, storages.persistent_load, "data.pkl")


def _load_torchscript(file: IO[bytes], reader: Reader) -> Any:
    """What ``torch.jit.load`` makes of the file."""
    if reader.weights_only:
        raise RuntimeError(
            "Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. " + RERUN
        )
    warnings.warn(
        "'torch.load' received a zip file that looks like a TorchScript archive dispatching to 'torch.jit.load' (call "
        "'torch.jit.load' directly to silence this warning)",
        UserWarning,
        stacklevel=4,
    )
    try:
        load_archive = torch_names.resolve("torch.jit", "load")
    except LookupError:
        raise RuntimeError("the file is a TorchScript archive: " + from_a_clone("mindtorch")) from None
    file.seek(0)
    return load_archive(file, map_location=reader.map_location)


def _mapped(path: Any) -> np.ndarray:
    """A file's bytes, mapped; writable, and copied on write unless the mmap options say otherwise."""
    shared = config.load.mmap_flags == config.MAP_SHARED
    access = mmap_module.ACCESS_WRITE if shared else mmap_module.ACCESS_COPY
    with open(path, "r+b" if shared else "rb") as file:
        return np.frombuffer(mmap_module.mmap(file.fileno(), 0, access=access), np.uint8)


class ArchiveStorages:
    """The storages of an archive, each made when the pickle first asks for it."""

    def __init__(
        self, archive: ArchiveReader, reader: Reader, mapped: np.ndarray | None, folder: str = "data/"
    ) -> None:
        self._archive = archive
        self._folder = folder
        self._reader = reader
        self._mapped = mapped
        recorded = archive.read("byteorder") if "byteorder" in archive else None
        self._byteswapped = config.is_byteswapped(recorded)
        self._storages: dict[str, UntypedStorage] = {}

    def persistent_load(self, saved_id: Any) -> TypedStorage:
        """The storage that a tuple in the pickle stands for."""
        d, key, location, nbytes = storage_request(saved_id)
        if key not in self._storages:
            self._storages[key] = self._load(self._folder + key, d, location, nbytes)
        return TypedStorage(wrap_storage=self._storages[key], dtype=d, _internal=True)

    def _load(self, record: str, d: Any, location: str, nbytes: int) -> UntypedStorage:
        if discards_data(self._reader.map_location, location):
            return UntypedStorage(nbytes, device="meta")
        if self._archive.size(record) != nbytes:
            raise expected_size_error(record, self._archive.size(record), nbytes)
        storage = UntypedStorage._over_numpy(self._bytes(record, nbytes))
        if self._byteswapped:
            storage.byteswap(d)
        return self._reader.restore(storage, location)

    def _bytes(self, record: str, nbytes: int) -> np.ndarray:
        if self._mapped is not None:
            offset = self._archive.offset(record)
            return self._mapped[offset : offset + nbytes]
        memory = np.empty(nbytes, np.uint8)
        if not config.is_skipping_data():
            self._archive.read_into(record, memory)
        return memory


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """Full names of the classes and functions in a file that ``weights_only=True`` would refuse. Nothing is loaded.

    Raises
    ------
    ValueError
        If the file is not in the zip format.
    """
    with opened(f) as file:
        if not _is_zip(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        archive = ArchiveReader(file)
        if "constants.pkl" in archive:
            raise ValueError(
                "Expected input to be a checkpoint returned by torch.save but got a torchscript checkpoint"
            )
        return unsafe_globals(archive.open("data.pkl"))


def _load_from_bytes(data: bytes) -> Any:
    """A storage that Python's pickle wrote under PyTorch: a whole ``torch.save`` file inside."""
    return load(io.BytesIO(data), weights_only=False)
