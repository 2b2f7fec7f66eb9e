"""Kernels for whole composites, recorded: the result is the kernel's, the gradient the composite's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mt_autograd
import mt_core
from mt_core.dispatch.registry import register_kernel, unregister_kernel
from mt_core.keys import CPU

SELU = 1.0507009873554805, 1.7580993408473766


def selu(x: Any) -> Any:
    return np.where(x > 0, SELU[0] * x, SELU[1] * np.expm1(x))


@pytest.fixture
def counted() -> Iterator[Callable[[str, Callable[..., Any]], list[int]]]:
    """Put a kernel in front of an operator for one test; the list grows with its calls."""
    entered = []

    def enter(name: str, function: Callable[..., Any]) -> list[int]:
        calls: list[int] = []

        def run(*args: Any) -> Any:
            calls.append(1)
            return function(*args)

        entered.append((name, register_kernel(CPU, (name,), run)))
        return calls

    yield enter
    for name, kernel in entered:
        unregister_kernel(CPU, name, kernel)


def doubles(*shape: int, grad: bool = True) -> Any:
    return mt_core.randn(*shape, dtype=mt_core.float64).requires_grad_(grad)


def test_first_and_second_derivatives_are_those_of_the_parts(counted: Any) -> None:
    x, weight = doubles(2, 5), doubles(2, 5, grad=False)

    def derivatives() -> list[Any]:
        (first,) = mt_autograd.grad((mt_core.softmax(x, -1) * weight).sum(), x, create_graph=True)
        (second,) = mt_autograd.grad((first * first).sum(), x)
        return [first.tolist(), second.tolist()]

    expected = derivatives()
    calls = counted("softmax.int", lambda x, dim, dtype: np.exp(x) / np.exp(x).sum(dim, keepdims=True))
    for ours, theirs in zip(derivatives(), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    assert calls == [1]


def test_it_passes_gradcheck_in_both_orders(counted: Any) -> None:
    calls = counted("selu", selu)
    x = doubles(2, 3)
    assert mt_autograd.gradcheck(mt_core.selu, (x,)) and mt_autograd.gradgradcheck(mt_core.selu, (x,))
    assert calls


@pytest.mark.parametrize("name", ["selu", "selu_"])
def test_in_place_forms_are_differentiated_by_their_old_value(counted: Any, name: str) -> None:
    x = doubles(6)
    mt_core.selu(x).sum().backward()
    expected, x.grad = x.grad.tolist(), None
    write = None if name == "selu" else lambda array: np.copyto(array, selu(array))
    counted(name, write or selu)
    y = x * 1
    assert mt_core.selu_(y) is y
    y.sum().backward()
    np.testing.assert_allclose(x.grad.tolist(), expected)


def test_in_place_on_a_view_reaches_the_base(counted: Any) -> None:
    def gradient() -> list[float]:
        x.grad = None
        base = x * 1
        mt_core.selu_(base[1:3])
        (base * base).sum().backward()
        return x.grad.tolist()

    x = doubles(4)
    expected = gradient()
    calls = counted("selu_", lambda array: np.copyto(array, selu(array)))
    np.testing.assert_allclose(gradient(), expected)
    assert calls == [1]


def test_views_that_a_kernel_makes_have_history(counted: Any) -> None:
    calls = counted("movedim.int", lambda x, source, destination: np.moveaxis(x, source, destination))
    x, weight = doubles(2, 3), doubles(3, 2, grad=False)
    view = mt_core.movedim(x, 0, 1)
    assert calls == [1] and view._is_view() and view._base is x
    (view * weight).sum().backward()
    assert x.grad.tolist() == weight.t().tolist()
    base = x * 1
    mt_core.movedim(base, 0, 1).mul_(2)
    x.grad = None
    base.sum().backward()
    assert x.grad.tolist() == [[2.0] * 3] * 2


def test_arguments_that_were_written_to_are_noticed(counted: Any) -> None:
    counted("selu", selu)
    x = doubles(3)
    y = x * 1
    z = mt_core.selu(y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_a_graph_is_run_once_unless_it_is_kept(counted: Any) -> None:
    counted("selu", selu)
    x = doubles(3)
    y = mt_core.selu(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()


def test_random_numbers_cannot_be_drawn_again(counted: Any) -> None:
    counted("dropout", lambda x, p, train: x * 2)
    x = doubles(3)
    y = mt_core.dropout(x, 0.5, True)
    assert y.tolist() == (x * 2).tolist()
    with pytest.raises(NotImplementedError, match="'aten::dropout' is not implemented: its kernel draws"):
        y.sum().backward()
