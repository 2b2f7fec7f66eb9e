"""Damaged and hostile checkpoint files, each a function of its seed."""

from __future__ import annotations

import functools
import io
import random
import tarfile
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

from . import pickles

__all__ = ["KINDS", "file_of", "valid_files"]

Source = random.Random
#: (name, content) of the records of an archive.
Records = list[tuple[str, bytes]]


@functools.cache
def valid_files() -> tuple[bytes, ...]:
    """Files of either format, of everything that programs save."""
    import mindtorch as torch  # here alone: what makes files of pickles only needs no tensors

    result = []
    for value in _objects(torch):
        for zipped in (True, False):
            buffer = io.BytesIO()
            torch.save(value, buffer, _use_new_zipfile_serialization=zipped)
            result.append(buffer.getvalue())
    return tuple(result)


def _objects(torch: Any) -> list[Any]:
    block = torch.arange(24.0).reshape(2, 3, 4)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    for parameter in model.parameters():
        torch.nn.init.constant_(parameter, 0.5)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(4, 2)).sum().backward()
    optimizer.step()
    tagged = torch.ones(2)
    tagged.tag = "mark"
    kinds = (torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex64, torch.float8_e4m3fn)
    return [
        block,
        [block[1], block.transpose(0, 2), block[..., ::2], block.expand(2, 2, 3, 4), torch.empty(0, 3)],
        {str(d): torch.ones(3).to(d) for d in kinds},
        [torch.tensor([1 + 2j, 3j]).conj(), torch.tensor([1 + 2j]).conj().imag, tagged],
        model.state_dict(),
        {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "lr": 1e-3, "best": None},
        {"text": "x" * 40, "big": 2**70, "bytes": b"\x00\xff", "set": {1, "b"}, "pair": (1, [2, {"a": True}])},
        [torch.nn.Parameter(torch.ones(2, 2)), torch.ones(2).untyped_storage(), torch.Size([1, 2]), torch.float32],
        [torch.device("cpu"), torch.strided, torch.empty(3, device="meta"), 1 + 2j, bytearray(b"ab")],
    ]


def _records(data: bytes) -> Records:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def _archive(records: Records, compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that occur twice
        for name, content in records:
            archive.writestr(zipfile.ZipInfo(name), content, compression)  # of a fixed date
    return buffer.getvalue()


def _around(pickled: bytes) -> Records:
    """The records of an archive with two storages of 64 bytes."""
    return [
        ("file/data.pkl", pickled),
        ("file/byteorder", b"little"),
        ("file/data/0", bytes(range(64))),
        ("file/data/1", bytes(64)),
        ("file/version", b"3\n"),
    ]


def _compression(r: Source) -> int:
    return zipfile.ZIP_STORED if r.random() < 0.85 else zipfile.ZIP_DEFLATED


def _hostile_pickle(r: Source) -> bytes:
    return _archive(_around(pickles.hostile(r)), _compression(r))


def _tensor_pickle(r: Source) -> bytes:
    return _archive(_around(pickles.reading(r)), _compression(r))


def _zipped(r: Source) -> bytes:
    return r.choice([data for data in valid_files() if data[:2] == b"PK"])


def _plain(r: Source) -> bytes:
    return r.choice([data for data in valid_files() if data[:2] != b"PK"])


def _bytes(r: Source) -> bytes:
    return pickles.damaged(r, r.choice(valid_files()))


def _cut(r: Source) -> bytes:
    data = r.choice(valid_files())
    return data[: r.randrange(len(data))] if r.random() < 0.8 else data[r.randrange(len(data)) :]


def _pickle_bytes(r: Source) -> bytes:
    """A valid archive around its pickle, which is damaged."""
    changed = [
        (name, pickles.damaged(r, content) if name.endswith("data.pkl") else content)
        for name, content in _records(_zipped(r))
    ]
    return _archive(changed, _compression(r))


def _legacy_bytes(r: Source) -> bytes:
    return pickles.damaged(r, _plain(r))


def _legacy_hostile(r: Source) -> bytes:
    """The old format around a hostile pickle."""
    header = b"".join(_old_header())
    keys = r.choice((b"]q\x00(X\x01\x00\x00\x000e.", b"].", pickles.hostile(r)))
    block = r.choice((16, 0, -1, 2**40, 2**62)).to_bytes(8, "little", signed=True) + bytes(64)
    return header + r.choice((pickles.hostile, pickles.reading))(r) + keys + block


@functools.cache
def _old_header() -> list[bytes]:
    import pickle  # beside its only use

    sizes = {"short": 2, "int": 4, "long": 4}
    machine = {"protocol_version": 1001, "little_endian": True, "type_sizes": sizes}
    return [pickle.dumps(value, 2) for value in (0x1950A86A20F9469CFC6C, 1001, machine)]


def _tar(r: Source) -> bytes:
    """The oldest format, which is a tar file."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("storages", "tensors", "pickle"):
            content = pickles.hostile(r)
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return pickles.damaged(r, buffer.getvalue()) if r.random() < 0.5 else buffer.getvalue()


def _changed_records(r: Source) -> bytes:
    """Records missing, doubled, renamed, of another size, in another order, or of another file."""
    records = _records(_zipped(r))
    for _ in range(r.choice((1, 1, 2, 4))):
        at = r.randrange(len(records)) if records else 0
        _change_record(r, records, at)
    return _archive(records, _compression(r))


def _change_record(r: Source, records: Records, at: int) -> None:
    if not records:
        return
    name, content = records[at]
    others = [content + content, content[: len(content) // 2], b"", pickles.damaged(r, content), bytes(1 << 20)]
    names = [
        name + "x",
        "../" + name,
        "/" + name,
        name.replace("/", "\\"),
        name.partition("/")[2],
        name.upper(),
        "é/" + name,
    ]
    match r.randrange(5):
        case 0:
            del records[at]
        case 1:
            records.append((name, r.choice(others)))
        case 2:
            records[at] = (r.choice(names), content)
        case 3:
            records[at] = (name, r.choice(others))
        case _:
            r.shuffle(records)


def _version(r: Source) -> bytes:
    """What the small records say is not what they say in any file."""
    words = [b"", b"4", b"11", b"-1", b"x", b"9" * 5000, b"\xff\n", b"big", b"little ", bytes(100)]
    records = [
        (name, r.choice(words) if name.rpartition("/")[2] in ("version", "byteorder", "serialization_id") else content)
        for name, content in _records(_zipped(r))
    ]
    return _archive(records)


def _directory(r: Source) -> bytes:
    """Damage in the directory at the end, where names, sizes and places of the records stand."""
    data = _zipped(r)
    start = data.rindex(b"PK\x01\x02", 0, data.index(b"PK\x05\x06")) if r.random() < 0.5 else data.index(b"PK\x01\x02")
    return data[:start] + pickles.damaged(r, data[start:])


def _bomb(r: Source) -> bytes:
    """Records of zeros that a few bytes expand to."""
    size = r.choice((1 << 20, 1 << 23, 1 << 26))
    pickled = pickles.reading(r) if r.random() < 0.5 else b"\x80\x02" + b"N0" * (size // 2) + b"N."
    records = _around(pickled)
    records[2] = ("file/data/0", bytes(size if size < 1 << 26 or r.random() < 0.2 else 64))
    return _archive(records, zipfile.ZIP_DEFLATED)


def _many(r: Source) -> bytes:
    """Thousands of empty records, or of tensors on one storage."""
    count = r.choice((100, 3000))
    if r.random() < 0.5:
        return _archive(_around(pickles.reading(r)) + [(f"file/data/{k}", b"") for k in range(2, count)])
    body = pickles.reading(r)[2:-1]
    return _archive(_around(b"\x80\x02](" + body * (count // 10) + b"e."))


def _noise(r: Source) -> bytes:
    return r.choice((b"", b"PK\x03\x04", b"PK\x05\x06" + bytes(18), b"\x80\x02")) + r.randbytes(
        r.choice((0, 1, 7, 100, 3000))
    )


#: Kind of file -> (how often it is made, in turns; what makes one).
KINDS: dict[str, tuple[int, Callable[[Source], bytes]]] = {
    "hostile pickle": (30, _hostile_pickle),
    "pickle of a tensor": (12, _tensor_pickle),
    "damaged pickle": (20, _pickle_bytes),
    "damaged bytes": (10, _bytes),
    "cut": (5, _cut),
    "damaged legacy file": (6, _legacy_bytes),
    "hostile legacy file": (6, _legacy_hostile),
    "hostile tar file": (1, _tar),
    "changed records": (5, _changed_records),
    "small records": (1, _version),
    "damaged directory": (5, _directory),
    "bomb": (1, _bomb),
    "many": (1, _many),
    "noise": (1, _noise),
}
_TURNS = [kind for kind, (weight, _) in KINDS.items() for _ in range(weight)]


def file_of(seed: int) -> tuple[str, bytes]:
    """(kind, content) of the file with this seed."""
    r = random.Random(f"file {seed}")
    kind = r.choice(_TURNS)
    return kind, KINDS[kind][1](r)
