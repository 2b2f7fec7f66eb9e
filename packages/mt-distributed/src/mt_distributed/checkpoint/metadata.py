"""What a checkpoint's ``.metadata`` holds: names, shapes and pieces of what was saved, and where they lie."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import mt_core as mt
from mt_core.size import Size

__all__ = [
    "BytesStorageMetadata",
    "ChunkStorageMetadata",
    "Metadata",
    "MetadataIndex",
    "StorageMeta",
    "TensorProperties",
    "TensorStorageMetadata",
]


@dataclass
class ChunkStorageMetadata:
    """A piece of a tensor: where it begins in each dimension, and its sizes."""

    offsets: Size
    sizes: Size


class _MEM_FORMAT_ENCODING(Enum):
    """Memory formats by number: objects of that type have no pickles in PyTorch."""

    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


_FORMATS = {
    mt.contiguous_format: _MEM_FORMAT_ENCODING.TORCH_CONTIGUOUS_FORMAT,
    mt.channels_last: _MEM_FORMAT_ENCODING.TORCH_CHANNELS_LAST,
    mt.preserve_format: _MEM_FORMAT_ENCODING.TORCH_PRESERVE_FORMAT,
}


@dataclass
class TensorProperties:
    """What a tensor is besides its elements."""

    dtype: mt.dtype = field(default_factory=mt.get_default_dtype)
    layout: Any = mt.strided
    requires_grad: bool = False
    memory_format: Any = mt.contiguous_format
    pin_memory: bool = False

    def __getstate__(self) -> tuple[Any, ...]:
        format = _FORMATS.get(self.memory_format)
        if format is None:
            raise RuntimeError(f"Invalid torch.memory_format: {self.memory_format}")
        return self.dtype, self.layout, self.requires_grad, format, self.pin_memory

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.dtype, self.layout, self.requires_grad, format, self.pin_memory = state
        self.memory_format = next(known for known, number in _FORMATS.items() if number == format)

    @staticmethod
    def create_from_tensor(tensor: mt.Tensor) -> TensorProperties:
        """The properties of a tensor."""
        return TensorProperties(dtype=tensor.dtype, layout=tensor.layout, requires_grad=tensor.requires_grad)


@dataclass
class TensorStorageMetadata:
    """A tensor, and the pieces in which it was saved."""

    properties: TensorProperties
    size: Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """Anything else: a pickle."""


@dataclass
class StorageMeta:
    """Which checkpoint this is."""

    checkpoint_id: str | os.PathLike[str] | None = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """All of a checkpoint but its contents.

    Parameters
    ----------
    state_dict_metadata
        Name -> what it is.
    planner_data
        Name -> path of keys in the nested state dict.
    storage_data
        `MetadataIndex` -> where it lies.
    """

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclass(frozen=True)
class MetadataIndex:
    """A piece of something by name and offset; `index` says where in the list of pieces it may be found."""

    fqn: str
    offset: Size | None = None
    index: int | None = field(hash=False, compare=False, default=None)

    def __init__(self, fqn: str, offset: Sequence[int] | None = None, index: int | None = None) -> None:
        object.__setattr__(self, "fqn", fqn)
        object.__setattr__(self, "index", index)
        if offset is not None:
            object.__setattr__(self, "offset", Size(offset))
