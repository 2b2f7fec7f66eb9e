"""Checkpoints without reentrance: what the second call saves, beside what the first did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mt_core as mt
from mt_autograd.api import grad
from mt_autograd.checkpoint import CheckpointError, checkpoint, set_checkpoint_early_stop
from mt_autograd.function import Function
from mt_core.tensor import Tensor


def _short(x: Tensor) -> Tensor:
    return x.sin().exp()


def _long(x: Tensor) -> Tensor:
    return x.sin().exp().sin()


def _first_then(first: Callable[..., Tensor], second: Callable[..., Tensor]) -> Callable[..., Tensor]:
    calls = iter([first])
    return lambda x: next(calls, second)(x)


def _through(function: Callable[..., Tensor], early_stop: bool) -> Tensor:
    x = mt.tensor([0.5]).requires_grad_()
    with set_checkpoint_early_stop(early_stop):
        y = checkpoint(function, x, use_reentrant=False)
        return grad(y.sum(), x)[0]


def test_a_second_call_that_saves_less_is_refused() -> None:
    with pytest.raises(CheckpointError, match="A different number of tensors was saved"):
        _through(_first_then(_long, _short), early_stop=True)


def test_a_second_call_that_saves_more_is_refused_unless_it_stops_early() -> None:
    with pytest.raises(CheckpointError, match="trying to save more tensors during recomputation"):
        _through(_first_then(_short, _long), early_stop=False)
    found = _through(_first_then(_short, _long), early_stop=True)
    assert mt.equal(found, _through(_short, early_stop=True))


@pytest.mark.parametrize("early_stop", [True, False])
def test_a_backward_may_run_inside_of_the_function(early_stop: bool) -> None:
    def slope(x: Tensor) -> Tensor:
        with mt.enable_grad():
            y = checkpoint(_long, x, use_reentrant=False)
            return grad(y.sum(), x, create_graph=True)[0]

    x = mt.tensor([0.5]).requires_grad_()
    expected = grad(slope(x).sum(), x)[0]
    assert mt.allclose(_through(slope, early_stop), expected)


def test_a_saved_tensor_is_unpacked_once() -> None:
    class Twice(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            assert ctx.saved_tensors[0].item() == 0.5
            with pytest.raises(CheckpointError, match="already unpacked once"):
                len(ctx.saved_tensors)
            return grads[0] * 2

    assert _through(Twice.apply, early_stop=True).tolist() == [2.0]
