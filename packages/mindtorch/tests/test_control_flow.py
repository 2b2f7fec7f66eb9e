"""``torch.cond`` calls one of two functions."""

from __future__ import annotations

import pytest

import mindtorch as torch


@pytest.mark.parametrize("pred", [True, 1, 2.5, torch.tensor(True), torch.tensor([[3.0]])])
def test_true_values_choose_the_first(pred):
    assert torch.cond(pred, lambda x, y: x + y, lambda x, y: x - y, (torch.ones(2), 2.0)).tolist() == [3, 3]


@pytest.mark.parametrize("pred", [False, 0, 0.0, torch.tensor(False), torch.zeros(1)])
def test_false_values_choose_the_second(pred):
    assert torch.cond(pred, lambda x, y: x + y, lambda x, y: x - y, [torch.ones(2), 2.0]).tolist() == [-1, -1]


def test_it_is_differentiable_and_calls_one_function_only():
    x = torch.ones(2, requires_grad=True)
    torch.cond(x.sum() > 1, lambda: x * 3, lambda: pytest.fail("called")).sum().backward()
    assert x.grad.tolist() == [3, 3]


@pytest.mark.parametrize("count", [0, 2])
def test_predicates_have_one_element(count):
    with pytest.raises(RuntimeError, match="Expected pred to be bool or single-element tensor, but got tensor"):
        torch.cond(torch.ones(count), lambda: 1, lambda: 2)
