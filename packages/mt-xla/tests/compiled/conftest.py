"""Tests of this folder need jax: `./dev tests_xla`."""

from __future__ import annotations

import pytest

import mindtorch as torch
from mindtorch._dynamo.utils import counters


@pytest.fixture(autouse=True)
def fresh():
    """Each test begins without graphs and counts."""
    torch.compiler.reset()
    counters.clear()
    torch.manual_seed(0)
