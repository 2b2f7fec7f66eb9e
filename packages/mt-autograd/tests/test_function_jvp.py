"""``Function.jvp``: forward mode of custom functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import mt_autograd
from mt_autograd import Function, tangents
from mt_autograd import forward_ad as fw
from mt_core.testing.namespace import namespace

torch: Any = namespace(autograd=mt_autograd)


@pytest.fixture
def dual() -> Iterator[Any]:
    """(1, 2) along (1, 3)."""
    with fw.dual_level():
        primal = torch.tensor([1.0, 2.0], dtype=torch.float64)
        yield fw.make_dual(primal, torch.tensor([1.0, 3.0], dtype=torch.float64))


def tangent(tensor: Any) -> Any:
    found = fw.unpack_dual(tensor).tangent
    return None if found is None else found.tolist()


def function(forward: Any, jvp: Any = None) -> Any:
    """``apply`` of a function class with these two."""
    attributes = {"forward": staticmethod(forward)}
    if jvp is not None:
        attributes["jvp"] = staticmethod(jvp)
    return type("Custom", (Function,), attributes).apply


class Product(Function):
    """x * y, with everything."""

    @staticmethod
    def forward(x: Any, y: Any) -> Any:
        assert fw.unpack_dual(x).tangent is None
        return x * y

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_forward(*inputs)
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        x, y = ctx.saved_tensors
        return grad * y, grad * x

    @staticmethod
    def jvp(ctx: Any, x_t: Any, y_t: Any) -> Any:
        x, y = ctx.saved_tensors
        return x_t * y + x * y_t


def test_the_product(dual: Any) -> None:
    assert tangent(Product.apply(dual, dual * 2)) == [4, 24]
    with torch.no_grad():
        assert tangent(Product.apply(dual, dual)) == [2, 12]
    assert tangent(Product.apply(dual.detach(), dual.detach())) is None
    with fw._set_fwd_grad_enabled(False):
        y = Product.apply(dual, dual)
    assert tangent(y) is None


def test_both_modes(dual: Any) -> None:
    x = dual.requires_grad_()
    y = Product.apply(x, x)
    gradient = torch.autograd.grad(y.sum(), x, create_graph=True)[0]
    assert (tangent(y), gradient.tolist(), tangent(gradient)) == ([2, 12], [2, 4], [2, 6])
    of_tangent = torch.autograd.grad(fw.unpack_dual(y).tangent.sum(), x)[0]
    assert of_tangent.tolist() == [2, 6]


def test_levels_nest() -> None:
    """d2(x * x) = 2, by a function at both levels."""
    x = torch.tensor(3.0, dtype=torch.float64)
    one = torch.ones_like(x)
    outer = tangents.enter_level()
    first = tangents.make_dual(x, one, outer)
    inner = tangents.enter_level()
    both = tangents.make_dual(first, one, inner)
    derived = tangents.unpack(Product.apply(both, both), inner)[1]
    tangents.exit_level(inner)
    assert (float(derived), float(tangents.unpack(derived, outer)[1])) == (6, 2)
    tangents.exit_level(outer)


def test_what_jvp_is_given(dual: Any) -> None:
    seen: list[Any] = []

    def jvp(ctx: Any, *given: Any) -> Any:
        seen.extend(given)
        return given[0]

    function(lambda ctx, x, k, y: x * k + y, jvp)(dual, 3, torch.ones(2))
    assert [None if t is None else t.tolist() for t in seen] == [[1, 3], None, [0, 0]]

    def unmaterialized(ctx: Any, x: Any, y: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x + y

    seen.clear()
    y = function(unmaterialized, jvp)(dual, torch.ones(2, dtype=torch.float64))
    assert seen[1] is None
    y.mul_(2)
    assert tangent(dual) == [1, 3]


def test_several_results(dual: Any) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        steps = x.floor()
        ctx.mark_non_differentiable(steps)
        return x * 2, steps, x.long(), 5

    y, steps, integers, number = function(forward, lambda ctx, t: (t * 2, None, None, None))(dual)
    assert (tangent(y), tangent(steps), tangent(integers), number) == ([2, 6], None, None, 5)
    for at in (1, 2):
        returned = [None] * 4
        returned[at] = torch.ones(2)
        with pytest.raises(RuntimeError, match=f"returned a gradient at position {at}, but  the corresponding"):
            function(forward, lambda ctx, t, r=returned: (t, *r[1:]))(dual)


@pytest.mark.parametrize(
    ("jvp", "words"),
    [
        (None, "You must implement the jvp function"),
        (lambda ctx, t: (t, t), r"invalid number of forward gradients \(expected 1 but got 2\)"),
        (lambda ctx, t: t.sum(), r"Tensor is of size \[2\] while the given forward gradient is of size \[\]"),
        (lambda ctx, t: 3, r"expected Variable or None \(got int\) for grad output 0"),
        (lambda ctx, t: None, "returned None at position 0"),
    ],
)
def test_refusals(jvp: Any, words: str, dual: Any) -> None:
    with pytest.raises((RuntimeError, NotImplementedError), match=words):
        function(lambda ctx, x: x * 2, jvp)(dual)


def test_numbers_are_no_saved_tensors(dual: Any) -> None:
    with pytest.raises(AssertionError, match="save_for_forward expects all arguments to be tensors"):
        function(lambda ctx, x: ctx.save_for_forward(x, 3))(dual)


def test_views(dual: Any) -> None:
    y = function(lambda ctx, x: x[:1], lambda ctx, t: t[:1])(dual)
    assert tangent(y) == [1]
    assert tangent(function(lambda ctx, x: x, lambda ctx, t: t.view_as(t))(dual)) == [1, 3]
    for forward, jvp in [(lambda ctx, x: x[:1], lambda ctx, t: t[:1].clone()), (lambda ctx, x: x, lambda ctx, t: t)]:
        with pytest.raises(RuntimeError, match="is returning a view .* but the jvp is not returning a view"):
            function(forward, jvp)(dual)


def test_in_place(dual: Any) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2)

    x = dual * 1
    assert function(forward, lambda ctx, t: t.mul_(2))(x) is x
    assert tangent(x) == [2, 6]
    for jvp in (lambda ctx, t: t * 2, lambda ctx, t: None, lambda ctx, t: t):
        with pytest.raises(RuntimeError, match="An inplace custom Function is not modifying the forward mode"):
            function(forward, jvp)(dual * 1)
    with pytest.raises(RuntimeError, match="is not returning the forward mode gradients as-is"):
        function(forward, lambda ctx, t: t.clone().mul_(2))(dual * 1)
    without = torch.ones(2, dtype=torch.float64)  # it has no tangent that could be written to
    function(lambda ctx, y, x: (ctx.mark_dirty(y), y.mul_(2))[1], lambda ctx, y_t, x_t: y_t * 0 + x_t)(without, dual)
    assert tangent(without) == [1, 3]


def test_jvp_finds_what_was_saved_for_it_and_nothing_else(dual: Any) -> None:
    seen: list[int] = []

    def forward(ctx: Any, x: Any, for_forward: bool) -> Any:
        ctx.save_for_backward(x, x)
        if for_forward:
            ctx.save_for_forward(x)
        return x.clone()

    def jvp(ctx: Any, x_t: Any, _: Any) -> Any:
        seen.append(len(ctx.saved_tensors))
        return x_t

    for for_forward in (False, True):
        function(forward, jvp)(dual, for_forward)
    assert seen == [0, 1]


def test_what_cannot_have_a_tangent_is_given_none_and_gives_none(dual: Any) -> None:
    given: list[Any] = []

    def jvp(ctx: Any, x_t: Any, y_t: Any) -> Any:
        given.append(y_t)
        return x_t, None

    made = function(lambda ctx, x, y: (x.clone(), y.clone()), jvp)(dual, torch.tensor(3))
    assert given == [None] and [tangent(t) for t in made] == [[1, 3], None]


@pytest.mark.parametrize(("of_a_view", "what"), [(False, "the given grad input"), (True, "the same base as the given")])
def test_the_tangent_of_a_view_is_a_view_of_the_same(of_a_view: bool, what: str, dual: Any) -> None:
    def jvp(ctx: Any, t: Any) -> Any:
        apart = t[:1].clone()
        return apart.view_as(apart)

    with pytest.raises(RuntimeError, match=f"but the jvp is not returning a view of {what}"):
        function(lambda ctx, x: x[:1], jvp)(dual.view_as(dual) if of_a_view else dual)
