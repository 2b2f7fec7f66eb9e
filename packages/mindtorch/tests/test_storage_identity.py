"""Which storages are of the same bytes, as programs that save tensors ask."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

import mindtorch as torch


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
