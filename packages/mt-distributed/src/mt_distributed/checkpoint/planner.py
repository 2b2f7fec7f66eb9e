"""What is to be written or read: plans of items, and who makes them."""

from __future__ import annotations

import abc
import io
import math
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import mt_core as mt
from mt_core.size import Size

from .metadata import ChunkStorageMetadata, Metadata, MetadataIndex, StorageMeta, TensorProperties

__all__ = [
    "BytesIOWriteData",
    "LoadItemType",
    "LoadPlan",
    "LoadPlanner",
    "ReadItem",
    "SavePlan",
    "SavePlanner",
    "TensorWriteData",
    "WriteItem",
    "WriteItemType",
]


class WriteItemType(Enum):
    """What is written: a whole tensor, a piece of one, or a pickle."""

    TENSOR = auto()
    SHARD = auto()
    BYTE_IO = auto()


class LoadItemType(Enum):
    """What is read: elements of a tensor, or a pickle."""

    TENSOR = auto()
    BYTE_IO = auto()


@dataclass(frozen=True)
class BytesIOWriteData:
    """A pickle's size."""

    nbytes: int


@dataclass(frozen=True)
class TensorWriteData:
    """A piece of a tensor of `size`."""

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: Size


@dataclass(frozen=True)
class WriteItem:
    """One thing to write."""

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        """Bytes of the whole tensor; None for a pickle."""
        if self.tensor_data is None:
            return None
        return math.prod(self.tensor_data.size) * self.tensor_data.properties.dtype.itemsize


@dataclass(frozen=True)
class ReadItem:
    """Elements of a saved piece, and where they go in a piece of one's own; or a pickle."""

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: Size
    storage_index: MetadataIndex
    storage_offsets: Size
    lengths: Size


@dataclass(frozen=True)
class SavePlan:
    """What one rank writes."""

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclass
class LoadPlan:
    """What one rank reads."""

    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(abc.ABC):
    """Says what is written by whom.

    `set_up_planner` and `create_local_plan` on each rank, `create_global_plan` on the coordinator, `finish_plan` and
    `resolve_data` on each rank, in this order.
    """

    @abc.abstractmethod
    def set_up_planner(
        self, state_dict: dict[str, Any], storage_meta: StorageMeta | None = None, is_coordinator: bool = False
    ) -> None:
        """Take what is to be saved."""

    @abc.abstractmethod
    def create_local_plan(self) -> SavePlan:
        """What this rank has."""

    @abc.abstractmethod
    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """What each rank is to write, from what each has."""

    @abc.abstractmethod
    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """Take what this rank is to write."""

    @abc.abstractmethod
    def resolve_data(self, write_item: WriteItem) -> mt.Tensor | io.BytesIO:
        """What an item stands for."""


class LoadPlanner(abc.ABC):
    """Says what is read by whom, and where it goes; the order of the calls is as in `SavePlanner`."""

    @abc.abstractmethod
    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        """Take what is to be filled, and what there is."""

    @abc.abstractmethod
    def create_local_plan(self) -> LoadPlan:
        """What this rank wants."""

    @abc.abstractmethod
    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """What each rank is to read."""

    @abc.abstractmethod
    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """Take what this rank is to read."""

    @abc.abstractmethod
    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Take a pickle."""

    def resolve_bytes(self, read_item: ReadItem) -> io.BytesIO:
        """Where a pickle is to be written: refused by planners that do not say."""
        raise NotImplementedError("LoadPlanner.resolve_bytes is not implemented")

    @abc.abstractmethod
    def resolve_tensor(self, read_item: ReadItem) -> mt.Tensor:
        """Where elements are to be written: a tensor of the sizes `read_item.lengths`."""

    @abc.abstractmethod
    def commit_tensor(self, read_item: ReadItem, tensor: mt.Tensor) -> None:
        """Told that the elements are written."""
