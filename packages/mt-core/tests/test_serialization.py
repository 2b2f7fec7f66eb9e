"""``torch.save`` and ``torch.load``: files, devices, damage, names."""

from __future__ import annotations

import copy
import io
import mmap
import os
import pickle
import stat
import struct
import subprocess
import sys
import types
import zipfile
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mt_core as mt
from mt_core import dtypes, serialization
from mt_core import torch_names as names
from mt_core.devices import device
from mt_core.interop import from_numpy
from mt_core.serialization import load, rebuild, save
from mt_core.storage import UntypedStorage
from mt_core.tensor import Tensor


def saved(obj, **options):
    buffer = io.BytesIO()
    save(obj, buffer, **options)
    return buffer.getvalue()


def loaded(data, **options):
    return load(io.BytesIO(data), **options)


def floats(*shape):
    return from_numpy(np.arange(np.prod(shape), dtype=np.float32).reshape(shape))


def same(a, b):
    return a.dtype is b.dtype and a.shape == b.shape and a.tolist() == b.tolist()


# The archive


@pytest.mark.parametrize("alignment", [64, 256])
def test_records_are_aligned_and_named_as_pytorch_names_them(tmp_path, monkeypatch, alignment):
    monkeypatch.setattr(serialization.config.save, "storage_alignment", alignment)
    path = tmp_path / "model.v2.pt"
    save({"a": floats(3), "b": floats(1000)}, path)
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == [
            f"model.v2/{name}"
            for name in (
                "data.pkl",
                ".format_version",
                ".storage_alignment",
                "byteorder",
                "data/0",
                "data/1",
                "version",
                ".data/serialization_id",
            )
        ]
        assert archive.testzip() is None
        raw = path.read_bytes()
        for info in archive.infolist():
            names_length, extra_length = struct.unpack("<2H", raw[info.header_offset + 26 : info.header_offset + 30])
            assert (info.header_offset + 30 + names_length + extra_length) % alignment == 0
        assert archive.read("model.v2/byteorder") == sys.byteorder.encode()
        assert archive.read("model.v2/version") == b"3\n"


@pytest.mark.parametrize(
    ("name", "top"),
    [("a.pt", "a"), ("noext", "noext"), (".a.pt", ".a"), ("sp ace.bin", "sp ace"), ("über.pt", "archive")],
)
def test_top_directory_is_the_files_name(tmp_path, name, top):
    save(1, tmp_path / name)
    assert zipfile.ZipFile(tmp_path / name).namelist()[0] == f"{top}/data.pkl"


def test_no_name_is_left_of_a_bare_extension(tmp_path):
    with pytest.raises(RuntimeError, match="invalid file name"):
        save(1, tmp_path / ".pt")
    assert not list(tmp_path.iterdir())


def test_equal_contents_have_equal_identity():
    def identity(data):
        return zipfile.ZipFile(io.BytesIO(data)).read("archive/.data/serialization_id")

    assert identity(saved(floats(3))) == identity(saved(floats(3))) != identity(saved(floats(4)))
    assert len(identity(saved(1))) == 40


def test_output_needs_nothing_but_write():
    class WriteOnly:
        data = b""

        def write(self, piece):
            self.data += bytes(piece)

    for zip_format in (True, False):
        target = WriteOnly()
        save({"a": floats(3)}, target, _use_new_zipfile_serialization=zip_format)
        assert same(loaded(target.data)["a"], floats(3))


def test_input_may_stand_anywhere_and_lack_readinto():
    class Plain:
        def __init__(self, data):
            self._file = io.BytesIO(data)
            self.seek, self.tell, self.read, self.readline = (
                self._file.seek,
                self._file.tell,
                self._file.read,
                self._file.readline,
            )

    assert same(load(Plain(saved(floats(3)))), floats(3))
    assert same(load(Plain(saved(floats(3), _use_new_zipfile_serialization=False))), floats(3))


def test_legacy_files_may_follow_one_another():
    buffer = io.BytesIO()
    for i in range(3):
        save({"i": floats(i + 1)}, buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    assert [load(buffer)["i"].numel() for _ in range(3)] == [1, 2, 3]


def test_what_is_no_file():
    with pytest.raises(
        AttributeError, match="expected 'f' to be string, path, or a file-like object with a 'write' attribute"
    ):
        save(1, 5)
    with pytest.raises(
        AttributeError,
        match="'int' object has no attribute 'seek'. You can only torch.load from a file that is seekable",
    ):
        load(5)
    with pytest.raises(FileNotFoundError):
        load("/does/not/exist.pt")


# Replacing files


def test_a_file_is_replaced_only_when_complete(tmp_path):
    path = tmp_path / "model.pt"
    save({"a": 1}, path)
    before = path.read_bytes()
    with pytest.raises((AttributeError, pickle.PicklingError)):
        save({"a": floats(3), "b": lambda: None}, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_mapped_file_can_be_replaced(tmp_path):
    path = tmp_path / "model.pt"
    save({"a": floats(5)}, path)
    mapped = load(path, mmap=True)
    mapped["a"].add_(1)
    save(mapped, path)
    assert load(path)["a"].tolist() == [1, 2, 3, 4, 5]


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions and links")
def test_permissions_and_links_are_kept(tmp_path):
    path, link = tmp_path / "model.pt", tmp_path / "link.pt"
    path.write_bytes(b"")
    path.chmod(0o640)
    link.symlink_to(path)
    save(1, link)
    assert link.is_symlink() and load(path) == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_nowhere_to_write(tmp_path):
    with pytest.raises(RuntimeError, match="Parent directory .* does not exist"):
        save(1, tmp_path / "no" / "model.pt")
    with pytest.raises(RuntimeError, match="open file failed with strerror"):
        save(1, tmp_path)


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="needs /dev/null")
def test_a_device_is_written_to():
    save(1, "/dev/null")
    assert not os.path.isfile("/dev/null")


# Damage


ZIP = saved({"a": floats(10), "b": [1, "text"]})
LEGACY = saved({"a": floats(10), "b": [1, "text"]}, _use_new_zipfile_serialization=False)


@pytest.mark.parametrize("weights_only", [True, False])
def test_an_empty_file_ends_early(weights_only):
    with pytest.raises(EOFError):
        loaded(b"", weights_only=weights_only)


@pytest.mark.parametrize("length", [4, 10, 21])
def test_a_stub_of_an_archive(length):
    with pytest.raises(RuntimeError, match="PytorchStreamReader failed reading zip archive: not a ZIP archive"):
        loaded(ZIP[:length])


@pytest.mark.parametrize("length", [22, 50, 200, len(ZIP) // 2, len(ZIP) - 30, len(ZIP) - 1])
def test_a_truncated_archive(length):
    with pytest.raises(
        RuntimeError,
        match="PytorchStreamReader failed reading zip archive: failed finding central directory.*corrupted",
    ):
        loaded(ZIP[:length])


@pytest.mark.parametrize("weights_only", [True, False])
def test_a_truncated_legacy_file(weights_only):
    for length in range(1, len(LEGACY)):
        with pytest.raises((EOFError, pickle.UnpicklingError, RuntimeError)):
            loaded(LEGACY[:length], weights_only=weights_only)


@pytest.mark.parametrize("missing", [1, 30])
def test_missing_elements_are_counted(missing):
    with pytest.raises(
        RuntimeError, match=f"unexpected EOF, expected {missing} more bytes. The file might be corrupted."
    ):
        loaded(LEGACY[:-missing])


def test_other_files():
    with pytest.raises(RuntimeError, match="Invalid magic number; corrupt file?"):
        loaded(pickle.dumps({"a": 1}, 2))
    for noise in (b"hello world this is no checkpoint", bytes(100)):
        with pytest.raises(pickle.UnpicklingError):
            loaded(noise)


@given(st.data())
@settings(max_examples=400, deadline=None)
def test_damaged_archives_load_or_raise(data):
    damaged = bytearray(ZIP)
    start = data.draw(st.sampled_from([0, len(ZIP) - 700]))
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(max(start, 0), len(ZIP) - 1))] = data.draw(st.integers(0, 255))
    try:
        loaded(bytes(damaged))
    except (RuntimeError, pickle.UnpicklingError, EOFError):
        pass


def archive_of(**records):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in records.items():
            archive.writestr(name.replace("__", "/"), data)
    return buffer.getvalue()


PICKLE = pickle.dumps({"a": 1}, 2)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ({"archive__data.pkl": PICKLE}, r'Expected hasRecord\("version"\) to be true, but got false'),
        (
            {"archive__data.pkl": PICKLE, "archive__version": "99"},
            "Attempted to read a PyTorch file with version 99, but the maximum supported version for reading is 10",
        ),
        ({"archive__data.pkl": PICKLE, "archive__version": "x"}, "Couldn't parse the version x as Long Long"),
        ({"archive__version": "3"}, "PytorchStreamReader failed locating file data.pkl: file not found"),
        ({"data.pkl": PICKLE, "version": "3"}, "file in archive is not in a subdirectory: data.pkl"),
        ({"a__data.pkl": PICKLE, "a__version": "3", "b__x": ""}, "file in archive is not in a subdirectory a/: b/x"),
        (
            {"a__data.pkl": PICKLE, "a__version": "3", "a__constants.pkl": PICKLE},
            "Cannot use ``weights_only=True`` with TorchScript archives",
        ),
    ],
)
def test_archives_of_other_kinds(records, message):
    with pytest.raises(RuntimeError, match=message):
        loaded(archive_of(**records))


def test_unknown_byte_order():
    with pytest.raises(RuntimeError, match="Unknown endianness type: middle .record byteorder"):
        loaded(archive_of(a__version="3", a__byteorder="middle", **{"a__data.pkl": PICKLE}))


def test_a_compressed_record_cannot_claim_any_size():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in zipfile.ZipFile(io.BytesIO(ZIP)).namelist():
            archive.writestr(name, zipfile.ZipFile(io.BytesIO(ZIP)).read(name))
    data = bytearray(buffer.getvalue())
    entry = data.rindex(b"archive/data/0") - 46
    data[entry + 24 : entry + 28] = struct.pack("<I", 0x7FFFFFFF)
    with pytest.raises(RuntimeError, match="compressed records expand to"):
        loaded(bytes(data))


# What is shared, and what is refused


def test_views_share_their_storage_again():
    base = floats(3, 4)
    for zip_format in (True, False):
        back = loaded(saved({"base": base, "row": base[1], "t": base.t()}, _use_new_zipfile_serialization=zip_format))
        back["row"].fill_(-1)
        assert back["base"][1].tolist() == [-1] * 4
        assert back["t"][:, 1].tolist() == [-1] * 4
        assert back["base"].untyped_storage() is back["t"].untyped_storage()


def test_a_view_brings_its_whole_storage():
    back = loaded(saved(floats(100)[3:5]))
    assert back.tolist() == [3, 4] and back.storage_offset() == 3 and back.untyped_storage().nbytes() == 400


def test_loaded_tensors_count_versions_apart():
    base = floats(3)
    back = loaded(saved([base, base.detach()]))
    back[0].add_(1)
    assert back[1].tolist() == [1, 2, 3] and back[1]._version == 1


def test_one_storage_as_two_dtypes_is_refused():
    base = floats(4)
    for other in (base.view(dtypes.int32), base.view(dtypes.int32)[2:], base.untyped_storage()):
        with pytest.raises(
            RuntimeError, match="Cannot save multiple tensors or storages that view the same data as different types"
        ):
            saved([base, other])
    assert saved([mt.empty(0), mt.empty(0, dtype=dtypes.int32)])


def test_storages_are_saved_as_themselves():
    storage = UntypedStorage([1, 2, 3])
    back = loaded(saved([storage, floats(2).storage()]))
    assert back[0].tolist() == [1, 2, 3]
    assert back[1].dtype is dtypes.float32 and back[1].tolist() == [0, 1]


def test_attributes_and_subclasses():
    marked = floats(2)
    marked.mark = [1, "x"]
    assert loaded(saved(marked)).mark == [1, "x"]
    special = floats(2).as_subclass(Special)
    special.mark = floats(1)
    with serialization.safe_globals([Special]):
        back = loaded(saved(special))
    assert type(back) is Special and same(back.mark, floats(1)) and back.tolist() == [0, 1]


class Special(Tensor):
    pass


def test_backward_hooks_stay_behind():
    pytest.importorskip("mt_autograd")
    watched = floats(2).requires_grad_()
    watched.register_hook(lambda grad: grad)
    with pytest.warns(UserWarning, match="backward hook .* on tensor will not be serialized"):
        data = saved(watched)
    assert loaded(data).requires_grad


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_every_geometry_survives(data):
    ndim = data.draw(st.integers(0, 4))
    size = data.draw(st.tuples(*[st.integers(0, 4)] * ndim))
    # Strides that are all 0 are told from those that arrays without elements forget by the base of a view alone.
    stride = data.draw(st.tuples(*[st.integers(1 if 0 in size else 0, 5)] * ndim))
    offset = data.draw(st.integers(0, 3))
    extent = offset + 1 + sum(max(n - 1, 0) * s for n, s in zip(size, stride))
    view = floats(extent).as_strided(size, stride, offset)
    for zip_format in (True, False):
        back = loaded(saved(view, _use_new_zipfile_serialization=zip_format))
        assert (back.shape, back.stride(), back.storage_offset()) == (view.shape, view.stride(), offset)
        assert back.tolist() == view.tolist()


# Python's own pickle and copy


def test_plain_pickle_keeps_names_and_sharing():
    base = floats(3, 4)
    data = pickle.dumps({"base": base, "row": base[1]})
    assert rebuild._rebuild_tensor_v2.__module__.encode() in data
    back = pickle.loads(data)
    assert same(back["base"], base) and back["base"].untyped_storage() is back["row"].untyped_storage()


@pytest.mark.parametrize("obj", [dtypes.float16, device("cpu"), device("meta", 0), mt.Tensor, UntypedStorage], ids=str)
def test_values_survive_plain_pickle(obj):
    assert pickle.loads(pickle.dumps(obj)) == obj
    assert copy.deepcopy(obj) == obj


# Devices


def test_map_location():
    data = saved({"a": floats(3)})
    assert loaded(data, map_location="cpu")["a"].device == device("cpu")
    for location in ("meta", device("meta"), {"cpu": "meta"}, lambda storage, location: storage.to(device="meta")):
        back = loaded(data, map_location=location)["a"]
        assert back.is_meta and back.shape == (3,)
    assert same(loaded(data, map_location={"cuda:0": "cpu"})["a"], floats(3))
    seen = []
    assert same(
        loaded(data, map_location=lambda storage, location: seen.append((type(storage), location, len(storage))))["a"],
        floats(3),
    )
    assert seen == [(UntypedStorage, "cpu", 12)]


@pytest.mark.parametrize("zip_format", [True, False])
def test_meta_storages_are_not_read(zip_format):
    data = saved({"a": floats(3), "b": 1}, _use_new_zipfile_serialization=zip_format)
    back = loaded(data, map_location="meta")
    assert back["a"].is_meta and back["b"] == 1


def test_unknown_locations():
    with pytest.raises(
        RuntimeError,
        match=r"don't know how to restore data location of torch.storage.UntypedStorage \(tagged with xyz\)",
    ):
        loaded(saved(floats(3)), map_location="xyz")
    with pytest.raises(TypeError, match="not callable"):
        loaded(saved(floats(3)), map_location=5)


def test_a_device_that_is_not_there():
    for location in ("cuda", device("cuda", 1)):
        with pytest.raises(
            RuntimeError, match="Attempting to deserialize object on a CUDA device but torch.cuda.is_available"
        ):
            loaded(saved(floats(3)), map_location=location)


def test_packages_may_take_over(monkeypatch):
    from mt_core.serialization import locations

    monkeypatch.setattr(locations, "_registry", list(locations._registry))
    serialization.register_package(
        5,
        lambda storage: "attic" if len(storage) == 8 else None,
        lambda storage, location: storage.clone().fill_(0) if location == "attic" else None,
    )
    assert serialization.location_tag(UntypedStorage(8)) == "attic"
    assert loaded(saved([floats(2) + 1, floats(3)]))[0].tolist() == [0, 0]


# Mapping


def test_mapped_tensors_are_written_apart_from_the_file(tmp_path):
    path = tmp_path / "model.pt"
    save({"a": floats(5)}, path)
    before = path.read_bytes()
    mapped = load(path, mmap=True)
    mapped["a"].fill_(7)
    assert mapped["a"].tolist() == [7] * 5 and path.read_bytes() == before
    assert same(load(path, mmap=True)["a"], floats(5))
    with pytest.raises(RuntimeError, match="not resizable"):
        mapped["a"].resize_(100)


@pytest.mark.skipif(not hasattr(mmap, "MAP_SHARED"), reason="needs shared mappings")
def test_mapped_tensors_may_be_written_through(tmp_path):
    path = tmp_path / "model.pt"
    save({"a": floats(5)}, path)
    with serialization.set_default_mmap_options(mmap.MAP_SHARED):
        load(path, mmap=True)["a"].fill_(7)
    assert load(path)["a"].tolist() == [7] * 5
    assert serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    with pytest.raises(ValueError, match="expected mmap.MAP_PRIVATE or mmap.MAP_SHARED"):
        serialization.set_default_mmap_options(77)


def test_only_archives_at_a_path_are_mapped(tmp_path):
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        loaded(ZIP, mmap=True)
    path = tmp_path / "legacy.pt"
    path.write_bytes(LEGACY)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        load(path, mmap=True)


# Settings


def test_byte_order_of_files_that_do_not_say():
    data = saved(floats(3), _disable_byteorder_record=True)
    assert same(loaded(data), floats(3))
    foreign = serialization.LoadEndianness.BIG if sys.byteorder == "little" else serialization.LoadEndianness.LITTLE
    serialization.set_default_load_endianness(foreign)
    try:
        assert (
            loaded(data).numpy().tobytes()
            == floats(3).numpy().astype(">f4" if sys.byteorder == "little" else "<f4").tobytes()
        )
    finally:
        serialization.set_default_load_endianness(serialization.LoadEndianness.NATIVE)
    with pytest.raises(TypeError, match="Invalid argument type in function set_default_load_endianness"):
        serialization.set_default_load_endianness("big")


def test_skipped_data():
    with serialization.skip_data():
        data = saved({"a": floats(3), "b": 5})
    assert loaded(data)["a"].tolist() == [0, 0, 0] and loaded(data)["b"] == 5
    with serialization.skip_data():
        assert loaded(ZIP)["a"].shape == (10,)
    with (
        pytest.raises(NotImplementedError, match="map_location='meta'"),
        serialization.skip_data(materialize_fake_tensors=True),
    ):
        pass


# Names


def test_aliases_work_both_ways(monkeypatch):
    monkeypatch.setattr(names, "_modules", [*names._modules])
    monkeypatch.setattr(names, "_own_of", dict(names._own_of))
    monkeypatch.setattr(names, "_torch_of", dict(names._torch_of))
    serialization.register_module_alias("collections", "torch.fancy")
    serialization.register_module_alias("collections.abc", "torch.fancy.deep")
    serialization.register_global_alias((__name__, "Special"), ("torch.fancy", "Odd"))
    assert names.torch_name("collections", "deque") == ("torch.fancy", "deque")
    assert names.torch_name("collections.abc", "Sized") == ("torch.fancy.deep", "Sized")
    assert names.torch_name("collectionsx", "deque") is None
    assert names.resolve("torch.fancy", "OrderedDict") is OrderedDict
    with pytest.raises(LookupError):
        names.resolve("torch.fancy.missing", "Thing")


def test_other_picklers():
    class Pickler(pickle.Pickler):
        pass

    class PythonPickler(pickle._Pickler):
        pass

    class Unpickler(pickle.Unpickler):
        pass

    for pickler in (Pickler, PythonPickler):
        module = types.SimpleNamespace(Pickler=pickler, Unpickler=Unpickler)
        data = saved({"a": floats(3), "size": floats(2, 3).shape}, pickle_module=module)
        assert same(loaded(data, pickle_module=module)["a"], floats(3))
        named = b"torch._utils" in data
    assert (
        named == (pickler is PythonPickler) or named and mt.Tensor.__module__ == "torch"
    )  # once mindtorch is imported


def test_functions_go_by_pytorchs_names():
    from mt_core.api import _functions as ops

    data = saved([ops.relu, ops.gelu, ops.linalg_norm, ops.add])
    for name in (b"ctorch\nrelu\n", b"ctorch._C._nn\ngelu\n", b"ctorch._C._linalg\nlinalg_norm\n", b"ctorch\nadd\n"):
        assert name in data
    assert loaded(data, weights_only=False) == [ops.relu, ops.gelu, ops.linalg_norm, ops.add]


def test_classes_that_cannot_be_found_again_are_refused_as_pickle_does():
    class Local:
        pass

    with pytest.raises((AttributeError, pickle.PicklingError), match="Local"):
        saved(Local())


def test_load_in_another_process(tmp_path):
    path = tmp_path / "model.pt"
    save({"a": floats(3), "b": floats(3)[1:]}, path)
    program = f"from mt_core.serialization import load; print(load({str(path)!r})['b'].tolist())"
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        == "[1.0, 2.0]\n"
    )
