"""``.metadata``: a pickle under PyTorch's names, in which nothing but metadata may be named."""

from __future__ import annotations

import io
import pathlib
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import mt_core as mt
from mt_core.dtypes import ALL_DTYPES
from mt_core.serialization.rebuild import _get_layout
from mt_core.size import Size

from . import metadata as _metadata

__all__ = ["dump_metadata", "load_metadata"]

_HOME = "torch.distributed.checkpoint.metadata"
_OWN = (*_metadata.__all__, "_MEM_FORMAT_ENCODING")


@dataclass
class _StorageInfo:
    """Where something lies: a file of the folder, and which bytes of it."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Sequence[str] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # As in files of before there were transforms.
        return {name: value for name, value in self.__dict__.items() if value is not None}


def _names() -> dict[tuple[str, str], Any]:
    """What files may name: (module, name) in PyTorch -> what it is here."""
    names: dict[tuple[str, str], Any] = {(_HOME, name): getattr(_metadata, name) for name in _OWN}
    names["torch.distributed.checkpoint.filesystem", "_StorageInfo"] = _StorageInfo
    names["torch", "Size"] = Size
    names["torch.serialization", "_get_layout"] = _get_layout
    names |= {("torch", dtype.name): dtype for dtype in ALL_DTYPES}
    for kind in ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath"):
        # Of another system's path the text is kept: it is told, and not followed.
        for module in ("pathlib", "pathlib._local"):
            names[module, kind] = pathlib.PurePath
    return names


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        found = _names().get((module, name))
        if found is None:
            raise pickle.UnpicklingError(f"the metadata of a checkpoint names {module}.{name}, which is no part of it")
        return found


def load_metadata(file: BinaryIO) -> Any:
    """Read metadata, PyTorch's or our own; nothing that the file says is run.

    Raises
    ------
    pickle.UnpicklingError
        Where it is none.
    """
    return _Unpickler(file).load()


_Base: Any = vars(pickle)["_Pickler"]  # the one whose parts can be replaced: it is written in Python


class _Pickler(_Base):  # type: ignore[misc]
    """Writes globals under PyTorch's names, which need not be what is found there in this process."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file, 4)
        self._torch_names = {id(thing): key for key, thing in _names().items() if not key[0].startswith("pathlib")}

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, type(mt.strided)):
            return _get_layout, (str(thing),)
        return NotImplemented

    def save_global(self, obj: Any, name: str | None = None) -> None:
        key = self._torch_names.get(id(obj))
        if key is None:
            super().save_global(obj, name)
            return
        for text in key:
            self.save(text)
        self.write(pickle.STACK_GLOBAL)
        self.memoize(obj)

    dispatch = dict(_Base.dispatch)
    dispatch[type] = lambda self, obj: self.save_global(obj)
    dispatch[type(mt.float32)] = lambda self, obj: self.save_global(obj)
    dispatch[type(_get_layout)] = lambda self, obj: self.save_global(obj)


def dump_metadata(metadata: Any) -> bytes:
    """Metadata as PyTorch writes it."""
    file = io.BytesIO()
    _Pickler(file).dump(metadata)
    return file.getvalue()
