"""The meta device: shapes without data, and the default device as a context."""

from __future__ import annotations

import pytest

import mt_core


def test_operators_give_shapes() -> None:
    x = mt_core.empty(2, 3, device="meta")
    y = (x @ mt_core.empty(3, 4, device="meta")).relu().sum(0, keepdim=True)
    assert y.is_meta and tuple(y.shape) == (1, 4) and y.dtype is mt_core.float32


def test_a_tensor_too_large_for_any_memory() -> None:
    x = mt_core.empty(1 << 20, 1 << 20, 64, device="meta")
    assert (x + 1).numel() == 1 << 46


def test_views_share_a_base() -> None:
    x = mt_core.empty(2, 3, device="meta")
    assert x.t()._base is x and x[1, 1:].storage_offset() == 4


@pytest.mark.parametrize(
    "read", [lambda x: x.item(), lambda x: x.tolist(), lambda x: bool(x), lambda x: x.cpu(), lambda x: x.numpy()]
)
def test_elements_cannot_be_read(read) -> None:
    with pytest.raises((NotImplementedError, RuntimeError, TypeError)):
        read(mt_core.empty(1, device="meta"))


@pytest.mark.parametrize(
    "operation", [lambda x: x.nonzero(), lambda x: x[x > 0], lambda x: x.unique(), lambda x: x.long().bincount()]
)
def test_shapes_that_depend_on_elements_are_refused(operation) -> None:
    with pytest.raises((NotImplementedError, RuntimeError)):
        operation(mt_core.empty(3, device="meta"))


def test_argument_errors_are_the_same_as_elsewhere() -> None:
    messages = []
    for device in ("cpu", "meta"):
        with pytest.raises(RuntimeError) as refusal:
            mt_core.ones(2, 3, device=device) @ mt_core.ones(2, 3, device=device)
        messages.append(str(refusal.value))
    assert messages[0] == messages[1]


def test_device_context() -> None:
    with mt_core.device("meta"):
        assert mt_core.ones(2).is_meta and mt_core.tensor([1.0]).is_meta and mt_core.arange(3).is_meta
        assert not mt_core.ones(2, device="cpu").is_meta
        with mt_core.device("cpu"):
            assert not mt_core.zeros(1).is_meta
        assert mt_core.randn(2, 2).is_meta
    assert not mt_core.ones(2).is_meta


def test_device_context_ends_with_an_exception() -> None:
    with pytest.raises(KeyError), mt_core.device("meta"):
        raise KeyError
    assert not mt_core.ones(1).is_meta


def test_device_decorates() -> None:
    @mt_core.device("meta")
    def make() -> mt_core.Tensor:
        return mt_core.ones(2)

    assert make().is_meta


def test_gradients_have_shapes_too() -> None:
    pytest.importorskip("mt_autograd")
    x = mt_core.empty(2, 3, device="meta").requires_grad_()
    (x.exp() * x).sum().backward()
    assert x.grad.is_meta and x.grad.shape == x.shape
