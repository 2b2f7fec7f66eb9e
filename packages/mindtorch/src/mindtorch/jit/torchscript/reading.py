"""``torch.jit.load``: an archive from a file to a module."""

from __future__ import annotations

import os
import pickle
from typing import IO, Any

from mt_core.serialization.archive import ArchiveReader
from mt_core.serialization.files import is_path, opened
from mt_core.serialization.loading import ArchiveStorages
from mt_core.serialization.reader import Reader

from .classes import ScriptClass, Unit
from .compiling import compiled
from .modules import LoadedModule, make_module
from .sources import Sources
from .unpickling import ArchiveUnpickler

__all__ = ["load_archive", "read_archive"]


def load_archive(f: Any, map_location: Any, extra_files: dict[str, Any] | None) -> LoadedModule:
    """The module of an archive.

    Raises
    ------
    ValueError
        For a path without a file.
    RuntimeError
        For a file that is damaged, or no archive of TorchScript, and code that is not in the language.
    """
    if is_path(f):
        if not os.path.exists(f):
            raise ValueError(f"The provided filename {f} does not exist")
        if os.path.isdir(f):
            raise ValueError(f"The provided filename {f} is a directory")
    elif not hasattr(f, "read"):
        raise AttributeError(f"'{type(f).__name__}' object has no attribute 'read'")
    with opened(f) as file:
        return read_archive(file, map_location, extra_files)


def read_archive(file: IO[bytes], map_location: Any, extra_files: dict[str, Any] | None) -> LoadedModule:
    """The module of an open file."""
    try:
        return _read_archive(file, map_location, extra_files)
    except RecursionError:
        raise RuntimeError("the archive is nested too deep") from None


def _read_archive(file: IO[bytes], map_location: Any, extra_files: dict[str, Any] | None) -> LoadedModule:
    archive = ArchiveReader(file)
    for name in extra_files if extra_files is not None else ():
        record = f"extra/{name}"
        extra_files[name] = archive.read(record) if record in archive else b""  # type: ignore[index]
    unit = Unit(Sources(archive.read, archive.names()), [], compiled)
    unit.version = archive.read(".data/version" if ".data/version" in archive else "version")
    unit.sources.keep()
    known: dict[ScriptClass, type] = {}
    reader = Reader(True, pickle, map_location, {})

    def unpickled(record: str, folder: str) -> Any:
        storages = ArchiveStorages(archive, reader, None, folder)
        unpickler = ArchiveUnpickler(
            archive.open(record),
            storages.persistent_load,
            f"record {record}",
            unit,
            lambda cls: make_module(cls, known),
        )
        try:
            return unpickler.load()
        except (pickle.UnpicklingError, EOFError, RecursionError) as error:
            raise RuntimeError(f"{error} (record {record})" if record not in str(error) else str(error)) from None

    constants = unpickled("constants.pkl", "constants/")
    if not isinstance(constants, tuple):
        raise RuntimeError("the constants of the archive are no tuple (record constants.pkl)")
    unit.constants.extend(constants)
    module = unpickled("data.pkl", "data/")
    if not isinstance(module, LoadedModule):
        raise RuntimeError(f"the archive holds a {type(module).__name__} and no module (record data.pkl)")
    _check(unit)
    return module


def _check(unit: Unit) -> None:
    """Compile all methods of the classes that the archive's values have."""
    for cls in list(unit.classes()):
        if cls.kind in ("module", "class"):
            for method in list(cls.methods.values()):
                method.prepare()
