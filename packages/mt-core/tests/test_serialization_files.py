"""Files that PyTorch wrote: what is in them, and what comes back after mindtorch has written them itself."""

from __future__ import annotations

import importlib.util
import io
import json
from pathlib import Path

import pytest

from mt_core.serialization import load, save

SNAPSHOTS = Path(__file__).parent / "snapshots"
FILES = SNAPSHOTS / "serialization"
CONTENTS = json.loads((FILES / "contents.json").read_text())
NEED_MODULES = {"module.pt", "objects.pt", "kinds.pt", "kinds.legacy.pt"}


def script():
    spec = importlib.util.spec_from_file_location("make_serialization", SNAPSHOTS / "make_serialization.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


describe, UNSAFE = script().describe, script().UNSAFE


def load_file(name, **options):
    if name in NEED_MODULES:
        pytest.importorskip("mt_nn")
    return load(FILES / name, weights_only=name not in UNSAFE, **options)


def described(obj):
    return json.loads(json.dumps(describe(obj)))


@pytest.mark.parametrize("name", CONTENTS)
def test_load_gives_what_pytorch_loads(name):
    assert described(load_file(name)) == CONTENTS[name]


@pytest.mark.parametrize("zip_format", [True, False], ids=["zip", "legacy"])
@pytest.mark.parametrize("name", CONTENTS)
def test_save_keeps_everything(name, zip_format):
    if name == "objects.pt" and not zip_format:
        pytest.skip("in that format a generator is made before its state has been read, in PyTorch as well")
    buffer = io.BytesIO()
    save(load_file(name), buffer, _use_new_zipfile_serialization=zip_format)
    buffer.seek(0)
    assert described(load(buffer, weights_only=name not in UNSAFE)) == CONTENTS[name]


@pytest.mark.parametrize(
    "name", [name for name in CONTENTS if name not in {"deflated.pt", "first_release.tar"} and "legacy" not in name]
)
def test_mapped_file_gives_the_same(name):
    assert described(load_file(name, mmap=True)) == CONTENTS[name]


def test_files_name_pytorchs_classes():
    import pickletools
    import zipfile

    def globals_of(data):
        pickled = zipfile.ZipFile(io.BytesIO(data)).read("archive/data.pkl")
        return {argument for opcode, argument, _ in pickletools.genops(pickled) if opcode.name == "GLOBAL"}

    for name in ("dtypes.pt", "newer_dtypes.pt", "sharing.pt", "values.pt", "state.pt", "kinds.pt", "module.pt"):
        buffer = io.BytesIO()
        save(load_file(name), buffer)
        assert globals_of(buffer.getvalue()) == globals_of((FILES / name).read_bytes())


def test_nested_tensors():
    pytest.importorskip("mindtorch.nested")
    found = load(FILES / "nested.pt")
    assert found.is_nested and [part.tolist() for part in found.unbind()] == [[1.0], [1.0, 1.0]]


def test_sparse_tensors_are_read_and_written():
    found = load(FILES / "sparse.pt")
    buffer = io.BytesIO()
    save(found, buffer)
    buffer.seek(0)
    assert repr(load(buffer)) == repr(found) and "layout=torch.sparse_coo" in repr(found)


def test_quantized_tensors_are_read_and_written():
    found = load(FILES / "quantized.pt")
    buffer = io.BytesIO()
    save(found, buffer)
    buffer.seek(0)
    assert repr(load(buffer)) == repr(found) and "quantization_scheme=torch.per_tensor_affine" in repr(found)


def test_compressed_file_cannot_be_mapped():
    with pytest.raises(RuntimeError, match="compressed.*mmap=False"):
        load(FILES / "deflated.pt", mmap=True)


def test_tar_format_needs_weights_only_false():
    with pytest.raises(
        RuntimeError, match="Cannot use ``weights_only=True`` with files saved in the legacy .tar format"
    ):
        load(FILES / "first_release.tar")
