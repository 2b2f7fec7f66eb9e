"""Tests of this folder need jax: `./dev tests_xla`."""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import pytest

import mindtorch as torch
from mindtorch._dynamo.utils import counters

# `operator_exam` is a script, and imported by tests.
sys.path.insert(0, str(Path(__file__).parent))

# What is tested is compiled here, not found on disk.
jax.config.update("jax_enable_compilation_cache", False)


@pytest.fixture(autouse=True)
def fresh():
    """Each test begins without graphs and counts."""
    torch.compiler.reset()
    counters.clear()
    torch.manual_seed(0)
