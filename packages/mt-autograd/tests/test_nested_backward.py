"""Backwards inside of each other: as deep as a program goes, with what it has switched on."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import mt_core as torch
from mt_autograd import tangents
from mt_autograd.function import Function
from mt_autograd.grad_mode import set_multithreading_enabled
from mt_autograd.graph import saved_tensors_hooks
from mt_core.autograd_state import enable_grad, is_grad_enabled
from mt_core.state import tls
from mt_core.thread_state import in_another_thread


def _nested(bottom: Any) -> Any:
    """A function whose backward runs another one of it, of an argument less by one; at 0, `bottom` is called."""

    class Nested(Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            with enable_grad():
                ctx.x = x.detach().requires_grad_() - 1
            return ctx.x.detach()

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            if ctx.x < 0:
                bottom()
                return grad
            with enable_grad():
                Nested.apply(ctx.x).sum().backward()
            return grad * 2

    return Nested.apply


def test_backwards_nest_two_thousand_deep_and_more_than_once() -> None:
    reached = []
    for deep in (2000.0, 200.0):
        x = torch.tensor(deep, requires_grad=True)
        _nested(lambda: reached.append(threading.current_thread()))(x).sum().backward()
        assert x.grad.item() == 2.0
    assert len(reached) == 2 and threading.main_thread() not in reached
    assert not any(thread.is_alive() for thread in reached)


def test_what_the_innermost_raises_reaches_the_outermost() -> None:
    def fail() -> None:
        raise KeyError("innermost")

    with pytest.raises(KeyError, match="innermost"):
        _nested(fail)(torch.tensor(100.0, requires_grad=True)).sum().backward()
    x = torch.tensor(3.0, requires_grad=True)
    x.sum().backward()  # nothing stays behind
    assert x.grad == 1


def test_what_is_switched_on_is_so_in_the_innermost() -> None:
    packed, seen = [], []

    def bottom() -> None:
        seen.append(is_grad_enabled())
        with enable_grad():
            torch.tensor(3.0, requires_grad=True).exp()

    with saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        _nested(bottom)(torch.tensor(50.0, requires_grad=True)).sum().backward()
    assert seen == [False] and [t.item() for t in packed] == [pytest.approx(20.0855, rel=1e-4)]


def test_the_state_goes_along_and_does_not_come_back() -> None:
    def change() -> tuple[bool, int]:
        found = tls.grad_enabled, tls.mode
        tls.grad_enabled = not tls.grad_enabled
        tls.refresh()
        return found

    with torch.no_grad():
        before = tls.grad_enabled, tls.mode
        assert in_another_thread(change) == before
        assert (tls.grad_enabled, tls.mode) == before
    assert in_another_thread(is_grad_enabled)


def test_no_thread_is_made_where_none_is_permitted() -> None:
    found = []
    with set_multithreading_enabled(False):
        x = torch.tensor(25.0, requires_grad=True)
        _nested(lambda: found.append(threading.current_thread()))(x).sum().backward()
    assert found == [threading.current_thread()]


def test_what_hides_tangents_goes_along() -> None:
    """A backward that runs below a level of forward mode sees no tangents of that level, in whatever thread it is."""
    level = tangents.enter_level()
    try:
        dual = tangents.make_dual(torch.ones(2), torch.ones(2), level)
        with tangents.below(level):
            assert in_another_thread(lambda: tangents.tangent_of(dual * 2, level)) is None
        assert in_another_thread(lambda: tangents.tangent_of(dual * 2, level)) is not None
    finally:
        tangents.exit_level(level)
