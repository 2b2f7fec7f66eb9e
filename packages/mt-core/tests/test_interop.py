"""NumPy, buffers and DLPack: memory is shared, and what cannot be shared says why."""

from __future__ import annotations

import array
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import mt_core as mt
from mt_core import dtypes
from mt_core.deprecation import Once
from mt_core.devices import device
from mt_core.interop import as_tensor, asarray, from_dlpack, from_numpy, frombuffer, to_dlpack
from mt_core.storage import UntypedStorage
from mt_core.typed_storage import FloatStorage

NUMPY_DTYPES = (
    "float64 float32 float16 complex64 complex128 int64 int32 int16 int8 uint64 uint32 uint16 uint8 bool".split()
)
FOREIGN_DTYPES = [
    dtypes.bfloat16,
    dtypes.complex32,
    dtypes.float8_e4m3fn,
    dtypes.float8_e4m3fnuz,
    dtypes.float8_e5m2,
    dtypes.float8_e5m2fnuz,
    dtypes.float8_e8m0fnu,
]


@pytest.fixture(autouse=True)
def warn_again():
    Once.given.clear()


def read_only(count=3):
    values = np.arange(float(count))
    values.flags.writeable = False
    return values


# NumPy


@pytest.mark.parametrize("name", NUMPY_DTYPES)
def test_arrays_are_shared(name):
    values = np.zeros((2, 3), name)
    tensor = from_numpy(values)
    assert tensor.dtype is getattr(dtypes, name) and tensor.data_ptr() == values.ctypes.data
    values[1, 2] = 1
    assert tensor[1, 2].item() == 1
    tensor[0, 0] = 1
    assert values[0, 0] == 1
    assert np.shares_memory(tensor.numpy(), values)


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_layouts_are_kept(data):
    values = data.draw(arrays.arrays(np.int32, arrays.array_shapes(max_dims=4, max_side=4)))
    values = values.transpose(data.draw(st.permutations(range(values.ndim))))
    values = values[tuple(slice(None, None, data.draw(st.integers(1, 3))) for _ in values.shape)]
    tensor = from_numpy(values)
    assert tensor.shape == values.shape and tensor.stride() == tuple(s // 4 for s in values.strides)
    assert tensor.tolist() == values.tolist() and tensor.storage_offset() == 0
    assert tensor.is_contiguous() == values.flags.c_contiguous
    assert from_dlpack(tensor).tolist() == values.tolist()


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ([1], TypeError, r"expected np.ndarray \(got list\)"),
        (np.float32(3), TypeError, r"expected np.ndarray \(got numpy.float32\)"),
        (np.arange(3)[::-1], ValueError, "At least one stride in the given numpy array is negative"),
        (
            np.arange(3, dtype=">i4"),
            ValueError,
            "given numpy array has byte order different from the native byte order",
        ),
        (np.zeros(2, [("a", "i1"), ("b", "f4")])["b"], ValueError, "strides not a multiple of the element byte size"),
        (
            np.array(["a"]),
            TypeError,
            "can't convert np.ndarray of type numpy.str_. The only supported types are: float64",
        ),
        (np.array([None]), TypeError, "can't convert np.ndarray of type numpy.object_"),
        (np.array([0], "M8[s]"), TypeError, "can't convert np.ndarray of type numpy.datetime64"),
    ],
)
def test_arrays_that_cannot_be_shared(value, error, message):
    with pytest.raises(error, match=message):
        from_numpy(value)


def test_odd_but_allowed_arrays():
    assert from_numpy(np.array(3.0)).item() == 3
    assert from_numpy(np.zeros((0, 3))[::-1]).shape == (0, 3)
    assert from_numpy(np.broadcast_to(np.arange(3.0), (2, 3)).copy()).shape == (2, 3)


def test_read_only_arrays_warn_once():
    with pytest.warns(
        UserWarning, match="The given NumPy array is not writable, and PyTorch does not support non-writable tensors"
    ):
        tensor = from_numpy(read_only())
    from_numpy(read_only())
    assert tensor.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="read-only"):
        tensor.add_(1)


def test_memory_outlives_its_array():
    tensor = from_numpy(np.arange(1000.0))
    assert tensor.sum().item() == 499500


# Buffers


def test_buffers_are_shared():
    data = bytearray(b"abcdef")
    tensor = frombuffer(data, dtype=dtypes.int16, offset=2, count=1)
    data[2:4] = b"\x01\x00"
    assert tensor.tolist() == [1 if sys.byteorder == "little" else 256]
    assert frombuffer(array.array("i", [1, 2]), dtype=dtypes.int32).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"buffer": b"abc", "dtype": dtypes.int16},
            r"buffer length \(3 bytes\) after offset \(0 bytes\) must be a multiple of element size \(2\)",
        ),
        (
            {"buffer": b"abcd", "dtype": dtypes.uint8, "count": 0},
            r"both buffer length \(4\) and count \(0\) must not be 0",
        ),
        ({"buffer": b"", "dtype": dtypes.uint8}, r"both buffer length \(0\) and count \(-1\) must not be 0"),
        (
            {"buffer": b"abcd", "dtype": dtypes.uint8, "offset": 4},
            r"offset \(4 bytes\) must be non-negative and no greater than buffer length \(4 bytes\) minus 1",
        ),
        (
            {"buffer": b"abcd", "dtype": dtypes.int16, "count": 3},
            r"requested buffer length \(3 \* 2 bytes\) after offset \(0 bytes\) must not be greater than actual",
        ),
        ({"buffer": 5, "dtype": dtypes.uint8}, "object does not implement Python buffer protocol."),
    ],
)
def test_buffers_that_do_not_fit(options, message):
    buffer = options.pop("buffer")
    with pytest.raises(ValueError, match=message):
        frombuffer(bytearray(buffer) if isinstance(buffer, bytes) else buffer, **options)


def test_read_only_buffers_warn():
    with pytest.warns(UserWarning, match="The given buffer is not writable"):
        frombuffer(b"abcd", dtype=dtypes.uint8)
    with pytest.raises(RuntimeError, match="could not retrieve buffer from object"):
        frombuffer(np.arange(4)[::2], dtype=dtypes.int64)


# DLPack


@pytest.mark.parametrize("d", [*[getattr(dtypes, name) for name in NUMPY_DTYPES], *FOREIGN_DTYPES], ids=str)
@pytest.mark.parametrize("max_version", [None, (1, 0)])
def test_capsules_carry_every_dtype(d, max_version):
    tensor = mt.empty(2, 3, dtype=d)
    back = from_dlpack(tensor.__dlpack__(max_version=max_version))
    assert back.dtype is d and back.shape == (2, 3) and back.data_ptr() == tensor.data_ptr()
    back.untyped_storage()[0] = 77
    assert tensor.untyped_storage()[0] == 77


def test_numpy_takes_tensors_and_gives_them():
    tensor = mt.zeros(3)
    np.from_dlpack(tensor)
    values = np.zeros((2, 3))[:, 1:]
    shared = from_dlpack(values)
    values[1, 1] = 5
    assert shared.tolist() == [[0, 0], [0, 5]] and shared.stride() == (3, 1)
    shared.fill_(2)
    assert values.tolist() == [[2, 2], [2, 2]]


def test_a_capsule_is_used_once():
    tensor = mt.ones(2)
    capsule = to_dlpack(tensor)
    from_dlpack(capsule)
    for nothing in (capsule, 5):
        with pytest.raises(RuntimeError, match="DLTensor capsules can be consumed only once"):
            from_dlpack(nothing)


def test_what_cannot_be_exported():
    with pytest.raises(BufferError, match="Cannot pack tensors on meta"):
        mt.ones(2, device="meta").__dlpack__()
    with pytest.raises(ValueError, match="Unknown device type meta for Dlpack"):
        mt.ones(2, device="meta").__dlpack_device__()
    with pytest.raises(AssertionError, match="stream should be None on cpu."):
        mt.ones(2).__dlpack__(stream=5)
    with pytest.raises(TypeError, match="stream must be"):
        mt.ones(2).__dlpack__(stream="a")
    with pytest.raises(BufferError, match="move it there first"):
        mt.ones(2).__dlpack__(dl_device=(2, 0))
    with pytest.raises(ValueError, match="negative"):
        from_dlpack(np.arange(3.0)[::-1])


def test_gradients_do_not_cross():
    pytest.importorskip("mt_autograd")
    with pytest.raises(BufferError, match=r"Can't export tensors that require gradient, use tensor.detach\(\)"):
        mt.ones(2).requires_grad_().__dlpack__()


def test_copies_on_request():
    tensor = mt.ones(2)
    assert tensor.__dlpack_device__() == (1, 0)
    assert from_dlpack(tensor.__dlpack__(copy=True)).data_ptr() != tensor.data_ptr()
    assert from_dlpack(tensor, copy=True).data_ptr() != tensor.data_ptr()
    assert from_dlpack(tensor, copy=False).data_ptr() == tensor.data_ptr()


def test_a_capsule_may_outlive_everything():
    program = "import mt_core as mt; capsule = mt.ones(3).__dlpack__(); print('end')"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "end\n"


# as_tensor and asarray


@pytest.mark.parametrize("convert", [as_tensor, asarray])
def test_conversion_shares_where_it_can(convert):
    values, tensor = np.arange(3.0), mt.ones(3)
    assert convert(values).data_ptr() == values.ctypes.data
    assert convert(tensor) is tensor
    assert convert(tensor, dtype=dtypes.float32, device="cpu") is tensor
    assert convert(values, dtype=dtypes.float32).dtype is dtypes.float32
    assert convert(values, device="meta").is_meta
    assert convert([1, 2.5]).tolist() == [1, 2.5] and convert(3).item() == 3
    assert convert(np.float32(3)).dtype is dtypes.float32


@pytest.mark.parametrize("convert", [as_tensor, asarray])
def test_storages_are_shared(convert):
    storage = UntypedStorage([0, 0, 128, 63, 5])
    floats = convert(storage, dtype=dtypes.float32)
    assert floats.tolist() == [1.0] and floats.untyped_storage() is storage
    assert convert(storage[1:3], dtype=dtypes.uint8).tolist() == [0, 128]
    assert convert(storage[1:1], dtype=dtypes.uint8).stride() == (1,)
    assert convert(FloatStorage([1, 2])).tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="Expected a Storage of type Byte or an UntypedStorage, but got Float"):
        convert(FloatStorage([1, 2]), dtype=dtypes.uint8)


@pytest.mark.parametrize("convert", [as_tensor, asarray])
def test_the_default_device_counts(convert):
    with device("meta"):
        assert convert(np.arange(3.0)).is_meta and convert(mt.ones(2, device="cpu")).is_meta
        assert convert(np.arange(3.0), device="cpu").is_cpu
        assert from_numpy(np.arange(3.0)).is_cpu


def test_asarray_copies_or_refuses():
    values, tensor = np.arange(3.0), mt.ones(3)
    assert asarray(values, copy=True).data_ptr() != values.ctypes.data
    assert asarray(tensor, copy=True) is not tensor
    assert asarray(bytearray(b"abcd"), dtype=dtypes.uint8).tolist() == [97, 98, 99, 100]
    assert asarray(to_dlpack(tensor)).data_ptr() == tensor.data_ptr()
    for options, message in (
        ({"dtype": dtypes.float32}, "can't alias tensor with dtype 'Double' into dtype 'Float'."),
        ({"device": "meta"}, "can't alias tensor from device 'cpu' to 'meta'."),
    ):
        with pytest.raises(ValueError, match=message):
            asarray(values, copy=False, **options)
    with pytest.raises(ValueError, match="can't alias arbitrary sequence into a tensor."):
        asarray([1, 2], copy=False)


def test_operators_take_arrays_in_a_program_that_converts_none() -> None:
    program = "import mt_core as torch, numpy as np; print((torch.ones(2) == np.ones(2)).tolist())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[True, True]\n"
