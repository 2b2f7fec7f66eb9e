"""Losses of classes: what weighs nothing and what is ignored."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mt_core.dispatch.registry import registering_own
from mt_core.testing.namespace import namespace

with registering_own():  # it may be the first to import them
    from mt_backend_cpu.kernels.loss import nll_loss_backward

torch = namespace()

F = torch.nn.functional

MEAN = 1


def test_an_infinite_loss_is_ignored_with_its_row_but_not_made_finite_by_a_weight_of_0() -> None:
    scores, labels = torch.tensor([[-math.inf, 0.0], [0.0, -1.0]]), torch.tensor([0, 1])
    assert F.nll_loss(scores, labels, None, MEAN, 0).item() == 1
    assert math.isnan(F.nll_loss(scores, labels, torch.tensor([0.0, 1.0]), MEAN).item())


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_the_gradient_of_a_mean_over_no_weight_is_nan_at_the_labels() -> None:
    scores, labels, weight = np.zeros((2, 2), np.float32), np.zeros(2, np.int64), np.float32([0, 1])
    gradient = nll_loss_backward(np.float32([1]), scores, labels, weight, MEAN, -100, np.float32([0]))
    np.testing.assert_array_equal(np.isnan(gradient), [[True, False]] * 2)
