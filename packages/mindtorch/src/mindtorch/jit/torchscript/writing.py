"""``torch.jit.save``: a module to an archive that PyTorch reads."""

from __future__ import annotations

import os
import sys
from typing import Any

from mt_core.serialization.archive import ArchiveWriter, archive_name_of
from mt_core.serialization.files import is_path, written

from .classes import ScriptClass, Unit
from .pickling import Pickler
from .types import Type, type_of

__all__ = ["save_module"]


def save_module(module: Any, f: Any, extra_files: dict[str, Any] | None = None) -> None:
    """Write a module whose class is of an archive.

    Raises
    ------
    NotImplementedError
        For values that cannot be written.
    """
    unit: Unit = module._script_class.unit
    name = archive_name_of(os.fspath(f)) if is_path(f) else "archive"
    records = _records(module, unit)
    with written(f) as output, ArchiveWriter(output.write, name, version=("version", unit.version)) as archive:
        for record, data in records:
            archive.write_record(record, data)
        for extra, data in (extra_files or {}).items():
            archive.write_record(f"extra/{extra}", data.encode() if isinstance(data, str) else data)
        archive.write_record("byteorder", sys.byteorder.encode())


def _records(module: Any, unit: Unit) -> list[tuple[str, Any]]:
    """The records of an archive: all is pickled before anything is written."""
    cls: ScriptClass = module._script_class
    state, constants = Pickler(), Pickler()
    found: list[tuple[str, Any]] = [("data.pkl", state.dumps(module, Type("class", (), cls)))]
    found += [(f"data/{key}", _bytes(storage)) for key, storage in enumerate(state.storages)]
    found += [(record, unit.sources.text(record)) for record in unit.sources.names]
    values = tuple(unit.constants)
    found.append(("constants.pkl", constants.dumps(values, Type("Tuple", tuple(map(type_of, values))))))
    return found + [(f"constants/{key}", _bytes(storage)) for key, storage in enumerate(constants.storages)]


def _bytes(storage: Any) -> Any:
    return memoryview(storage.cpu()._host_bytes())
