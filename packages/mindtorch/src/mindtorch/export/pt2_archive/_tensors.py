"""Weights and constants as records: the memory of tensors, once for each storage, and how tensors lie in it."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from mt_core import Tensor
from mt_core.devices import device as Device
from mt_core.serialization import load, save
from mt_core.serialization.archive import ArchiveReader, ArchiveWriter
from mt_core.serialization.rebuild import _rebuild_tensor
from mt_core.storage import UntypedStorage, untyped_storage_of
from mt_core.typed_storage import TypedStorage
from mt_nn import Parameter

from ._codes import DTYPES, LAYOUTS, code_of
from ._fields import Field, damaged, parse

__all__ = ["Geometry", "read_device", "read_geometry", "read_tensors", "save_pickled", "tensor_meta", "write_tensors"]


def tensor_meta(tensor: Any, size: Callable[[Any], dict[str, Any]] | None = None) -> dict[str, Any]:
    """What the schema says of a tensor; `size` writes numbers that may be symbols."""
    written = size or (lambda number: {"as_int": int(number)})
    if tensor.layout not in LAYOUTS.values():
        raise NotImplementedError(f"exported programs cannot be saved with tensors of the layout {tensor.layout}")
    return {
        "dtype": code_of(DTYPES, tensor.dtype),
        "sizes": [written(number) for number in tensor.shape],
        "requires_grad": tensor.requires_grad,
        "device": {"type": tensor.device.type, "index": tensor.device.index},
        "strides": [written(number) for number in tensor.stride()],
        "storage_offset": written(tensor.storage_offset()),
        "layout": code_of(LAYOUTS, tensor.layout),
    }


# Writing


def write_tensors(writer: ArchiveWriter, tensors: dict[str, Any], folder: str, prefix: str, config: str) -> None:
    """Write tensors to records of a folder, and to the record `config` which is where.

    The records of several programs are counted on.

    Raises
    ------
    NotImplementedError
        For what is no dense tensor with memory.
    """
    places: dict[int, str] = {}
    first = sum(name.startswith(folder + prefix) for name in writer.names())
    kept, entries = [], {}
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor) or tensor.device.type == "meta":
            raise NotImplementedError(f"exported programs cannot be saved with {name}, which has no memory of its own")
        plain = tensor.detach().resolve_conj().resolve_neg()
        storage = untyped_storage_of(plain)
        kept.append(storage)  # the addresses of storages are told apart while they are there
        if id(storage) not in places:
            places[id(storage)] = f"{prefix}{first + len(places)}"
            writer.write_record(folder + places[id(storage)], storage.cpu()._host_bytes())
        meta = tensor_meta(plain) | {"requires_grad": tensor.requires_grad}
        entries[name] = {
            "path_name": places[id(storage)],
            "is_param": isinstance(tensor, Parameter),
            "use_pickle": False,
            "tensor_meta": meta,
        }
    writer.write_record(config, json.dumps({"config": entries}).encode())


# Reading


def read_device(field: Field) -> Device:
    """A device."""
    index = field.optional("index")
    try:
        return Device(field["type"].text(), *([] if index is None else [index.integer()]))
    except RuntimeError as error:
        raise field.error(f"is no device: {error}") from error


class Geometry:
    """How a tensor lies in its memory."""

    def __init__(self, field: Field, size: Callable[[Field], Any]) -> None:
        self.dtype = field["dtype"].one_of(DTYPES, "dtype")
        self.sizes = [size(item) for item in field["sizes"].elements()]
        self.strides = [size(item) for item in field["strides"].elements()]
        self.offset = size(field["storage_offset"])
        self.requires_grad = field["requires_grad"].boolean()
        field["layout"].one_of(LAYOUTS, "layout")
        if len(self.sizes) != len(self.strides):
            raise field.error("has strides for another number of dimensions")
        self.device = read_device(field["device"])
        if self.requires_grad and not (self.dtype.is_floating_point or self.dtype.is_complex):
            raise field.error(f"says that a tensor of {self.dtype} requires gradients")
        self.where = field.where

    def check_within(self, nbytes: int) -> None:
        """Refuse to read beyond the end of a record.

        Raises
        ------
        RuntimeError
            When the memory is not that long.
        """
        if 0 in self.sizes:
            return
        last = self.offset + sum((size - 1) * step for size, step in zip(self.sizes, self.strides, strict=True))
        if (last + 1) * self.dtype.itemsize > nbytes:
            raise damaged(self.where, f"describes {(last + 1) * self.dtype.itemsize} bytes, and there are {nbytes}")


def _extent(field: Field) -> int:
    kind, value = field.variant()
    if kind != "as_int":
        raise field.error(f"should be a number, but is {kind}")
    number = value.integer()
    if number < 0:
        raise value.error(f"is negative: {number}")
    return number


def read_geometry(field: Field, size: Callable[[Field], Any] = _extent) -> Geometry:
    """What the schema says of a tensor."""
    return Geometry(field, size)


def read_tensors(archive: ArchiveReader, folder: str, config: str, byteswapped: bool) -> dict[str, Any]:
    """The tensors of a folder by name; those that share a record share their memory.

    Raises
    ------
    RuntimeError
        When a record is missing, or too short for what is said of it.
    """
    storages: dict[str, UntypedStorage] = {}
    tensors: dict[str, Any] = {}
    for name, entry in parse(archive.read(config), config)["config"].items():
        record = folder + entry["path_name"].text()
        if entry["use_pickle"].boolean():
            tensors[name] = _pickled(archive, record)
            continue
        geometry = read_geometry(entry["tensor_meta"])
        if record not in storages:
            storages[record] = _storage(archive, record, geometry, byteswapped)
        geometry.check_within(storages[record].nbytes())
        tensors[name] = _tensor(storages[record], geometry, entry["is_param"].boolean())
    return tensors


def _pickled(archive: ArchiveReader, record: str) -> Tensor:
    try:
        tensor = load(archive.open(record), weights_only=True)
    except (pickle.UnpicklingError, EOFError) as error:
        raise damaged(record, f"is refused: {error}") from error
    if not isinstance(tensor, Tensor):
        raise damaged(record, f"should hold a tensor, but holds a {type(tensor).__name__}")
    return tensor


def _storage(archive: ArchiveReader, record: str, geometry: Geometry, byteswapped: bool) -> UntypedStorage:
    memory = np.empty(archive.size(record), np.uint8)
    archive.read_into(record, memory)
    storage = UntypedStorage._over_numpy(memory)
    if byteswapped:
        storage.byteswap(geometry.dtype)
    return storage if geometry.device.type == "cpu" else storage.to(device=geometry.device)


def _tensor(storage: UntypedStorage, geometry: Geometry, is_param: bool) -> Any:
    typed = TypedStorage(wrap_storage=storage, dtype=geometry.dtype, _internal=True)
    tensor = _rebuild_tensor(typed, geometry.offset, tuple(geometry.sizes), tuple(geometry.strides))
    if is_param:
        return Parameter(tensor, requires_grad=geometry.requires_grad)
    return tensor.requires_grad_(geometry.requires_grad)


def save_pickled(writer: ArchiveWriter, record: str, value: Any, protocol: int) -> None:
    """Write a value to a record as ``torch.save`` does."""
    buffer = io.BytesIO()
    save(value, buffer, pickle_protocol=protocol)
    writer.write_record(record, buffer.getvalue())
