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
