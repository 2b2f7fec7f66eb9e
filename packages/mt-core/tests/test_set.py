"""``Tensor.set_``: the geometry and the memory of others, as PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mt_core as torch
from mt_core import Tensor
from mt_core.interop import from_numpy
from mt_core.storage import UntypedStorage


def _storage(count: int = 8) -> UntypedStorage:
    return torch.arange(float(count)).untyped_storage()


def test_nothing_leaves_the_tensor_empty() -> None:
    x = torch.arange(6)
    assert x.set_() is x
    assert (tuple(x.shape), x.stride(), x.dtype, x.untyped_storage().nbytes()) == ((0,), (1,), torch.int64, 0)


def test_a_tensor_shares_its_memory_and_geometry() -> None:
    x, y = torch.arange(6.0), torch.arange(4.0).reshape(2, 2)[:, 1]
    x.set_(y)
    y[0] = 9
    assert x.is_set_to(y)
    assert x.tolist() == [9.0, 3.0]
    assert (x.stride(), x.storage_offset(), x.is_contiguous()) == ((2,), 1, False)
    assert (x * 2).tolist() == [18.0, 6.0]


def test_a_storage_gives_all_its_whole_elements() -> None:
    x, storage = torch.arange(6.0), _storage()
    x.set_(storage)
    assert x.untyped_storage() is storage
    assert x.tolist() == list(range(8))
    assert torch.zeros(1).set_(UntypedStorage([1, 2, 3])).numel() == 0


@pytest.mark.parametrize("of", [lambda: _storage(), lambda: torch.arange(8.0), lambda: torch.arange(8.0).storage()])
@pytest.mark.filterwarnings("ignore:TypedStorage")
def test_a_geometry_of_choice(of: Any) -> None:
    assert torch.zeros(1).set_(of(), 2, (2, 2), (1, 2)).tolist() == [[2.0, 4.0], [3.0, 5.0]]
    assert torch.zeros(1).set_(source=of(), storage_offset=2, size=(2, 2)).tolist() == [[2.0, 3.0], [4.0, 5.0]]
    overlapping = torch.zeros(1).set_(of(), 0, (3, 2), (1, 1))
    assert overlapping.tolist() == [[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]]


def test_a_storage_grows_under_all_its_tensors() -> None:
    x, y = torch.arange(6.0), torch.arange(6.0)
    x.set_(y.untyped_storage(), 0, (10,))
    y[0] = 7
    assert x[:6].tolist() == y.tolist() == [7.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert y.untyped_storage().nbytes() == 40


def test_views_stay_on_the_memory_that_is_left() -> None:
    x = torch.arange(6.0)
    view, twin = x[2:4], x.detach()
    x.set_(torch.zeros(3))
    x[0] = 5
    assert (view.tolist(), view.storage_offset()) == ([2.0, 3.0], 2)
    assert twin.tolist() == list(range(6))
    assert view._version == twin._version == x._version == 2


def test_a_view_that_is_set_leaves_its_base() -> None:
    x = torch.arange(6.0)
    view = x[2:4]
    view.set_(torch.zeros(3))
    view[0] = 5
    assert x.tolist() == list(range(6))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: x.set_(3), TypeError, r"set_\(\) received an invalid combination .* got \(int\)"),
        (lambda x: x.set_(_storage(), 0), TypeError, r"got \(torch.storage.UntypedStorage, int\)"),
        (lambda x: x.set_(_storage(), 1, 2), TypeError, r"got \(torch.storage.UntypedStorage, int, int\)"),
        (lambda x: x.set_(_storage(), -1, (2,)), RuntimeError, "Tensor: invalid storage offset -1"),
        (lambda x: x.set_(_storage(), 0, (2,), (1, 1)), RuntimeError, r"unequal size length \(1\) and stride .* \(2\)"),
        (lambda x: x.set_(_storage(), 0, (2,), (-1,)), RuntimeError, r"with sizes=\[2\] and strides=\[-1\]$"),
        (lambda x: x.set_(_storage(), 0, (-2,)), RuntimeError, "numel: integer multiplication overflow"),
        (
            lambda x: x.set_(torch.arange(3)),
            RuntimeError,
            "Could not set tensor of type long int to a tensor of type f",
        ),
        (lambda x: x.set_(torch.zeros(3, device="meta")), RuntimeError, 'on device "cpu" to .* device "meta"'),
    ],
)
def test_what_fits_no_form_is_refused_and_changes_nothing(call: Any, error: type[Exception], words: str) -> None:
    x = torch.arange(6.0)
    with pytest.raises(error, match=words):
        call(x)
    assert x.tolist() == list(range(6))
    assert x._version == 0


def test_a_typed_storage_must_be_of_the_dtype() -> None:
    with pytest.raises(RuntimeError, match="Expected a Storage of type float or an UntypedStorage, but got type Long"):
        torch.zeros(3).set_(torch.arange(3)._typed_storage())


def test_memory_of_others_does_not_grow() -> None:
    source = from_numpy(np.zeros(3, np.float32)).untyped_storage()
    with pytest.raises(RuntimeError, match="not resizable"):
        torch.zeros(1).set_(source, 0, (4,))


def test_subclasses_stay_what_they_are() -> None:
    class Named(Tensor):
        pass

    x = torch.arange(6.0).as_subclass(Named)
    assert type(x.set_(torch.zeros(2))) is Named


@pytest.mark.parametrize("leave", [lambda x: x.set_(torch.zeros(3)), lambda x: setattr(x, "data", torch.zeros(3))])
def test_views_know_their_memory_after_the_base_has_left(leave: Any) -> None:
    x = torch.arange(6.0)
    view, twin = x[2:4], x.detach()
    leave(x)
    view[0] = 9
    assert (view.storage_offset(), view.untyped_storage().nbytes(), twin.untyped_storage().nbytes()) == (2, 24, 24)
    assert view.untyped_storage() is twin.untyped_storage()
    assert view.as_strided((2,), (1,), 0).tolist() == [0.0, 1.0]
    assert twin.tolist() == [0.0, 1.0, 9.0, 3.0, 4.0, 5.0]
    assert x.tolist() == [0.0, 0.0, 0.0]
