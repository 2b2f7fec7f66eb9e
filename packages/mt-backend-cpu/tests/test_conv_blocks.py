"""Convolutions whose windows would not fit into memory at once are made block by block."""

from __future__ import annotations

import importlib
from itertools import product

import numpy as np
import pytest

import mt_core


@pytest.mark.parametrize(("groups", "stride", "dilation"), [*product((1, 2), (1, 2, 3), (1, 2))])
def test_blocks_make_the_same(monkeypatch, groups, stride, dilation):
    mt_core.conv1d(mt_core.ones(1, 1, 2), mt_core.ones(1, 1, 1))  # the family's kernels are loaded in their order
    conv = importlib.import_module("mt_backend_cpu.kernels.conv")
    numbers = np.random.default_rng(0)
    x, w = numbers.standard_normal((2, 4, 9, 8)), numbers.standard_normal((6, 4 // groups, 3, 2))
    arguments = (x, w, None, (stride, 1), (1, 0), (dilation, 1), False, (0, 0), groups)
    whole = conv.convolution(*arguments)
    blocks = []
    monkeypatch.setattr(conv, "_LARGEST", 3000)
    inner = conv._in_blocks
    monkeypatch.setattr(conv, "_in_blocks", lambda *args: blocks.append(args) or inner(*args))
    np.testing.assert_allclose(conv.convolution(*arguments), whole, rtol=1e-12)
    assert blocks


@pytest.mark.parametrize("kernel", [(2, 3), (7, 6)])
@pytest.mark.parametrize(("count", "groups", "outputs"), [(1, 6, 12), (3, 6, 6), (2, 3, 9), (2, 2, 0)])
def test_groups_are_convolutions_of_their_own(monkeypatch, kernel, count, groups, outputs):
    """All groups at once or one by one, with wide windows or wide kernels, the result is that of each group alone."""
    mt_core.conv1d(mt_core.ones(1, 1, 2), mt_core.ones(1, 1, 1))  # the family's kernels are loaded in their order
    conv = importlib.import_module("mt_backend_cpu.kernels.conv")
    numbers = np.random.default_rng(1)
    x, w = numbers.standard_normal((count, 6, 9, 8)), numbers.standard_normal((outputs, 6 // groups, *kernel))
    options = ((1, 2), (2, 1), (1, 1), False, (0, 0))
    parts = zip(np.split(x, groups, 1), np.split(w, groups, 0), strict=True)
    alone = np.concatenate([conv.convolution(part, weights, None, *options, 1) for part, weights in parts], 1)
    for limit in (1, 10_000, 1 << 30):
        monkeypatch.setattr(conv, "_TOGETHER", limit)
        np.testing.assert_allclose(conv.convolution(x, w, None, *options, groups), alone, rtol=1e-12, atol=1e-12)
