"""Forward mode: levels, what has a tangent, and how tangents of views, writes and nested derivatives hang together."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import mt_autograd
from mt_autograd import forward_ad as fw
from mt_autograd import tangents
from mt_autograd.rules import Rule, find_rule
from mt_autograd.tangent_rules import tangent_rule
from mt_core.dispatch.lookup import composite_of
from mt_core.dispatch.registry import find_overload
from mt_core.keys import FORWARD_GRAD
from mt_core.testing.namespace import namespace
from mt_core.testing.sample import examined_operators
from mt_core.transforms.vmapping import vmap

torch: Any = namespace(autograd=mt_autograd)


@pytest.fixture
def level() -> Iterator[int]:
    """An open level."""
    with fw.dual_level() as number:
        yield number


def dual(*values: float, along: Any = None) -> Any:
    """A dual tensor of these values; its tangent is `along`, or ones."""
    primal = torch.tensor(values, dtype=torch.float64)
    return fw.make_dual(primal, torch.ones_like(primal) if along is None else torch.tensor(along, dtype=torch.float64))


def tangent(tensor: Any) -> Any:
    found = fw.unpack_dual(tensor).tangent
    return None if found is None else found.tolist()


# Levels


def test_one_level_may_be_open(level: int) -> None:
    with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported at the moment"):
        fw.enter_dual_level()


def test_a_level_that_is_not_open_cannot_be_left() -> None:
    with pytest.raises(RuntimeError, match="Dual level must be a positive number"):
        fw.exit_dual_level()
    with fw.dual_level(), pytest.raises(RuntimeError, match="that was not the last one that was created"):
        fw.exit_dual_level(level=2)


def test_tangents_are_gone_with_their_level() -> None:
    with fw.dual_level():
        x = dual(1, 2)
        y = x * x
        assert tangent(y) == [2, 4]
    assert not (x._keys | y._keys) & FORWARD_GRAD
    assert fw.unpack_dual(y).tangent is None
    with fw.dual_level():
        assert tangent(y) is None


def test_a_level_keeps_no_tensor_alive(level: int) -> None:
    x = dual(1, 2)
    results = [weakref.ref(x * i) for i in range(200)]
    gc.collect()
    assert all(result() is None for result in results)


def test_outside_of_a_level() -> None:
    x = torch.ones(2)
    assert fw.unpack_dual(x).primal is x
    with pytest.raises(RuntimeError, match="no level exists, make sure to enter_dual_level"):
        fw.make_dual(x, x)


# Dual tensors


def test_a_dual_tensor_is_a_view_that_keeps_its_tangent(level: int) -> None:
    x, t = torch.tensor([1.0, 2.0]), torch.ones(2)
    made = fw.make_dual(x, t)
    assert made._base is x
    assert fw.unpack_dual(made).tangent is t
    assert fw.unpack_dual(made).primal._base is x
    assert not x._keys & FORWARD_GRAD
    assert repr(made) == "tensor([1., 2.], tangent=tensor([1., 1.]))"


def test_what_cannot_be_made_dual(level: int) -> None:
    x = torch.ones(2)
    with pytest.raises(
        RuntimeError, match=r"Tensor is of size \[2\] while the given forward gradient is of size \[3\]"
    ):
        fw.make_dual(x, torch.ones(3))
    with pytest.raises(RuntimeError, match="already has a forward gradient at the same level 0"):
        fw.make_dual(fw.make_dual(x, x), x)
    with pytest.raises(ValueError, match="Expected primal to be floating point or complex, but got: torch.int64"):
        fw.make_dual(torch.tensor([1]), torch.tensor([1]))
    with pytest.raises(ValueError, match="Expected tangent to be floating point or complex, but got: torch.int64"):
        fw.make_dual(x, torch.tensor([1, 1]))
    with pytest.raises(TypeError, match="argument 'dual' .* must be Tensor, not int"):
        fw.unpack_dual(3)


@pytest.mark.parametrize(
    "without",
    [lambda x: x.detach(), lambda x: x.data, torch.zeros_like, lambda x: x > 0, lambda x: x.long(), torch.argmax],
)
def test_what_has_no_tangent(without: Any, level: int) -> None:
    assert tangent(without(dual(1, 2))) is None


def test_tangents_of_a_negative_modulus(level: int) -> None:
    made = torch.polar(dual(-3), torch.tensor([0.0], dtype=torch.float64))
    assert tangent(made) == [1]


def test_what_knows_no_numbers_but_asks_is_not_refused(level: int) -> None:
    assert dual(3).sum().item() == 3
    find_overload("_assert_async").call(dual(3).sum())


def test_a_step_function_has_zeros(level: int) -> None:
    assert tangent(dual(1.5, 2.5).floor()) == [0, 0]


def test_switched_off(level: int) -> None:
    x = dual(1, 2)
    with fw._set_fwd_grad_enabled(False):
        y = x * 2
        assert tangent(x) is None
    assert tangent(y) is None
    assert tangent(x) == [1, 1]
    with torch.inference_mode():
        assert tangent(x * 2) is None
    with torch.no_grad():
        assert tangent(x * 2) == [2, 2]


def test_forms_that_are_refused(level: int) -> None:
    x = dual(1, 2)
    with pytest.raises(NotImplementedError, match="forward AD with add_out .* because it is an out= function"):
        torch.add(x, x, out=torch.empty(2, dtype=torch.float64))
    with pytest.raises(NotImplementedError, match="forward AD with aten::bincount that does not support it"):
        torch.bincount(torch.tensor([0, 1]), x)
    with pytest.raises(NotImplementedError, match="forward AD with set_ that does not support it"):
        x.set_(torch.ones(2, dtype=torch.float64))
    with pytest.raises(RuntimeError, match="cannot resize variables that has a forward grad"):
        x.resize_(3)


# Views and writes


def test_views_of_a_dual_tensor_share_its_tangent(level: int) -> None:
    x = dual(1, 2, 3)
    x[1:].mul_(3)
    assert tangent(x) == [1, 3, 3]
    x[0] = 5.0
    assert tangent(x) == [0, 3, 3]


def test_a_write_to_a_view_gives_its_base_a_tangent(level: int) -> None:
    base = torch.zeros(3, dtype=torch.float64)
    window, other = base[1:], base[:2]
    window.copy_(dual(1, 2))
    assert tangent(base) == [0, 1, 1]
    assert tangent(window) == [1, 1]
    assert tangent(other) == [0, 1]


def test_a_tangent_is_never_that_of_another_tensor(level: int) -> None:
    x = dual(1, 2)
    y = x + 0
    y.mul_(7)
    assert (tangent(x), tangent(y)) == ([1, 1], [7, 7])


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda x: x.zero_(), [0, 0]),
        (lambda x: x.fill_(3), [0, 0]),
        (lambda x: x.mul_(x), [2, 4]),
        (lambda x: x.exp_().log_(), [1, 1]),
        (lambda x: x.uniform_(), [0, 0]),
        (lambda x: x.clamp_(max=1.5), [1, 0]),
        (lambda x: x.unsqueeze_(0), [[1, 1]]),
    ],
)
def test_in_place(write: Any, expected: list[Any], level: int) -> None:
    x = dual(1, 2)
    assert write(x) is x
    assert torch.allclose(fw.unpack_dual(x).tangent, torch.tensor(expected, dtype=torch.float64))


def test_geometry_in_place_is_that_of_the_tangent_given(level: int) -> None:
    t = torch.ones(2)
    made = fw.make_dual(torch.ones(2), t)
    assert fw.unpack_dual(made).tangent is t
    made.unsqueeze_(0)
    assert t.shape == (1, 2) and t._version == 1  # as in PyTorch


def test_a_first_tangent_that_is_written_is_of_its_own(level: int) -> None:
    x, y, base = dual(1, 2), torch.zeros(2), torch.zeros(2)
    view = base[1:]
    assert fw.unpack_dual(y.add_(x)).tangent is not fw.unpack_dual(x).tangent
    y.mul_(2)
    assert tangent(x) == [1, 1] and tangent(y) == [2, 2]
    base.add_(x)
    assert fw.unpack_dual(base).tangent._version == 0 and tangent(view) == [1]
    view.mul_(3)
    assert tangent(base) == [1, 3]


def test_an_integer_has_no_tangent(level: int) -> None:
    y = torch.ones(2, dtype=torch.int64)
    y.copy_(dual(1, 2))
    assert tangent(y) is None


def test_the_layout_of_a_tangent_is_that_of_its_primal(level: int) -> None:
    primal = torch.arange(6.0).reshape(2, 3).t()
    made = fw.make_dual(primal, torch.ones(3, 2))
    assert fw.unpack_dual(made).tangent.stride() == primal.stride()
    assert fw.unpack_dual(made.t().view(-1)).tangent.tolist() == [1] * 6


# With backward


def test_reverse_over_forward(level: int) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    t = torch.tensor([1.0, 3.0], requires_grad=True)
    y = fw.unpack_dual(fw.make_dual(x, t) ** 3).tangent
    assert [g.tolist() for g in torch.autograd.grad(y.sum(), (x, t))] == [[6, 36], [3, 12]]


def test_forward_over_reverse(level: int) -> None:
    x = dual(1, 2, along=[1, 3]).requires_grad_()
    gradient = torch.autograd.grad((x**3).sum(), x)[0]
    assert (gradient.tolist(), tangent(gradient)) == ([3, 12], [6, 36])


@pytest.mark.parametrize("function", [
    lambda x: x**3, lambda x: x.sin(), lambda x: (x * 1).mul_(x), lambda x: torch.where(x > 1, x**3, x),
    lambda x: torch.atan2(x, x), lambda x: torch.addcmul(x, x, x), lambda x: torch.lerp(x, x + 1, x),
])  # fmt: skip
def test_the_gradient_of_a_tangent_has_no_tangent(function: Any, level: int) -> None:
    y, t = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0, 0.5], requires_grad=True)
    made = function(fw.make_dual(y, t))
    found = torch.autograd.grad(fw.unpack_dual(made).tangent.sum(), (y, t), retain_graph=True)
    assert [fw.unpack_dual(g).tangent for g in found] == [None, None]
    assert fw.unpack_dual(torch.autograd.grad(made.sum(), y)[0]).tangent is not None


def test_results_that_are_saved_have_their_tangents(level: int) -> None:
    x = dual(1, 2).requires_grad_()
    y = x.exp()
    assert torch.allclose(fw.unpack_dual(torch.autograd.grad(y.sum(), x)[0]).tangent, y.detach())


def test_old_values_that_are_saved_have_their_tangents(level: int) -> None:
    x = dual(1, 2).requires_grad_()
    gradient = torch.autograd.grad((x * 1).pow_(3).sum(), x)[0]
    assert tangent(gradient) == [6, 12]


@pytest.mark.parametrize(("create_graph", "expected"), [(False, [None, [6, 12]]), (True, [[6, 12], [12, 24]])])
def test_grad_has_the_tangents_that_pytorch_gives_it(create_graph: bool, expected: list[Any], level: int) -> None:
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    found = []
    for _ in range(2):
        (fw.make_dual(x, torch.ones_like(x)) ** 3).sum().backward(create_graph=create_graph)
        found.append(tangent(x.grad))
    assert found == expected


# Levels inside of levels


def test_levels_nest() -> None:
    """The second derivative of x**3 along 1, by two levels, and the mixed term of a constant inside: no confusion."""
    x = torch.tensor(2.0, dtype=torch.float64)
    one = torch.ones_like(x)
    outer = tangents.enter_level()
    x1 = tangents.make_dual(x, one, outer)
    inner = tangents.enter_level()
    x2 = tangents.make_dual(x1, one, inner)
    y, first = tangents.unpack(x2**3, inner)
    # d/dx (x * d/dy (x + y)) at y = 1, where x is a constant inside
    product = x1 * tangents.unpack(x1 + tangents.make_dual(one, one, inner), inner)[1]
    tangents.exit_level(inner)
    assert (float(y), float(first)) == (8, 12)
    assert float(tangents.unpack(y, outer)[1]) == 12
    assert float(tangents.unpack(first, outer)[1]) == 12
    assert float(tangents.unpack(product, outer)[1]) == 1
    tangents.exit_level(outer)


def test_three_levels() -> None:
    def derivative(function: Any) -> Any:
        def derived(x: Any) -> Any:
            level = tangents.enter_level()
            try:
                result = tangents.unpack(function(tangents.make_dual(x, torch.ones_like(x), level)), level)[1]
            finally:
                tangents.exit_level(level)
            return torch.zeros_like(x) if result is None else result

        return derived

    x = torch.tensor([0.5, 2.0], dtype=torch.float64)
    third = derivative(derivative(derivative(lambda v: v.sin() * v)))(x)
    assert torch.allclose(third, -3 * x.sin() - x * x.cos())


# Every rule


#: Operators of numbers that have neither a rule nor parts, and refuse dual tensors: none of them has a derivative.
REFUSED = {
    "_batch_norm_backward", "_embedding_bag_forward_only", "_functional_assert_async.msg", "_lstm_gates_backward",
    "_recurrent_steps_backward", "bernoulli.p", "binomial", "native_channel_shuffle", "native_group_norm_backward",
    "native_layer_norm_backward", "detach_copy", "resize",
}  # fmt: skip
#: Operators without a result, or with one that is no number.
NUMBERLESS = {
    "_assert_async", "_assert_async.msg", "_assert_tensor_metadata", "_debug_has_internal_overlap",
    "_linalg_check_errors", "_local_scalar_dense",
}  # fmt: skip


def test_every_operator_has_a_rule_or_parts() -> None:
    missing = set()
    for overload in (o for o in examined_operators() if "::" not in o.name):
        rule = find_rule(overload)
        if rule is not None:
            if rule.formulas and rule.forward != "parts":
                tangent_rule(rule, overload)  # names what the operator does not have
            continue
        composite = composite_of(overload)
        has_parts = composite is not None and not composite.explicit
        takes_tensors = any(a.is_tensor for a in overload.schema.arguments)
        if overload.declaration.form == "functional" and takes_tensors and not has_parts:
            missing.add(overload.name)
    assert missing == REFUSED | NUMBERLESS


def test_a_rule_that_says_nothing_is_refused() -> None:
    overload = find_overload("sin")
    rule = find_rule(overload)
    assert rule is not None
    for forward in ("sideways", {"other": lambda t: t}, {"self": lambda t, weight: t}):
        wrong = Rule("sin", rule.formulas, (), "SinBackward0", None, forward)
        with pytest.raises(ValueError, match="which says nothing|is not in list|asks for 'weight'"):
            tangent_rule(wrong, overload)


def test_duals_of_lanes_are_refused():
    """A level that is opened by hand does not see tangents below ``vmap``: they would be lost in silence."""
    x = torch.ones(3)
    with fw.dual_level():
        for function in (lambda d: fw.make_dual(x, d), lambda d: fw.make_dual(d, x), lambda d: fw.make_dual(d, d)):
            with pytest.raises(RuntimeError, match="Batching rule not implemented for aten::_make_dual"):
                vmap(function)(torch.eye(3))


def test_detaching_in_place_takes_tangents_away():
    with fw.dual_level():
        dual = fw.make_dual(torch.ones(2), torch.ones(2)).clone()
        assert fw.unpack_dual(dual).tangent is not None
        dual.detach_()
        assert fw.unpack_dual(dual).tangent is None and fw.unpack_dual(dual * 2).tangent is None


def test_a_tangent_with_a_tangent_is_refused():
    with fw.dual_level():
        dual = fw.make_dual(torch.ones(2), torch.ones(2))
        with pytest.raises(RuntimeError, match="itself has a forward gradient at the same level"):
            fw.make_dual(torch.ones(2), dual)


def test_a_tangent_has_memory_of_the_extent_of_its_primal(level: int) -> None:
    given = torch.ones(4)
    made = fw.make_dual(torch.arange(6.0)[1:5].detach(), given)
    fw.unpack_dual(made).tangent.mul_(2)
    assert given.tolist() == [1] * 4
    assert tangent(made.as_strided((6,), (1,), 0)) == [0, 2, 2, 2, 2, 0]
    empty = torch.ones(0)
    assert fw.unpack_dual(fw.make_dual(torch.ones(2)[1:1], empty)).tangent is empty
