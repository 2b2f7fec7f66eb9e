"""Storage objects: identity, size, bytes, sharing between processes."""

from __future__ import annotations

import copy
import gc
import io
import multiprocessing
import operator
import pickle
import weakref

import numpy as np
import pytest

import mt_core as mt
from mt_core import dtypes
from mt_core.deprecation import Once
from mt_core.interop import from_numpy
from mt_core.storage import StorageBase, UntypedStorage
from mt_core.typed_storage import (
    FloatStorage,
    IntStorage,
    TypedStorage,
    _dtype_to_storage_type_map,
    _storage_type_to_dtype_map,
)


def fresh(*shape):
    return mt.arange(float(np.prod(shape))).reshape(shape)


# The storage of a tensor


def test_one_object_per_block():
    base = fresh(3, 4)
    storage = base.untyped_storage()
    for other in (base, base[1:], base.t(), base.detach(), base.data, base.view(dtypes.int32)):
        assert other.untyped_storage() is storage
    assert base.clone().untyped_storage() is not storage
    assert storage.nbytes() == len(storage) == storage.size() == 48
    assert storage.data_ptr() == base.data_ptr() == base[1:].data_ptr() - 16


def test_memory_goes_with_the_last_tensor():
    base = fresh(1000)
    memory = weakref.ref(base._array)
    base.untyped_storage()
    gc.disable()
    try:
        del base
        assert memory() is None
    finally:
        gc.enable()


def test_offsets_are_those_of_the_storage():
    base = fresh(3, 4)
    assert [t.storage_offset() for t in (base, base[1], base[1:, 2:], base.t()[2])] == [0, 4, 6, 2]
    assert from_numpy(np.arange(10.0)[2:5]).storage_offset() == 0
    assert from_numpy(np.arange(10.0)[::3]).untyped_storage().nbytes() == 80


def test_growing_keeps_aliases_together():
    base = fresh(4)
    view, plain = base[1:3], base.data
    base.untyped_storage().resize_(100)
    assert base.untyped_storage().nbytes() == 100 and base.tolist() == [0, 1, 2, 3]
    view.fill_(9)
    assert base.tolist() == plain.tolist() == [0, 9, 9, 3]


def test_shrinking_and_growing_again():
    base = fresh(4)
    storage = base.untyped_storage()
    storage.resize_(0)
    assert storage.nbytes() == 0 and base.shape == (4,)
    storage.resize_(16)
    base.fill_(3)
    assert storage.nbytes() == 16 and base.untyped_storage() is storage


def test_what_reaches_beyond_a_shrunken_storage_keeps_the_bytes_before_its_end():
    base = fresh(10)
    view, storage = base[1:8], base.untyped_storage()
    storage.resize_(16)
    assert base[:4].tolist() == base.tolist()[:4] == [0, 1, 2, 3] and view.tolist()[:3] == [1, 2, 3]
    assert (base.shape, view.storage_offset(), view.stride()) == ((10,), 1, (1,))
    view.fill_(7)
    assert base.tolist()[:8] == [0, *[7] * 7] and bytes(storage) == np.float32([0, 7, 7, 7]).tobytes()
    storage.resize_(0)
    assert base.data_ptr() == storage.data_ptr() == 0
    storage.resize_(40)
    base.fill_(2)
    assert view.tolist() == [2] * 7 and storage.nbytes() == 40 and base.data_ptr() == storage.data_ptr() != 0


def test_memory_of_others_is_not_resized():
    for tensor in (from_numpy(np.arange(3.0)), mt.zeros(3)):
        storage = tensor.untyped_storage()
        if storage.resizable():
            storage = storage[2:5]
        with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
            storage.resize_(100)


# Bytes


def test_constructors():
    assert len(UntypedStorage()) == 0
    assert len(UntypedStorage(4)) == 4
    assert UntypedStorage([1, 2, 300, -1]).tolist() == [1, 2, 44, 255]
    assert UntypedStorage(b"ab").tolist() == [97, 98]
    assert UntypedStorage(4, device="meta").device.type == "meta"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: UntypedStorage(-4), RuntimeError, "negative"),
        (
            lambda: UntypedStorage([1.5]),
            RuntimeError,
            r"tried to construct a storage from a sequence \(list\), but one of the items was of type float",
        ),
        (
            lambda: UntypedStorage(4, foo=1),
            TypeError,
            r"torch.UntypedStorage\(\) received an invalid combination of arguments - got \(int, foo=int\)",
        ),
        (lambda: UntypedStorage([1, 2])[2], IndexError, "index 2 out of range for storage of size 2"),
        (
            lambda: UntypedStorage([1, 2])[::2],
            RuntimeError,
            "Trying to slice with a step of 2, but only a step of 1 is supported",
        ),
        (lambda: UntypedStorage([1, 2])["a"], TypeError, "can't index a torch.UntypedStorage with str"),
        (lambda: UntypedStorage([1]).__setitem__(5, 1), RuntimeError, "out of bounds"),
        (
            lambda: UntypedStorage([1]).__setitem__(0, 1.5),
            RuntimeError,
            "can only set storage content with a int types, but got float instead",
        ),
        (
            lambda: UntypedStorage(4).copy_(UntypedStorage(3)),
            RuntimeError,
            "size does not match, self was 4 bytes but src was 3 bytes",
        ),
        (lambda: UntypedStorage(4, device="meta")[0], NotImplementedError, "Not available for 'meta' device type"),
        (
            lambda: UntypedStorage(4, device="meta").cpu(),
            NotImplementedError,
            "Cannot copy out of meta tensor; no data!",
        ),
        (
            lambda: UntypedStorage.from_buffer(b"abcdefgh", dtype=dtypes.float32),
            RuntimeError,
            "function missing required argument 'byte_order'",
        ),
        (
            lambda: UntypedStorage.from_buffer(b"abcdefg", "little", dtype=dtypes.float32),
            ValueError,
            r"buffer size \(7\) must be a multiple of element size \(4\)",
        ),
        (
            lambda: UntypedStorage.from_file("/does/not/exist", False, 8),
            RuntimeError,
            "unable to open file </does/not/exist> in read-only mode: No such file or directory",
        ),
    ],
)
def test_mistakes(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_writing_bytes():
    storage = UntypedStorage([1, 2, 3, 4])
    storage[0], storage[1:3] = 9, 300
    assert storage.tolist() == [9, 44, 44, 4] == list(storage)
    part = storage[1:3]
    part.fill_(7)
    assert storage.tolist() == [9, 7, 7, 4]
    storage.copy_(UntypedStorage([4, 3, 2, 1])).byteswap(dtypes.int16)
    assert storage.tolist() == [3, 4, 1, 2]


def test_writes_reach_the_tensor():
    tensor = mt.zeros(2, dtype=dtypes.uint8)
    tensor.untyped_storage()[1] = 5
    assert tensor.tolist() == [0, 5]


def test_copies():
    storage = UntypedStorage([1, 2])
    for other in (storage.clone(), copy.copy(storage), copy.deepcopy(storage), pickle.loads(pickle.dumps(storage))):
        assert other.tolist() == [1, 2] and other is not storage
    assert storage.cpu() is storage and storage.untyped() is storage
    assert UntypedStorage(3, device="meta").clone().device.type == "meta"


def test_deep_copies_of_views_share():
    base = fresh(4)
    pair = copy.deepcopy([base, base[1:], base.untyped_storage()])
    pair[1].fill_(9)
    assert pair[0].tolist() == [0, 9, 9, 9] and base.tolist() == [0, 1, 2, 3]
    assert pair[2] is pair[0].untyped_storage()


def test_buffers_and_files(tmp_path):
    assert UntypedStorage.from_buffer(b"abcd", "big", dtype=dtypes.int16).tolist() == [98, 97, 100, 99]
    assert UntypedStorage.from_buffer(b"abcdef", "little", 1, 2, dtype=dtypes.int16).tolist() == [99, 100]
    path = tmp_path / "bytes"
    path.write_bytes(b"abcd")
    private = UntypedStorage.from_file(path, False, 4)
    private[0] = 0
    assert private.filename == str(path) and path.read_bytes() == b"abcd"
    shared = UntypedStorage.from_file(path, True, 6)
    shared[0] = 65
    assert path.read_bytes() == b"Abcd\0\0"
    with pytest.raises(RuntimeError, match="size <6> is smaller than the required mapping size <9>"):
        UntypedStorage.from_file(path, False, 9)


def test_text():
    assert repr(UntypedStorage([1, 2])) == " 1\n 2\n[torch.storage.UntypedStorage(device=cpu) of size 2]"
    assert repr(UntypedStorage(4, device="meta")) == "...\n[torch.storage.UntypedStorage(device=meta) of size 4]"


# Other processes


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_shared_tensors_are_the_same_in_another_process(method):
    tensor = fresh(4)
    view = tensor[1:]
    tensor.untyped_storage().share_memory_()
    assert view.untyped_storage().is_shared() and tensor.tolist() == [0, 1, 2, 3]
    process = multiprocessing.get_context(method).Process(target=operator.imul, args=(view, 2))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert tensor.tolist() == [0, 2, 4, 6]


def test_shared_memory_is_not_resized():
    storage = UntypedStorage._new_shared(4)
    assert storage.is_shared() and storage.share_memory_() is storage
    with pytest.raises(RuntimeError, match="not resizable"):
        storage.resize_(8)


# Typed storages


def test_typed_elements():
    storage = FloatStorage([1, 2.5, 3])
    assert storage.tolist() == [1.0, 2.5, 3.0] and storage[-1] == 3.0 and len(storage) == 3 and storage.nbytes() == 12
    storage[1] = 7
    storage[1:3] = 4
    assert storage.tolist() == [1.0, 4.0, 4.0]
    assert storage.pickle_storage_type() == "FloatStorage" and storage.type() == "torch.FloatStorage"
    assert repr(storage).endswith("[torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 3]")
    assert storage.int().tolist() == [1, 4, 4] and storage.int().dtype is dtypes.int32
    assert storage.bfloat16().tolist() == [1.0, 4.0, 4.0]
    assert pickle.loads(pickle.dumps(storage)).tolist() == storage.tolist()


def test_legacy_classes_tell_by_dtype():
    storage = fresh(2).storage()
    assert type(storage) is TypedStorage
    assert isinstance(storage, FloatStorage) and not isinstance(storage, IntStorage)
    assert issubclass(FloatStorage, TypedStorage)


def test_typed_storage_of_a_tensor_shares():
    tensor = fresh(3)
    tensor.storage().fill_(2)
    assert tensor.tolist() == [2, 2, 2]
    tensor.storage().resize_(5)
    assert tensor.untyped_storage().nbytes() == 20


def test_typed_storages_warn_once(monkeypatch):
    monkeypatch.setattr(Once, "given", set())
    with pytest.warns(UserWarning, match="TypedStorage is deprecated. It will be removed in the future"):
        TypedStorage([1.0])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda s: s[5], IndexError, "index 5 out of range for storage of size 3"),
        (lambda s: s[0:2], RuntimeError, "slices are only supported in UntypedStorage.__getitem__"),
        (lambda s: s["a"], RuntimeError, "can't index a <class .*TypedStorage'> with <class 'str'>"),
        (lambda s: FloatStorage(dtype=dtypes.float32), RuntimeError, "Keyword argument 'dtype' cannot be specified"),
        (lambda s: FloatStorage("a"), TypeError, "invalid data type 'str'"),
        (
            lambda s: TypedStorage(wrap_storage=s.untyped(), _internal=True),
            RuntimeError,
            "Argument 'dtype' must be specified",
        ),
        (
            lambda s: TypedStorage(wrap_storage=5, dtype=dtypes.int8, _internal=True),
            TypeError,
            "Argument 'wrap_storage' must be UntypedStorage, but got <class 'int'>",
        ),
    ],
)
def test_typed_mistakes(call, error, message):
    with pytest.raises(error, match=message):
        call(FloatStorage([1, 2, 3]))


def test_storages_are_instances_of_a_base_that_is_not_made():
    assert isinstance(mt.ones(2).untyped_storage(), StorageBase) and isinstance(UntypedStorage(4), StorageBase)
    with pytest.raises(RuntimeError, match="Cannot directly construct StorageBase"):
        StorageBase(3)


def test_names_of_typed_storages_that_do_not_warn():
    typed = mt.tensor([1.0, 2.0, 3.0]).storage()
    assert (typed._size(), typed._nbytes(), typed._element_size()) == (3, 12, 4)
    assert typed._data_ptr() == typed.data_ptr() and typed._pickle_storage_type() == "FloatStorage"
    typed._setitem(1, 5)
    assert typed._getitem(1) == 5 and not typed._is_shared()
    typed._resize_(4)
    assert typed._size() == 4
    assert typed._share_memory_() is typed and typed._is_shared()


def test_what_meta_storages_cannot_do():
    untyped_, filled = UntypedStorage(4, device="meta"), UntypedStorage(4)
    for meta in (untyped_, TypedStorage(wrap_storage=untyped_, dtype=dtypes.int16, _internal=True)):
        shares = [(meta.share_memory_, "fd"), (meta._share_fd_cpu_, "fd"), (meta._share_filename_cpu_, "filename")]
        for share, words in shares:
            with pytest.raises(RuntimeError, match=f"^_share_{words}_: only available on CPU$"):
                share()
        for read in (lambda m=meta: filled.copy_(m), lambda m=meta: m._write_file(io.BytesIO(), False, True, 2)):
            with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
                read()


@pytest.mark.parametrize("save_size", [False, True])
def test_bytes_are_written_to_files(save_size, tmp_path):
    typed = mt.tensor([1, 2, 3], dtype=dtypes.int16).storage()
    for number, storage in enumerate((typed, typed.untyped())):
        with open(tmp_path / str(number), "wb") as file:
            storage._write_file(file, True, save_size, 2)
        size = (3).to_bytes(8, "little") if save_size else b""
        assert (tmp_path / str(number)).read_bytes() == size + np.array([1, 2, 3], "<i2").tobytes()


def test_legacy_classes_by_dtype_and_name():
    names = _dtype_to_storage_type_map()
    assert names[dtypes.float32] == "FloatStorage" and names[dtypes.complex128] == "ComplexDoubleStorage"
    assert _storage_type_to_dtype_map() == {name: dtype for dtype, name in names.items()}


def test_typed_storages_of_the_same_bytes_have_a_number_in_common():
    first, second = mt.ones(2), mt.ones(2)
    assert first.storage()._cdata == first[1:].storage()._cdata != second.storage()._cdata


def test_weak_references_are_numbers_that_keep_nothing_alive():
    tensor = fresh(3)
    number = tensor.untyped_storage()._weak_ref()
    assert number == tensor[1:].untyped_storage()._weak_ref() == tensor.storage()._weak_ref()
    assert not UntypedStorage._expired(number) and not TypedStorage._expired(number)
    assert UntypedStorage._new_with_weak_ptr(number) is tensor.untyped_storage()
    other = fresh(3).untyped_storage()
    assert other._weak_ref() != number
    del tensor
    assert UntypedStorage._expired(number) and UntypedStorage._new_with_weak_ptr(number) is None
    for _ in range(3):
        UntypedStorage._free_weak_ref(number)
    for use in (UntypedStorage._free_weak_ref, UntypedStorage._expired, UntypedStorage._new_with_weak_ptr):
        with pytest.raises(RuntimeError, match="is no weak reference to a storage, or was freed"):
            use(number)
