"""``torch.distributed.checkpoint.hf_storage``: checkpoints as safetensors files, as Hugging Face has them.

``model-00001-of-00002.safetensors`` and ``model.safetensors.index.json`` where one rank has all; else files
``shard-<rank>-model-...`` of pieces, whose headers say where each begins in its tensor. There is no ``.metadata``.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import mt_core as mt
from mt_core.futures import Future
from mt_core.size import Size

from .default_planner import narrowed
from .filesystem import FileSystemReader, FileSystemWriter, SerializationFormat, fill
from .metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from .metadata_file import _StorageInfo
from .planner import LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem, WriteItemType
from .safetensors_file import (
    check_unshared,
    encoded,
    layout_of,
    name_of_dtype,
    packed_header,
    plain_header,
    read_header,
    read_tensor,
)
from .storage import WriteResult

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]

SUFFIX = ".safetensors"
INDEX = "model.safetensors.index.json"
SHARDED_DIR_NAME = "sharded"
CUSTOM_METADATA_KEY = "DCP_SHARDING_INFO"
SAVED_OFFSETS_KEY = "saved_offsets"
_VERSION = {"DCP_VERSION": "1.0", "format": "pt"}


def _file_name(number: int, count: int, rank: int | None = None) -> str:
    name = f"model-{number:05}-of-{count:05}{SUFFIX}"
    return name if rank is None else f"shard-{rank:05}-{name}"


class HuggingFaceStorageWriter(FileSystemWriter):
    """Writes tensors to safetensors files of a folder; what is no tensor is refused.

    Parameters
    ----------
    path
        The folder; it is made.
    fqn_to_index_mapping
        Name of a tensor -> number of its file, from 1; all in one file where it is None.
    thread_count
        How many threads of a rank write files.
    save_distributed
        Whether each rank writes its own pieces; else one rank has all.
    enable_consolidation
        Whether pieces are written to ``path/sharded``, and then put together to whole tensors in ``path``; without
        `save_distributed` files are written to ``path/sharded``, and nothing is put together, as in PyTorch.
    thread_count_consolidation
        How many threads put files together.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        fqn_to_index_mapping: dict[str, int] | None = None,
        thread_count: int = 1,
        save_distributed: bool = False,
        enable_consolidation: bool = False,
        thread_count_consolidation: int = 1,
    ) -> None:
        super().__init__(path, thread_count=thread_count)
        self.serialization_format = SerializationFormat.SAFETENSORS
        self.fqn_to_index_mapping = fqn_to_index_mapping
        self.save_distributed, self.enable_consolidation = save_distributed, enable_consolidation
        self.consolidated_output_path = self.path if enable_consolidation else None
        if enable_consolidation:
            self.path = self.path / SHARDED_DIR_NAME
        self.thread_count_consolidation = thread_count_consolidation

    @property
    def metadata_path(self) -> str:
        """The name of the file that says where tensors are."""
        return INDEX

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Say which files each rank writes.

        Raises
        ------
        ValueError
            Where several ranks have something, and ``save_distributed=False``: their files would have the same names.
            For what is no tensor.
        KeyError
            For tensors that `fqn_to_index_mapping` does not have.
        """
        if not self.save_distributed and sum(bool(plan.items) for plan in plans) > 1:
            raise ValueError(
                "HuggingFaceStorageWriter with save_distributed=False writes what one rank has, but several have "
                "something to write: save_distributed=True writes the pieces of each"
            )
        for item in (item for plan in plans for item in plan.items):
            if item.tensor_data is None:
                raise ValueError(f"{item.index.fqn} is no tensor, and safetensors files have tensors only")
            name_of_dtype(item.tensor_data.properties.dtype, item.index.fqn)
            self._number_of(item.index.fqn)
        return [
            replace(plan, storage_data=rank if self.save_distributed else None) for rank, plan in enumerate(plans, 1)
        ]

    def _number_of(self, name: str) -> int:
        return 1 if self.fqn_to_index_mapping is None else self.fqn_to_index_mapping[name]

    @property
    def _count(self) -> int:
        return max((self.fqn_to_index_mapping or {}).values(), default=1)

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Write all tensors of a plan; they are written when this returns.

        Raises
        ------
        ValueError
            For a tensor, other than a piece, that is not contiguous.
        RuntimeError
            Where two tensors of a file are the same memory.
        """
        parts: dict[str, list[WriteItem]] = defaultdict(list)
        for item in plan.items:
            parts[_file_name(self._number_of(item.index.fqn), self._count, plan.storage_data)].append(item)
        return self._write_files(list(parts.items()), planner)

    def _write_file(self, name: str, items: Sequence[WriteItem], planner: SavePlanner) -> list[WriteResult]:
        tensors, offsets, results = {}, {}, []
        for item in items:
            tensor = planner.resolve_data(item)
            assert isinstance(tensor, mt.Tensor)
            assert item.tensor_data is not None
            fqn = item.index.fqn
            if tensor.untyped_storage().nbytes() != tensor.numel() * tensor.element_size():
                tensor = tensor.detach().clone()  # a view shares no memory in the file, whatever its strides
            if item.type is WriteItemType.TENSOR and not tensor.is_contiguous():
                raise ValueError(
                    f"You are trying to save a non contiguous tensor: `{fqn}` which is not allowed. It either means "
                    "you are trying to save tensors which are reference of each other in which case it's recommended "
                    "to save only the full tensors, and reslice at load time, or simply call `.contiguous()` on your "
                    "tensor to pack it before saving."
                )
            if fqn in tensors:
                raise NotImplementedError(f"two pieces of {fqn} on one rank are not supported in safetensors files")
            tensors[fqn] = tensor
            offsets[fqn] = {SAVED_OFFSETS_KEY: list(item.tensor_data.chunk.offsets)}
            length = tensor.numel() * tensor.element_size()
            results.append(WriteResult(item.index, length, _StorageInfo(name, 0, length)))
        check_unshared(tensors)
        order = layout_of(tensors)
        texts = {CUSTOM_METADATA_KEY: json.dumps(offsets), **_VERSION}
        with open(self.path / name, "wb") as file:
            file.write(packed_header(((fqn, tensors[fqn].dtype, tensors[fqn].shape) for fqn in order), texts))
            for fqn in order:
                file.write(encoded(tensors[fqn]))
            if self.sync_files:
                file.flush()
                os.fsync(file.fileno())
        return results

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Write where tensors are, or put pieces together; nothing where pieces are to be left as they are."""
        written = [result for part in results for result in part]
        if not self.save_distributed:
            files = {result.index.fqn: result.storage_data.relative_path for result in written}
            _write_index(self.path, sum(result.size_in_bytes for result in written), files)
        elif self.enable_consolidation:
            self._consolidate(metadata, written)

    def _consolidate(self, metadata: Metadata, written: Sequence[WriteResult]) -> None:
        # Of what this save wrote alone: an earlier one may have left other files in the folder.
        pieces: dict[str, list[WriteResult]] = defaultdict(list)
        for result in written:
            pieces[result.index.fqn].append(result)
        parts: dict[str, list[str]] = defaultdict(list)
        for name in pieces if self.fqn_to_index_mapping is None else self.fqn_to_index_mapping:
            if name in pieces:
                parts[_file_name(self._number_of(name), self._count)].append(name)
        with ThreadPoolExecutor(max(1, self.thread_count_consolidation)) as threads:
            sizes = threads.map(lambda part: self._write_whole(part[0], part[1], pieces, metadata), parts.items())
            total = sum(sizes)
        assert self.consolidated_output_path is not None
        files = {name: file for file, names in parts.items() for name in names}
        _write_index(self.consolidated_output_path, total, files)

    def _write_whole(
        self, file_name: str, names: list[str], pieces: dict[str, list[WriteResult]], metadata: Metadata
    ) -> int:
        """Write a file of whole tensors, one at a time; how many bytes they have."""
        entries = [(name, metadata.state_dict_metadata[name]) for name in names]
        described = [(name, one.properties.dtype, one.size) for name, one in entries]  # type: ignore[union-attr]
        total = 0
        assert self.consolidated_output_path is not None
        with open(self.consolidated_output_path / file_name, "wb") as file:
            file.write(plain_header(described))
            for name, dtype, size in described:
                whole = mt.empty(size, dtype=dtype)
                for result in pieces[name]:
                    path = self.path / result.storage_data.relative_path
                    header = read_header(path)
                    with open(path, "rb") as shard:
                        piece = read_tensor(shard, header, name)
                    assert result.index.offset is not None
                    if piece.numel():
                        narrowed(whole, result.index.offset, piece.shape).copy_(piece)
                total += file.write(encoded(whole))
            file.flush()
            os.fsync(file.fileno())
        return total


def _write_index(folder: Any, total: int, files: dict[str, str]) -> None:
    text = json.dumps({"metadata": {"total_size": total}, "weight_map": files}, indent=2)
    (folder / INDEX).write_text(text, encoding="utf-8")


@dataclass
class _HFStorageInfo:
    """Where a piece lies: a file of the folder, and what it is there."""

    relative_path: str
    shape: Size
    dtype: mt.dtype


class HuggingFaceStorageReader(FileSystemReader):
    """Reads safetensors files of a folder: of whole tensors, or of pieces that `HuggingFaceStorageWriter` wrote.

    Parameters
    ----------
    path
        The folder.
    thread_count
        How many threads read files.
    """

    def __init__(self, path: str | os.PathLike[str], thread_count: int = 1) -> None:
        super().__init__(path)
        self.thread_count = thread_count

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """What all safetensors files of the folder have; there is nothing where it has none.

        Raises
        ------
        FileNotFoundError
            Where there is no folder.
        ValueError
            For a file that is none, and where files do not agree about the dtype or the dimensions of a tensor.
        """
        known: dict[str, TensorStorageMetadata] = {}
        places: dict[MetadataIndex, _HFStorageInfo] = {}
        for path in sorted(path for path in self.path.iterdir() if path.name.endswith(SUFFIX)):
            header = read_header(path)
            told = json.loads(header.texts.get(CUSTOM_METADATA_KEY, "{}"))
            for name, entry in header.tensors.items():
                offsets = Size(told[name][SAVED_OFFSETS_KEY] if name in told else [0] * len(entry.shape))
                ends = Size([start + length for start, length in zip(offsets, entry.shape, strict=True)])
                properties = TensorProperties(dtype=entry.dtype)
                one = known.setdefault(name, TensorStorageMetadata(properties, ends, []))
                if one.properties != properties or len(one.size) != len(ends):
                    raise ValueError(f"{path} has {name} with another dtype or number of dimensions than other files")
                one.size = Size([max(pair) for pair in zip(one.size, ends, strict=True)])
                one.chunks.append(ChunkStorageMetadata(offsets, entry.shape))
                places[MetadataIndex(name, offsets)] = _HFStorageInfo(path.name, entry.shape, entry.dtype)
        return Metadata(dict(known), storage_data=places, storage_meta=StorageMeta(load_id=self.load_id))

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Read all items of a plan; they are read when this returns."""
        by_file: dict[str, list[ReadItem]] = defaultdict(list)
        for item in plan.items:
            by_file[self.storage_data[item.storage_index].relative_path].append(item)

        def read(name: str) -> None:
            path = self._path_of(name)
            header = read_header(path)
            with open(path, "rb") as file:
                for item in by_file[name]:
                    fill(item, read_tensor(file, header, item.storage_index.fqn), planner)

        if self.thread_count <= 1:
            for name in by_file:
                read(name)
        else:
            with ThreadPoolExecutor(self.thread_count) as threads:
                list(threads.map(read, by_file))
        future: Future[None] = Future()
        future.set_result(None)
        return future
