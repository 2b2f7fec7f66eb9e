"""Checkpoints as folders of files: ``.metadata``, and ``__RANK_NUMBER.distcp`` with what each rank wrote."""

from __future__ import annotations

import dataclasses
import io
import os
import threading
import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, BinaryIO

import mt_core as mt
from mt_core.futures import Future
from mt_core.serialization import load as load_file
from mt_core.serialization import save as save_file

from .default_planner import narrowed
from .metadata import Metadata, MetadataIndex, StorageMeta
from .metadata_file import _StorageInfo, dump_metadata, load_metadata
from .planner import LoadItemType, LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem, WriteItemType
from .storage import StorageReader, StorageWriter, WriteResult

__all__ = ["FileSystemReader", "FileSystemWriter", "SerializationFormat", "fill"]

METADATA = ".metadata"
SUFFIX = ".distcp"


class SerializationFormat(Enum):
    """How items lie in files."""

    TORCH_SAVE = "torch_save"
    SAFETENSORS = "safetensors"


@dataclass
class _StoragePrefix:
    prefix: str


class FileSystemWriter(StorageWriter):
    """Writes a checkpoint to a folder.

    Parameters
    ----------
    path
        The folder; it is made.
    single_file_per_rank
        Whether a rank writes one file for each thread; else one for each item.
    sync_files
        Whether files are on the disk before the checkpoint is complete.
    thread_count
        How many threads of a rank write.
    per_thread_copy_ahead
        Without effect on the CPU, as in PyTorch.
    cache_staged_state_dict
        Refused.
    overwrite
        Whether a checkpoint that is there is replaced; else RuntimeError.
    serialization_format
        ``TORCH_SAVE``; ``SAFETENSORS`` is refused: `HuggingFaceStorageWriter` writes such files.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False,
        overwrite: bool = True,
        _extensions: Sequence[Any] | None = None,
        serialization_format: SerializationFormat = SerializationFormat.TORCH_SAVE,
    ) -> None:
        for name, given in {
            "cache_staged_state_dict": cache_staged_state_dict,
            "_extensions": _extensions,
            "serialization_format": serialization_format is not SerializationFormat.TORCH_SAVE,
        }.items():
            if given:
                raise NotImplementedError(f"FileSystemWriter with {name} is not supported by mindtorch")
        self.path = Path(path)
        self.single_file_per_rank, self.sync_files = single_file_per_rank, sync_files
        self.thread_count, self.overwrite = thread_count, overwrite
        self.per_thread_copy_ahead = per_thread_copy_ahead
        self.save_id = str(uuid.uuid4())

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """A new checkpoint, in another folder where one is given."""
        if checkpoint_id:
            self.path = Path(checkpoint_id)
        self.save_id = str(uuid.uuid4())

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Nothing: all ranks do the same."""

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Make the folder.

        Raises
        ------
        RuntimeError
            Where a checkpoint is there, and ``overwrite=False``.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        if (self.path / METADATA).exists() and not self.overwrite:
            raise RuntimeError(f"Checkpoint already exists and self.overwrite={self.overwrite}.")
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Say which files each rank writes."""
        return [dataclasses.replace(plan, storage_data=_StoragePrefix(f"__{rank}_")) for rank, plan in enumerate(plans)]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Write all items of a plan; they are written when this returns."""
        if self.single_file_per_rank:
            parts = _shared_out(plan.items, self.thread_count)
        else:
            parts = [[item] for item in plan.items]
        names = (f"{plan.storage_data.prefix}{number}{SUFFIX}" for number in range(len(parts)))
        return self._write_files(list(zip(names, parts, strict=True)), planner)

    def _write_files(
        self, parts: Sequence[tuple[str, Sequence[WriteItem]]], planner: SavePlanner
    ) -> Future[list[WriteResult]]:
        """Write files with their items, by `thread_count` threads."""
        results: list[list[WriteResult]] = [[] for _ in parts]
        errors: list[BaseException] = []
        waiting = list(range(len(parts)))[::-1]

        def work() -> None:
            while waiting and not errors:
                try:
                    number = waiting.pop()
                except IndexError:
                    return
                try:
                    results[number] = self._write_file(*parts[number], planner)
                except BaseException as error:  # noqa: BLE001 - raised again where the thread was started
                    errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(1, self.thread_count)]
        for thread in threads:
            thread.start()
        work()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        future: Future[list[WriteResult]] = Future()
        future.set_result([result for part in results for result in part])
        return future

    def _write_file(self, name: str, items: Sequence[WriteItem], planner: SavePlanner) -> list[WriteResult]:
        results = []
        with open(self.path / name, "wb") as file:
            # Pickles before tensors, as PyTorch has them.
            for item in sorted(items, key=lambda one: one.type is not WriteItemType.BYTE_IO):
                start = file.tell()
                file.write(_contents(item, planner.resolve_data(item)))
                length = file.tell() - start
                results.append(WriteResult(item.index, length, _StorageInfo(name, start, length)))
            if self.sync_files:
                file.flush()
                os.fsync(file.fileno())
        return results

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Write ``.metadata``, which is there in whole or not at all."""
        metadata = dataclasses.replace(
            metadata,
            storage_data={result.index: result.storage_data for part in results for result in part},
            storage_meta=self.storage_meta(),
        )
        temporary = self.path / f"{METADATA}.tmp"
        with open(temporary, "wb") as file:
            file.write(dump_metadata(metadata))
            if self.sync_files:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, self.path / METADATA)

    def storage_meta(self) -> StorageMeta:
        """The folder, and a name of this writing."""
        return StorageMeta(checkpoint_id=self.path, save_id=self.save_id)

    @property
    def checkpoint_id(self) -> str | os.PathLike[str]:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether it is a path, and some folder on its way can be written."""
        if isinstance(checkpoint_id, Path):
            return True
        if "://" in str(checkpoint_id):
            return False
        return any(parent.exists() and os.access(parent, os.W_OK) for parent in Path(checkpoint_id).parents)


def _shared_out(items: Sequence[WriteItem], count: int) -> list[list[WriteItem]]:
    """Items for each of some files: the largest first, each to the smallest."""
    if count <= 1:
        return [list(items)]
    parts: list[list[WriteItem]] = [[] for _ in range(count)]
    sizes = [0] * count
    pickles = [item for item in items if item.type is WriteItemType.BYTE_IO]
    for number, item in enumerate(pickles):
        parts[number % count].append(item)
    tensors = [item for item in items if item.type is not WriteItemType.BYTE_IO]
    for item in sorted(tensors, key=lambda one: one.tensor_storage_size() or 0, reverse=True):
        smallest = sizes.index(min(sizes))
        parts[smallest].append(item)
        sizes[smallest] += item.tensor_storage_size() or 0
    return parts


def _contents(item: WriteItem, data: mt.Tensor | io.BytesIO) -> bytes:
    if isinstance(data, io.BytesIO):
        return data.getvalue()
    file = io.BytesIO()
    tensor = data.detach().cpu()
    if tensor.untyped_storage().nbytes() != tensor.numel() * tensor.element_size():
        tensor = tensor.clone()  # a view would be written with all that it is a part of
    save_file(tensor, file)
    return file.getvalue()


class FileSystemReader(StorageReader):
    """Reads a checkpoint from a folder.

    Parameters
    ----------
    path
        The folder.
    """

    def __init__(self, path: str | os.PathLike[str], _extension_registry: Any | None = None) -> None:
        if _extension_registry is not None:
            raise NotImplementedError("FileSystemReader with _extension_registry is not supported by mindtorch")
        self.path = Path(path)
        self.load_id = str(uuid.uuid4())
        self.storage_data: dict[MetadataIndex, Any] = {}

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Another reading, of another folder where one is given."""
        self.storage_data = {}
        if checkpoint_id:
            self.path = Path(checkpoint_id)
        self.load_id = str(uuid.uuid4())

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """What the checkpoint has.

        Raises
        ------
        FileNotFoundError
            Where there is none, or none that is complete.
        pickle.UnpicklingError
            Where the file names anything but metadata.
        """
        with open(self.path / METADATA, "rb") as file:
            metadata = load_metadata(file)
        if metadata.storage_meta is None:
            metadata.storage_meta = StorageMeta()
        metadata.storage_meta.load_id = self.load_id
        return metadata

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Take what `read_metadata` gave."""
        self.storage_data = metadata.storage_data

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """The plan as it is."""
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """The plans as they are."""
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Read all items of a plan; they are read when this returns. Of tensors' pickles nothing is run."""
        by_file: dict[str, list[ReadItem]] = defaultdict(list)
        for item in plan.items:
            by_file[self.storage_data[item.storage_index].relative_path].append(item)
        for name, items in by_file.items():
            with open(self._path_of(name), "rb") as file:
                for item, data in self._contents(file, items):
                    _read(item, data, planner)
        future: Future[None] = Future()
        future.set_result(None)
        return future

    def _path_of(self, name: str) -> Path:
        path = self.path / name
        if not path.resolve().is_relative_to(self.path.resolve()):
            raise ValueError(f"the checkpoint says that something lies in {name}, outside of its folder")
        return path

    def _contents(self, file: BinaryIO, items: Sequence[ReadItem]) -> Iterator[tuple[ReadItem, io.BytesIO]]:
        for item in items:
            info = self.storage_data[item.storage_index]
            if info.__dict__.get("transform_descriptors"):
                raise NotImplementedError(
                    f"{item.storage_index.fqn} was saved with transforms {info.transform_descriptors}, which mindtorch "
                    "does not know"
                )
            file.seek(info.offset)
            data = file.read(info.length)
            if len(data) != info.length:
                raise RuntimeError(f"{info.relative_path} ends within {item.storage_index.fqn}")
            yield item, io.BytesIO(data)

    @property
    def checkpoint_id(self) -> str | os.PathLike[str]:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """As of the writer."""
        return FileSystemWriter.validate_checkpoint_id(checkpoint_id)


def _read(item: ReadItem, data: io.BytesIO, planner: LoadPlanner) -> None:
    if item.type is LoadItemType.BYTE_IO:
        planner.load_bytes(item, data)
        return
    fill(item, load_file(data, map_location="cpu", weights_only=True), planner)


def fill(item: ReadItem, piece: mt.Tensor, planner: LoadPlanner) -> None:
    """Write the elements that an item wants, out of a piece that was saved."""
    saved = narrowed(piece, item.storage_offsets, item.lengths)
    target = planner.resolve_tensor(item).detach()
    if target.shape != saved.shape:
        raise AssertionError(f"req {item.storage_index} mismatch sizes {target.shape} vs {saved.shape}")
    target.copy_(saved)
    planner.commit_tensor(item, target)
