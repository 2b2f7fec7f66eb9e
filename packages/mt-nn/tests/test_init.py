"""Initial values: those of PyTorch, and what each initializer promises."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import mt_core as mt
import mt_nn as nn
from mt_core.random import manual_seed
from mt_nn import init

SNAPSHOT = np.load(Path(__file__).parent / "snapshots" / "init.npz")


@pytest.mark.parametrize("text", SNAPSHOT.files)
def test_as_pytorch(text):
    call, dtype = text.split(" | ")
    manual_seed(0)
    found = eval(f"init.{call}", {"init": init, "x": mt.empty(5, 4, dtype=getattr(mt, dtype))})  # noqa: S307
    np.testing.assert_allclose(found.double().numpy(), SNAPSHOT[text], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("bounds", [(-2.0, 2.0), (-0.1, 0.1), (1.0, 4.0), (0.5, math.inf)])
def test_truncated_normal_values_are_within_bounds(bounds):
    values = init.trunc_normal_(mt.empty(1000), 0.0, 1.0, *bounds)
    assert float(values.min()) >= bounds[0] and float(values.max()) <= bounds[1]


def test_orthogonal_rows_or_columns():
    wide = init.orthogonal_(mt.empty(3, 5), gain=2)
    assert mt.allclose(wide @ wide.T, 4 * mt.eye(3), atol=1e-5)
    tall = init.orthogonal_(mt.empty(5, 3))
    assert mt.allclose(tall.T @ tall, mt.eye(3), atol=1e-5)


def test_sparse_columns():
    values = init.sparse_(mt.empty(10, 6), 0.35)
    assert ((values == 0).sum(0) == 4).all()


def test_dirac_keeps_channels():
    conv = nn.Conv1d(3, 3, 3, padding=1, bias=False)
    init.dirac_(conv.weight)
    x = mt.randn(2, 3, 5)
    assert mt.allclose(conv(x), x)


def test_nothing_is_recorded():
    param = nn.Parameter(mt.empty(3, 3))
    for function in (init.xavier_normal_, init.kaiming_uniform_, init.orthogonal_, init.eye_, init.zeros_):
        assert function(param) is param and param.grad_fn is None and param.requires_grad
