"""Files of the format safetensors: a JSON header that says which bytes each tensor has, and the bytes."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import mt_core as mt
from mt_core.interop import frombuffer
from mt_core.size import Size

__all__ = [
    "Entry",
    "Header",
    "check_unshared",
    "encoded",
    "layout_of",
    "name_of_dtype",
    "packed_header",
    "plain_header",
    "read_header",
    "read_tensor",
]

# In the order of the format's own types: files have tensors of later ones first, then by name.
_DTYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "F8_E5M2": "float8_e5m2", "F8_E4M3": "float8_e4m3fn",
    "F8_E8M0": "float8_e8m0fnu", "I16": "int16", "U16": "uint16", "F16": "float16", "BF16": "bfloat16",
    "I32": "int32", "U32": "uint32", "F32": "float32", "C64": "complex64", "F64": "float64", "I64": "int64",
    "U64": "uint64",
}  # fmt: skip
_NAMES = {getattr(mt, own): name for name, own in _DTYPES.items()}
_ORDER = {name: number for number, name in enumerate(_DTYPES)}
_LONGEST_HEADER = 100_000_000  # of the format


@dataclass(frozen=True)
class Entry:
    """A tensor of a file, and where its bytes begin and end after the header."""

    shape: Size
    dtype: mt.dtype
    start: int
    end: int


@dataclass(frozen=True)
class Header:
    """What a file says of itself; its bytes begin at `start`."""

    tensors: dict[str, Entry]
    texts: dict[str, str]
    start: int


def name_of_dtype(dtype: mt.dtype, tensor: str) -> str:
    """The format's name of a dtype.

    Raises
    ------
    ValueError
        Where it has none.
    """
    name = _NAMES.get(dtype)
    if name is None:
        raise ValueError(f"{tensor} is of {dtype}, which safetensors files do not have")
    return name


def encoded(tensor: mt.Tensor) -> bytes:
    """The elements in their order."""
    return bytes(tensor.detach().cpu().contiguous().reshape(-1).view(mt.uint8).numpy())


def layout_of(tensors: Mapping[str, mt.Tensor]) -> list[str]:
    """Names in the order in which safetensors has them: by type, then by name."""
    return sorted(tensors, key=lambda name: (-_ORDER[name_of_dtype(tensors[name].dtype, name)], name))


def packed_header(entries: Iterable[tuple[str, mt.dtype, Size]], texts: Mapping[str, str]) -> bytes:
    """The header of a file with tensors one after the other, and its length; its bytes are a multiple of eight."""
    header: dict[str, Any] = {"__metadata__": dict(texts)}
    end = 0
    for name, dtype, shape in entries:
        start, end = end, end + math.prod(shape) * dtype.itemsize
        header[name] = {"dtype": name_of_dtype(dtype, name), "shape": list(shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    return _with_length(text + b" " * (-len(text) % 8))


def plain_header(entries: Iterable[tuple[str, mt.dtype, Size]]) -> bytes:
    """The header that PyTorch gives to files of whole tensors: it has no texts, and is not filled up with spaces."""
    header, end = {}, 0
    for name, dtype, shape in entries:
        start, end = end, end + math.prod(shape) * dtype.itemsize
        header[name] = {"shape": list(shape), "dtype": name_of_dtype(dtype, name), "data_offsets": [start, end]}
    return _with_length(json.dumps(header).encode())


def _with_length(text: bytes) -> bytes:
    return struct.pack("<Q", len(text)) + text


def check_unshared(tensors: Mapping[str, mt.Tensor]) -> None:
    """That no two tensors are the same memory; views are copied where they are written, and are let pass.

    Raises
    ------
    RuntimeError
        Where two are: they would be apart when they are read.
    """
    known: dict[int, str] = {}
    for name, tensor in tensors.items():
        if tensor.numel():
            other = known.setdefault(tensor.untyped_storage().data_ptr(), name)
            if other != name:
                raise RuntimeError(
                    "Some tensors share memory, this will lead to duplicate memory on disk and potential differences "
                    f"when loading them again: [{ {other, name} }]."
                )


def read_header(path: Path) -> Header:
    """What a file has.

    Raises
    ------
    ValueError
        Where it is no safetensors file, where the bytes of a tensor are not in it or are not as many as it has, and
        for types that are not known.
    """
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        first = file.read(8)
        length = struct.unpack("<Q", first)[0] if len(first) == 8 else size
        if length > min(size - 8, _LONGEST_HEADER):
            raise ValueError(f"{path} is no safetensors file: it has no header")
        text = file.read(length)
    try:
        found = json.loads(text)
        texts = found.pop("__metadata__", {})
        tensors = {name: _entry(name, told) for name, told in found.items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is no safetensors file: {error}") from error
    for name, entry in tensors.items():
        if not 0 <= entry.start <= entry.end <= size - 8 - length:
            raise ValueError(f"{path} ends within {name}")
    return Header(tensors, texts, 8 + length)


def _entry(name: str, told: dict[str, Any]) -> Entry:
    if told["dtype"] not in _DTYPES:
        raise ValueError(f"{name} is of the type {told['dtype']}, which mindtorch does not know")
    dtype: mt.dtype = getattr(mt, _DTYPES[told["dtype"]])
    entry = Entry(Size(told["shape"]), dtype, *told["data_offsets"])
    if entry.end - entry.start != math.prod(entry.shape) * dtype.itemsize:
        raise ValueError(f"{name} of {told['dtype']} and {list(entry.shape)} has {entry.end - entry.start} bytes")
    return entry


def read_tensor(file: BinaryIO, header: Header, name: str) -> mt.Tensor:
    """One tensor of a file that is open."""
    entry = header.tensors[name]
    if entry.start == entry.end:
        return mt.empty(entry.shape, dtype=entry.dtype)
    file.seek(header.start + entry.start)
    return frombuffer(bytearray(file.read(entry.end - entry.start)), dtype=entry.dtype).reshape(entry.shape)
