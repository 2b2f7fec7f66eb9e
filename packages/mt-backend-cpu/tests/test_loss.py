"""Losses of classes: what weighs nothing and what is ignored."""

from __future__ import annotations

import math

import pytest

from mt_core.testing.namespace import namespace

torch = namespace()

F = torch.nn.functional


def test_an_infinite_loss_is_ignored_with_its_row_but_not_made_finite_by_a_weight_of_0() -> None:
    scores, labels = torch.tensor([[-math.inf, 0.0], [0.0, -1.0]]), torch.tensor([0, 1])
    assert F.nll_loss(scores, labels, ignore_index=0).item() == 1
    assert math.isnan(F.nll_loss(scores, labels, torch.tensor([0.0, 1.0])).item())


@pytest.mark.parametrize("count", [1, 3])
def test_the_gradient_of_a_mean_over_no_weight_is_nan_at_the_labels(count: int) -> None:
    scores = torch.zeros(count, 2, requires_grad=True)
    F.nll_loss(scores, torch.zeros(count, dtype=torch.int64), torch.tensor([0.0, 1.0])).backward()
    assert [[math.isnan(v) for v in row] for row in scores.grad.tolist()] == [[True, False]] * count
