"""Gradients through lazily conjugated and negated views: those of the same programs on copies."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import mt_autograd
from mt_core.testing.namespace import namespace

torch = namespace(autograd=mt_autograd)

#: name -> (a lazy view, the same numbers computed at once)
LAZY: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "conj": (lambda t: t.conj(), lambda t: t.conj_physical()),
    "neg": (lambda t: torch._neg_view(t), lambda t: -t),
    "mH": (lambda t: t.mH, lambda t: t.mT.conj_physical()),
    "imag": (lambda t: torch.complex(t.real, t.conj().imag), lambda t: torch.complex(t.real, -t.imag)),
    "both": (lambda t: torch._neg_view(t.conj()), lambda t: -t.conj_physical()),
}


def leaf(seed: int = 0) -> Any:
    rng = random.Random(seed)
    numbers = [[complex(rng.gauss(0, 1), rng.gauss(0, 1)) for _ in range(3)] for _ in range(3)]
    return torch.tensor(numbers, dtype=torch.complex128, requires_grad=True)


def both_orders(program: Callable[[Any], Any]) -> list[Any]:
    """The gradient of a real loss, and that of the gradient's squared norm."""
    x = leaf()
    result = program(x)
    loss = (result * result.conj() * torch.linspace(1, 2, 3, dtype=torch.float64)).real.sum()
    (first,) = torch.autograd.grad(loss, x, create_graph=True)
    (second,) = torch.autograd.grad((first.real**2 + 2 * first.imag**2 + first.real * first.imag).sum(), x)
    return [first, second]


def same(mine: list[Any], theirs: list[Any]) -> bool:
    return all(torch.allclose(a.resolve_conj(), b.resolve_conj()) for a, b in zip(mine, theirs, strict=True))


@pytest.mark.parametrize("name", LAZY)
def test_out_of_place(name: str) -> None:
    lazy, copied = LAZY[name]

    def program(view: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: (view(x) @ x).exp() * view(x * x)

    assert same(both_orders(program(lazy)), both_orders(program(copied)))


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "mul_": lambda t, x: t.mul_(x[: t.shape[0]]),
    "add_": lambda t, x: t.add_(x[: t.shape[0]], alpha=2),
    "copy_": lambda t, x: t.copy_(x[: t.shape[0]] * 3),
    "zero_": lambda t, x: t.zero_(),
    "exp_": lambda t, x: t.exp_(),
    "set": lambda t, x: t.__setitem__(0, x[1] * 2),
}


@pytest.mark.parametrize("rows", [3, 2])
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("name", ["conj", "neg", "both"])
def test_writes_through_a_view_reach_the_gradient_of_the_base(name: str, write: str, rows: int) -> None:
    lazy, copied = LAZY[name]

    def through(x: Any) -> Any:
        y = x * 1
        WRITES[write](lazy(y)[:rows], x)
        return y * lazy(y)

    def apart(x: Any) -> Any:
        y = x * 1
        part = copied(y)[:rows].clone()
        WRITES[write](part, x)
        y = torch.cat([copied(part), y[rows:]])
        return y * copied(y)

    assert same(both_orders(through), both_orders(apart))


@pytest.mark.parametrize("write", ["mul_", "add_", "copy_", "exp_"])
def test_writes_to_the_imaginary_part_of_a_conjugate(write: str) -> None:
    def through(x: Any) -> Any:
        y = x * 1
        WRITES[write](y.conj().imag, x.real)
        return y

    def apart(x: Any) -> Any:
        part = -x.imag
        WRITES[write](part, x.real)
        return torch.complex(x.real, -part)

    assert same(both_orders(through), both_orders(apart))


def test_a_view_taken_before_its_base_was_written_to_follows() -> None:
    def through(x: Any) -> Any:
        y = x * 1
        view = y.conj()
        y.mul_(x)
        return view * x

    assert same(both_orders(through), both_orders(lambda x: (x * x).conj_physical() * x))


def test_a_base_with_the_bit_of_its_own() -> None:
    def through(x: Any) -> Any:
        base = leaf(1).detach().conj().detach()
        base.mul_(x)
        base[0].imag.mul_(x[0].real)
        return base

    def apart(x: Any) -> Any:
        base = leaf(1).detach().conj_physical() * x
        first = torch.complex(base[0].real, base[0].imag * x[0].real)
        return torch.cat([first.unsqueeze(0), base[1:]])

    assert same(both_orders(through), both_orders(apart))


def test_pairs_of_reals_of_a_base_with_the_bit_are_refused() -> None:
    x, base = leaf(), leaf(1).detach().conj().detach()
    base.mul_(x)
    torch.view_as_real(base.conj()).mul_(2)
    with pytest.raises(NotImplementedError, match="conjugate bit"):
        torch.autograd.grad(base.real.sum(), x)


def test_nodes_have_the_names_that_pytorch_gives() -> None:
    x = leaf()
    names = [type(t.grad_fn).__name__ for t in (x.conj(), torch._neg_view(x), x.conj().imag, x.conj().resolve_conj())]
    assert names == ["ConjBackward0", "NegViewBackward0", "SelectBackward0", "CloneBackward0"]
