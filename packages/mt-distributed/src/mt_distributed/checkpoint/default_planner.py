"""The plans that `save` and `load` make where none are given."""

from __future__ import annotations

import dataclasses
import io
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import mt_core as mt
from mt_core.serialization import load as load_file
from mt_core.serialization import save as save_file
from mt_core.size import Size

from .metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from .nested import flatten_state_dict, set_at
from .pieces import clashing, overlap, piece_of, volume
from .planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    TensorWriteData,
    WriteItem,
    WriteItemType,
)

__all__ = [
    "DefaultLoadPlanner",
    "DefaultSavePlanner",
    "create_default_global_load_plan",
    "create_default_global_save_plan",
    "create_default_local_load_plan",
    "create_default_local_save_plan",
]

#: The format of ``.metadata``.
VERSION = "1.0.0"


class DefaultSavePlanner(SavePlanner):
    """Writes each piece of each tensor, and all else as pickles; what several ranks have, one of them writes.

    Parameters
    ----------
    flatten_state_dict
        Whether leaves of nested state dicts are saved by themselves; else what is nested is one pickle.
    flatten_sharded_tensors, dedup_replicated_tensors
        Without effect, as in PyTorch.
    dedup_save_to_lowest_rank
        Whether the first rank writes what several have; else who has the least to write.
    enable_plan_caching
        Refused.
    """

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        if enable_plan_caching:
            raise NotImplementedError("DefaultSavePlanner with enable_plan_caching=True is not supported by mindtorch")
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.dedup_save_to_lowest_rank = dedup_save_to_lowest_rank
        self.mappings: dict[str, Any] = {}

    def set_up_planner(
        self, state_dict: dict[str, Any], storage_meta: StorageMeta | None = None, is_coordinator: bool = False
    ) -> None:
        """Take what is to be saved."""
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.is_coordinator = state_dict, is_coordinator

    def create_local_plan(self) -> SavePlan:
        """All that this rank has."""
        plan = create_default_local_save_plan(self.state_dict, self.is_coordinator)
        return dataclasses.replace(plan, planner_data=self.mappings) if self.flatten_state_dict else plan

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """Each thing once, and the metadata.

        Raises
        ------
        ValueError
            Where pieces of a tensor overlap, or do not fill it.
        """
        plans = _without_repetitions(all_plans, self.dedup_save_to_lowest_rank)
        plans, metadata = create_default_global_save_plan(plans)
        if self.flatten_state_dict:
            paths: dict[str, Any] = {}
            for plan in reversed(all_plans):
                paths |= plan.planner_data
            metadata = dataclasses.replace(metadata, planner_data=paths)
        _check_filled(metadata)
        return plans, metadata

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """What this rank writes."""
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item: WriteItem) -> mt.Tensor | io.BytesIO:
        """A piece of a tensor, or a pickle in the format of `torch.save`."""
        return self.transform_object(write_item, self.lookup_object(write_item.index))

    def lookup_object(self, index: MetadataIndex) -> Any:
        """What the state dict has."""
        value = self.state_dict[index.fqn]
        if isinstance(value, mt.Tensor):
            piece = piece_of(value)
            assert piece is not None
            return piece[1]
        return value

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        """The pickle of what is no tensor."""
        if write_item.type is WriteItemType.BYTE_IO:
            written = io.BytesIO()
            save_file(object, written)
            written.seek(0)
            return written
        return object


def create_default_local_save_plan(state_dict: dict[str, Any], is_coordinator: bool) -> SavePlan:
    """An item for each piece of a tensor that this rank has, and for each other value."""
    items = []
    for name, value in state_dict.items():
        if not isinstance(value, mt.Tensor):
            items.append(WriteItem(MetadataIndex(name), WriteItemType.BYTE_IO))
            continue
        piece = piece_of(value)
        if piece is not None:
            chunk = piece[0]
            whole = chunk.sizes == value.shape
            data = TensorWriteData(chunk, TensorProperties.create_from_tensor(value), Size(value.shape))
            kind = WriteItemType.TENSOR if whole else WriteItemType.SHARD
            items.append(WriteItem(MetadataIndex(name, chunk.offsets), kind, tensor_data=data))
    return SavePlan(items)


def _without_repetitions(plans: list[SavePlan], to_lowest: bool) -> list[SavePlan]:
    owners: dict[MetadataIndex, list[int]] = defaultdict(list)
    items: dict[MetadataIndex, WriteItem] = {}
    for rank, plan in enumerate(plans):
        for item in plan.items:
            owners[item.index].append(rank)
            items.setdefault(item.index, item)
    load = [0] * len(plans)
    chosen: dict[MetadataIndex, int] = {}
    # What one rank alone has is counted before it is decided who writes the rest.
    for index, ranks in sorted(owners.items(), key=lambda pair: len(pair[1]) > 1):
        rank = min(ranks) if to_lowest else min(ranks, key=lambda one: (load[one], one))
        chosen[index] = rank
        load[rank] += _bytes_of(items[index])
    return [
        dataclasses.replace(plan, items=[item for item in plan.items if chosen[item.index] == rank])
        for rank, plan in enumerate(plans)
    ]


def _bytes_of(item: WriteItem) -> int:
    size = item.tensor_storage_size()  # of the whole tensor, though it is a piece that is written, as in PyTorch
    return 1 if size is None else size


def create_default_global_save_plan(
    all_plans: list[SavePlan], rewrite_index_hints: bool = True
) -> tuple[list[SavePlan], Metadata]:
    """The metadata of all plans, and the plans with the place of each piece among those of its tensor."""
    known: dict[str, TensorStorageMetadata | BytesStorageMetadata] = {}
    plans = []
    for plan in all_plans:
        items = []
        for item in plan.items:
            if item.tensor_data is None:
                known[item.index.fqn] = BytesStorageMetadata()
                items.append(item)
                continue
            data = item.tensor_data
            entry = known.setdefault(item.index.fqn, TensorStorageMetadata(data.properties, data.size, []))
            if not isinstance(entry, TensorStorageMetadata):
                raise ValueError(f"{item.index.fqn} is a tensor on some ranks, and something else on others")
            if rewrite_index_hints:
                hinted = dataclasses.replace(item.index, index=len(entry.chunks))
                item = dataclasses.replace(item, index=hinted)
            items.append(item)
            entry.chunks.append(data.chunk)
        plans.append(dataclasses.replace(plan, items=items))
    return plans, Metadata(known, version=VERSION)


def _check_filled(metadata: Metadata) -> None:
    for name, entry in metadata.state_dict_metadata.items():
        if isinstance(entry, TensorStorageMetadata):
            found = sum(volume(chunk.sizes) for chunk in entry.chunks)
            if found != volume(entry.size) or any(True for _ in clashing(entry.chunks)):
                raise ValueError(
                    f"Failed to validate global plan: the pieces of {name} overlap, or do not fill {entry.size}"
                )


class DefaultLoadPlanner(LoadPlanner):
    """Fills the tensors of a state dict, and replaces all else in it.

    Parameters
    ----------
    flatten_state_dict
        As it was when saving.
    flatten_sharded_tensors
        Without effect, as in PyTorch.
    allow_partial_load
        Whether what the checkpoint lacks is left as it is.
    """

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.allow_partial_load = allow_partial_load
        self.mappings: dict[str, Any] = {}

    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        """Take what is to be filled, and what there is."""
        self.original_state_dict = state_dict
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.metadata, self.is_coordinator = state_dict, metadata, is_coordinator

    def create_local_plan(self) -> LoadPlan:
        """What this rank wants: its pieces, out of those that were saved."""
        assert self.metadata is not None, "set_up_planner was given no metadata"
        return create_default_local_load_plan(self.state_dict, self.metadata, not self.allow_partial_load)

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """The plans as they are."""
        return create_default_global_load_plan(global_plan)

    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """The plan as it is."""
        return central_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Put what a pickle holds into the state dict. Pickles may run anything: load files that you trust."""
        name = read_item.dest_index.fqn
        loaded = load_file(value, weights_only=False)
        if self.flatten_state_dict:
            set_at(self.original_state_dict, self.mappings[name], loaded)
        else:
            self.state_dict[name] = loaded

    def resolve_tensor(self, read_item: ReadItem) -> mt.Tensor:
        """The part of a tensor that is to be filled."""
        return self.transform_tensor(read_item, self.lookup_tensor(read_item.dest_index))

    def commit_tensor(self, read_item: ReadItem, tensor: mt.Tensor) -> None:
        """Nothing: the elements are written in place."""

    def lookup_tensor(self, index: MetadataIndex) -> mt.Tensor:
        """This rank's piece of a tensor."""
        piece = piece_of(self.state_dict[index.fqn])
        assert piece is not None
        return piece[1]

    def transform_tensor(self, read_item: ReadItem, tensor: mt.Tensor) -> mt.Tensor:
        """Elements of a piece: a view."""
        return narrowed(tensor, read_item.dest_offsets, read_item.lengths)


def narrowed(tensor: mt.Tensor, offsets: Size, lengths: Size) -> mt.Tensor:
    """A block of a tensor: a view."""
    for dim, (start, length) in enumerate(zip(offsets, lengths, strict=True)):
        if length != tensor.shape[dim]:
            tensor = tensor.narrow(dim, start, length)
    return tensor


def create_default_local_load_plan(state_dict: dict[str, Any], metadata: Metadata, strict: bool = True) -> LoadPlan:
    """Items for all values of a state dict.

    Raises
    ------
    RuntimeError
        Where the checkpoint lacks one, unless `strict` is False.
    ValueError
        Where a tensor was saved with another size, or something else was saved.
    """
    items: list[ReadItem] = []
    for name, value in state_dict.items():
        entry = metadata.state_dict_metadata.get(name)
        if entry is None:
            if strict:
                raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
            continue
        if isinstance(entry, BytesStorageMetadata):
            nothing = Size([0])
            index = MetadataIndex(name)
            items.append(ReadItem(LoadItemType.BYTE_IO, index, nothing, index, nothing, nothing))
        elif not isinstance(value, mt.Tensor):
            raise ValueError(
                f"Invalid checkpoint metadata for {name}, expected BytesStorageMetadata but found {type(entry)}"
            )
        else:
            if entry.size != value.shape:
                raise ValueError(
                    f"Size mismatch between saved {entry.size} and current: {value.shape} for {name}",
                )
            items += _reads_of(name, entry, value)
    return LoadPlan(items)


def _reads_of(name: str, entry: TensorStorageMetadata, value: mt.Tensor) -> Iterator[ReadItem]:
    piece = piece_of(value)
    if piece is None:
        return
    own: ChunkStorageMetadata = piece[0]
    for number, chunk in enumerate(entry.chunks):
        common = overlap(own, chunk)
        if common is not None:
            into, out_of, lengths = common
            yield ReadItem(
                LoadItemType.TENSOR,
                MetadataIndex(name, own.offsets),
                into,
                MetadataIndex(name, chunk.offsets, number),
                out_of,
                lengths,
            )


def create_default_global_load_plan(all_plans: list[LoadPlan]) -> list[LoadPlan]:
    """The plans as they are: each rank reads what it wants."""
    return all_plans
