"""The closures that record: what their patterns make them do, and leave out."""

from __future__ import annotations

from typing import Any

import pytest

import mt_core as mt
from mt_autograd import recorders
from mt_autograd.layer import class_for
from mt_core.dispatch.registry import find_overload
from mt_core.keys import AUTOGRAD, CPU, MULTI_VIEW


def lines(name: str, keys: int = CPU | AUTOGRAD, watched: bool = False) -> str:
    overload = find_overload(name)
    return "\n".join(recorders._lines(recorders.pattern_of(class_for(overload).plan, overload, keys, watched)))


def test_operators_of_one_pattern_share_their_code() -> None:
    def make(name: str) -> Any:
        overload = find_overload(name)
        return recorders._compiled(recorders.pattern_of(class_for(overload).plan, overload, CPU | AUTOGRAD, False))

    assert make("sin") is make("cos")
    assert make("exp") is not make("sin")


def test_one_tensor_is_not_asked_whether_it_requires_grad() -> None:
    assert "wanted" not in lines("sin")
    assert "wanted" in lines("mul.Tensor")


def test_a_sum_saves_nothing_and_a_product_both() -> None:
    assert "saved" not in lines("add.Tensor")
    assert "node.saved = (s0, vs0, s1, vs1,)" in lines("mul.Tensor")


def test_views_know_their_version_and_hand_on_why_they_may_not_be_written() -> None:
    assert "attr_version" in lines("transpose.int")
    assert "creation" not in lines("transpose.int")
    assert "creation" in lines("transpose.int", CPU | AUTOGRAD | MULTI_VIEW)
    assert "attr_version" not in lines("sin")


def test_hooks_are_looked_for_where_they_may_be_on() -> None:
    assert "watch(node)" in lines("sin", watched=True)
    assert "watch" not in lines("sin")


def test_a_second_tensor_that_alone_requires_grad() -> None:
    weight = mt.ones(3, requires_grad=True)
    out = mt.layer_norm(mt.arange(6.0).reshape(2, 3), (3,), weight, None)
    out.sum().backward()
    assert weight.grad is not None
    assert out.grad_fn.next_functions[0] == (None, 0)
    assert out.grad_fn.next_functions[1][0].variable is weight


def test_a_tensor_without_derivative_may_not_require_grad() -> None:
    weight = mt.ones(3, requires_grad=True)
    text = "The function 'nll_loss_forward' is not differentiable with respect to argument 'weight'"
    for rows in (mt.zeros(2, 3), mt.zeros(2, 3, requires_grad=True)):
        with pytest.raises(RuntimeError, match=text):
            mt.nll_loss_nd(rows, mt.tensor([0, 1]), weight)
    with mt.no_grad():
        assert not mt.nll_loss_nd(mt.zeros(2, 3), mt.tensor([0, 1]), weight).requires_grad


def test_what_is_wrong_with_a_call_is_said_before_what_may_not_require_grad() -> None:
    condition = mt.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="where expected condition to be a boolean tensor"):
        mt.where(condition, mt.ones(3), mt.ones(3))


def test_lists_have_an_edge_for_each_tensor() -> None:
    x, y = mt.ones(2, requires_grad=True), mt.ones(3)
    out = mt.cat([y, x, y])
    assert [fn is not None for fn, _ in out.grad_fn.next_functions] == [False, True, False]
    (out * mt.arange(8.0)).sum().backward()
    assert x.grad.tolist() == [3.0, 4.0]
    assert not mt.cat([y, y]).requires_grad


def test_numbers_stand_in_a_tensors_place() -> None:
    x = mt.tensor([1.0, 2.0], requires_grad=True)
    (2 / x + x * 3).sum().backward()
    assert x.grad.tolist() == pytest.approx([1.0, 2.5])


def test_results_that_are_no_floats_have_no_history() -> None:
    x = mt.tensor([3.0, 1.0], requires_grad=True)
    values, indices = x.sort()
    assert values.requires_grad
    assert not indices.requires_grad
    assert not x.to(mt.int64).requires_grad


def test_a_written_input_is_seen_by_its_version() -> None:
    x, y = mt.ones(2, requires_grad=True), mt.ones(2)
    out = x * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        out.sum().backward()
