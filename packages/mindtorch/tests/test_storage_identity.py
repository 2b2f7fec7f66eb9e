"""Which storages are of the same bytes, as programs that save tensors ask."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

import mindtorch as torch
from mindtorch.utils._device import set_device


def test_typed_storages_tell_whether_they_share_bytes() -> None:
    x = torch.ones(2)
    typed = torch.TypedStorage(wrap_storage=x.untyped_storage(), dtype=torch.float32, _internal=True)
    other = x.clone()
    assert typed._cdata == x.untyped_storage()._cdata == x.view(1, 2).untyped_storage()._cdata
    assert typed._cdata != other.untyped_storage()._cdata


def test_what_is_put_on_a_storage_stays_with_its_bytes() -> None:
    class Own(torch.UntypedStorage):
        pass

    storage = Own(16)
    storage.tag = "kept"
    tensor = torch.tensor(storage, dtype=torch.float32)
    del storage
    found = tensor[1:].untyped_storage()
    assert type(found) is Own
    assert found.tag == "kept"
    assert not vars(tensor.clone().untyped_storage())


def test_what_is_put_on_a_storage_goes_with_its_last_tensor() -> None:
    class Mark:
        pass

    tensor, mark = torch.ones(3), Mark()
    gone = weakref.ref(mark)
    tensor.untyped_storage().mark = mark
    del mark
    assert gone() is not None
    del tensor
    assert gone() is None


@pytest.mark.parametrize(
    "make", [torch.tensor, torch.as_tensor, torch.asarray, torch.FloatTensor, torch.Tensor], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("typed", [True, False])
def test_a_tensor_of_a_storage_lies_on_it(make: Any, typed: bool) -> None:
    typed_storage = torch.FloatStorage([1.0, 2.0])
    storage = typed_storage if typed else typed_storage._untyped_storage
    tensor = make(storage)
    assert tensor.data_ptr() == storage.data_ptr()
    assert tensor.numel() * tensor.element_size() == 8


def test_the_size_in_memory_counts_the_elements() -> None:
    small, large = (torch.randn(count).storage() for count in (10, 100))
    assert large.__sizeof__() - small.__sizeof__() == 90 * 4


@pytest.mark.parametrize("name", ["QInt32Storage", "QInt8Storage", "QUInt8Storage", "QUInt4x2Storage"])
def test_storages_of_quantized_dtypes_hold_integers(name: str) -> None:
    storage = getattr(torch, name)([1, 2, 3])
    storage[1:] = 7
    assert storage.tolist() == [1, 7, 7]


_BYTES = torch.UntypedStorage(8)


@pytest.mark.parametrize(
    ("args", "options", "words"),
    [
        ((0,), {"wrap_storage": _BYTES}, "No positional arguments should be given when using 'wrap_storage'"),
        ((0, 0), {}, "Too many positional arguments"),
        ((torch.ones(2),), {}, "Argument type not recognized"),
        ((None,), {}, "Argument type not recognized"),
        (("text",), {}, "invalid data type 'str'"),
        ((b"text",), {}, "invalid data type 'bytes'"),
    ],
)
def test_storages_refuse_what_makes_none(args: Any, options: Any, words: str) -> None:
    for make in (torch.FloatStorage, lambda *a, **o: torch.TypedStorage(*a, dtype=torch.float32, **o)):
        with pytest.raises((RuntimeError, TypeError), match=words):
            make(*args, **options)


def test_a_legacy_storage_is_told_neither_dtype_nor_device() -> None:
    for name, value in (("dtype", torch.float64), ("device", "cpu")):
        with pytest.raises(RuntimeError, match=f"Keyword argument '{name}' cannot be specified"):
            torch.FloatStorage(**{name: value})
    with pytest.raises(RuntimeError, match="Argument 'device' should not be specified"):
        torch.TypedStorage(wrap_storage=_BYTES, dtype=torch.float32, device="cpu")


def test_the_storage_class_without_a_type_is_that_of_the_default_dtype() -> None:
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        assert torch.Storage is torch.DoubleStorage
    finally:
        torch.set_default_dtype(before)
    assert torch.Storage(3).dtype is before


def test_new_tensors_of_a_function_are_made_on_its_device() -> None:
    @set_device("meta")
    def made() -> Any:
        yield torch.empty(2)
        yield torch.empty(2, device="cpu")

    found = []
    for tensor in made():
        found.append((tensor.device.type, torch.empty(1).device.type))
    assert found == [("meta", "cpu"), ("cpu", "cpu")]
