"""Files that PyTorch's ``torch.save`` writes, and what is in them: ``python make_serialization.py``, with PyTorch
installed.

``--check`` makes everything again and compares, and has PyTorch load files that mindtorch wrote (mt-core and a backend
for the CPU must be installed).
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import pickle
import struct
import tarfile
import tempfile
import zipfile
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "serialization"

DTYPES = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128".split()
NEWER_DTYPES = (
    "uint16 uint32 uint64 complex32 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu"
).split()


#: Files that say so if they are to be read with weights_only.
UNSAFE = {"first_release.tar", "module.pt", "objects.pt"}

# What a loaded object is, in JSON. Used with PyTorch here and with mindtorch in the tests.


def describe(obj: Any) -> Any:
    """An object as JSON: tensors by geometry and storage, everything else by type and text."""
    storages: dict[int, Any] = {}
    return {"object": _described(obj, storages), "storages": [_hex(s) for s in storages.values()]}


def hash_of(tensor: Any) -> str:
    """A digest of a uint8 tensor."""
    return hashlib.sha256(bytes(tensor.tolist())).hexdigest()


def _hex(storage: Any) -> str | None:
    return None if storage.device.type == "meta" else bytes(storage.tolist()).hex()


def _described(obj: Any, storages: dict[int, Any]) -> Any:
    name = type(obj).__name__
    if hasattr(obj, "__qualname__"):
        return {"type": "class" if isinstance(obj, type) else "function", "name": obj.__name__}
    if hasattr(obj, "untyped_storage"):
        return {"type": name, **_described_tensor(obj, storages)}
    if hasattr(obj, "state_dict"):
        return {"type": name, "text": repr(obj), "state": _described(obj.state_dict(), storages)}
    if hasattr(obj, "initial_seed"):
        return {"type": name, "seed": obj.initial_seed(), "state": hash_of(obj.get_state())}
    if isinstance(obj, dict):
        items = [[_described(k, storages), _described(v, storages)] for k, v in obj.items()]
        return {"type": name, "items": items, "attributes": _attributes(obj, storages)}
    if isinstance(obj, (list, tuple)):
        return {"type": name, "items": [_described(item, storages) for item in obj]}
    if isinstance(obj, set):
        return {"type": name, "items": sorted(map(repr, obj))}
    return {"type": name, "text": repr(obj)}


def _described_tensor(tensor: Any, storages: dict[int, Any]) -> dict[str, Any]:
    storage = tensor.untyped_storage()
    key = storage.data_ptr() or id(storage)
    storages.setdefault(key, storage)
    return {
        "dtype": str(tensor.dtype),
        "size": list(tensor.shape),
        "stride": list(tensor.stride()),
        "offset": tensor.storage_offset(),
        "storage": list(storages).index(key),
        "device": str(tensor.device),
        "requires_grad": tensor.requires_grad,
        "conj": tensor.is_conj(),
        "neg": tensor.is_neg(),
        "attributes": _attributes(tensor, storages),
    }


def _attributes(obj: Any, storages: dict[int, Any]) -> Any:
    return [[k, _described(v, storages)] for k, v in sorted(getattr(obj, "__dict__", {}).items())]


# The contents


def contents() -> dict[str, Any]:
    """File name without suffix -> what is in it."""
    import torch

    torch.manual_seed(0)
    return {
        "dtypes": {name: of_dtype(name) for name in DTYPES},
        "newer_dtypes": {name: of_dtype(name) for name in NEWER_DTYPES},
        "sharing": sharing(),
        "kinds": kinds(),
        "values": values(),
        "state": torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)).state_dict(),
        "module": torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU()),
        "objects": objects(),
    }


def of_dtype(name: str) -> Any:
    import torch

    dtype = getattr(torch, name)
    numbers = torch.arange(6.0) * 0.75 - 1 if dtype.is_signed and name != "float8_e8m0fnu" else torch.arange(6.0) + 1
    return numbers.to(dtype).reshape(2, 3)


def sharing() -> dict[str, Any]:
    import torch

    base = torch.arange(12.0).reshape(3, 4)
    other = torch.arange(5)
    return {
        "base": base,
        "again": base,
        "row": base[1],
        "block": base[1:, 2:],
        "transposed": base.t(),
        "step": base.view(-1)[::5],
        "detached": base.detach(),
        "list": [other, other[2:]],
        "expanded": torch.ones(1).expand(4),
        "scalar": base[2, 3],
    }


def kinds() -> dict[str, Any]:
    import torch

    marked = torch.ones(2)
    marked.mark = "a tensor with an attribute"
    parameter = torch.nn.Parameter(torch.full((2,), 4.0))
    parameter.mark = [1, 2]
    complex_ones = torch.full((2,), 1 + 2j, dtype=torch.complex64)
    return {
        "empty": torch.empty(0, 3),
        "zero_dim": torch.tensor(3.5),
        "meta": torch.ones(2, 3, device="meta"),
        "grad": torch.ones(2, requires_grad=True),
        "computed": torch.ones(2, requires_grad=True) * 3,
        "parameter": torch.nn.Parameter(torch.arange(3.0)),
        "frozen": torch.nn.Parameter(torch.ones(1), requires_grad=False),
        "marked": marked,
        "marked_parameter": parameter,
        "conj": complex_ones.conj(),
        "neg": torch._neg_view(torch.ones(2)),
        "channels_last": torch.arange(24.0).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last),
    }


def values() -> dict[Any, Any]:
    import torch

    return {
        "size": torch.Size([2, 3]),
        "device": torch.device("cpu"),
        "dtypes": [torch.float16, torch.bool, torch.uint16],
        "numbers": [0, 1, -1, 255, 256, 65536, -70000, 1 << 70, -(1 << 70), 0.1, float("inf"), True, None, 1 + 2j],
        "text": ["", "text", "\u00fcml\u00e4ut \U0001f600"],
        "bytes": [b"\x00\xff", bytearray(b"ab")],
        "containers": [(), (1,), (1, 2, 3, 4), [], {}, {1, 2}, OrderedDict(a=1), Counter("aab")],
        7: {(1, "a"): "tuple key"},
    }


def objects() -> dict[str, Any]:
    import torch

    generator = torch.Generator().manual_seed(5)
    torch.rand(7, generator=generator)
    return {
        "generator": generator,
        "layouts": [torch.strided, torch.sparse_coo],
        "functions": [torch.relu, torch.nn.functional.gelu, torch.nn.init.xavier_uniform_, torch.optim.SGD],
        "classes": [torch.Tensor, torch.nn.Parameter, torch.nn.Linear, torch.UntypedStorage, torch.Size, torch.dtype],
    }


# Files that ``torch.save`` does not write today


def refused_files() -> dict[str, bytes]:
    """Name -> file with what mindtorch says it lacks."""
    import torch

    return {
        "sparse.pt": saved(torch.eye(2).to_sparse()),
        "quantized.pt": saved(torch.quantize_per_tensor(torch.ones(2), 0.5, 0, torch.quint8)),
        "nested.pt": saved(torch.nested.nested_tensor([torch.ones(1), torch.ones(2)])),
    }


def saved(obj: Any, **options: Any) -> bytes:
    import torch

    buffer = io.BytesIO()
    torch.save(obj, buffer, **options)
    return buffer.getvalue()


def deflated(data: bytes) -> bytes:
    """The same archive, compressed, as other programs may leave it."""
    source, buffer = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
    return buffer.getvalue()


def big_endian() -> bytes:
    """A file as a big-endian machine writes it."""
    import torch

    source = zipfile.ZipFile(
        io.BytesIO(saved({"f": torch.arange(4.0), "c": torch.tensor([1 + 2j]), "b": torch.arange(3).byte()}))
    )
    buffer = io.BytesIO()
    swapped = {"archive/data/0": 4, "archive/data/1": 4, "archive/byteorder": 0}
    with zipfile.ZipFile(buffer, "w") as target:
        for name in source.namelist():
            data, width = source.read(name), swapped.get(name)
            if width:
                data = b"".join(data[i : i + width][::-1] for i in range(0, len(data), width))
            target.writestr(name, b"big" if width == 0 else data)
    return buffer.getvalue()


def tar_format() -> bytes:
    """The format of PyTorch's first releases, put together by hand: a tensor, and another on part of its storage."""
    storages = pickle.dumps(1, 2) + _tuple(b"K\x07", _text("cpu"), b"ctorch\nFloatStorage\n")
    storages += struct.pack("<q4f", 4, 1, 2, 3, 4) + pickle.dumps([(8, 7, 1, 2)], 2)
    tensors = pickle.dumps(2, 2)
    for key, storage, size, stride in ((11, 7, (2, 2), (2, 1)), (12, 8, (2,), (1,))):
        tensors += _tuple(b"K" + bytes([key]), b"K" + bytes([storage]), b"ctorch\nFloatTensor\n")
        tensors += struct.pack("<ii", len(size), 0) + struct.pack(f"<{2 * len(size) + 1}q", *size, *stride, 0)
    pickled = b"\x80\x02}(" + _text("whole") + b"K\x0bQ" + _text("part") + b"K\x0cQu."
    return _tar({"storages": storages, "tensors": tensors, "pickle": pickled})


def _text(text: str) -> bytes:
    return b"X" + struct.pack("<I", len(text)) + text.encode()


def _tuple(*items: bytes) -> bytes:
    return b"\x80\x02(" + b"".join(items) + b"t."


def _tar(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def make() -> tuple[dict[str, bytes], dict[str, Any]]:
    """(file name -> bytes, file name -> description of what PyTorch loads from it)."""
    files: dict[str, bytes] = {}
    for name, obj in contents().items():
        files[f"{name}.pt"] = saved(obj)
        # In that format PyTorch cannot read newer dtypes back, and puts the source text of classes into the file.
        if name not in ("newer_dtypes", "module", "objects"):
            files[f"{name}.legacy.pt"] = saved(obj, _use_new_zipfile_serialization=False)
    files["deflated.pt"] = deflated(files["sharing.pt"])
    files["big_endian.pt"] = big_endian()
    files["first_release.tar"] = tar_format()
    descriptions = {name: loaded_by_pytorch(data) for name, data in files.items()}
    return {**files, **refused_files()}, descriptions


def loaded_by_pytorch(data: bytes) -> Any:
    """The description of a file's content; from a real file, because PyTorch reads tar archives from nothing else."""
    import torch

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(data)
        return describe(torch.load(path, weights_only=False))


def check() -> None:
    """Compare the stored files with new ones, and have PyTorch read what mindtorch writes.

    Raises
    ------
    AssertionError
        Where they differ.
    """
    stored = json.loads((HERE / "contents.json").read_text())
    files, descriptions = make()
    assert json.loads(json.dumps(descriptions)) == stored, "what PyTorch loads from its files has changed"
    for name in stored:
        assert loaded_by_pytorch((HERE / name).read_bytes()) == stored[name], name
    for name in files:
        if name in stored:
            check_round_trip(name, stored[name])


def check_round_trip(name: str, expected: Any) -> None:
    """PyTorch's file, loaded and saved by mindtorch in both formats, is the same to PyTorch."""
    from mt_core.serialization import load, save

    obj = load(HERE / name, weights_only=name not in UNSAFE)
    for zip_format in (True,) if name in ("newer_dtypes.pt", "objects.pt") else (True, False):
        buffer = io.BytesIO()
        save(obj, buffer, _use_new_zipfile_serialization=zip_format)
        assert loaded_by_pytorch(buffer.getvalue()) == expected, f"{name}, zip format: {zip_format}"


def main() -> None:
    """Write the files, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        check()
        return
    HERE.mkdir(exist_ok=True)
    files, descriptions = make()
    for name, data in files.items():
        (HERE / name).write_bytes(data)
    (HERE / "contents.json").write_text(json.dumps(descriptions, indent=None, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
