"""The page about transforms runs, and `torch.func` has what PyTorch's has."""

from __future__ import annotations

import doctest
from pathlib import Path

import mindtorch as torch
import mindtorch.func

PAGE = Path(__file__).parents[3] / "docs" / "transforms.md"


def test_the_page_runs() -> None:
    results = doctest.testfile(str(PAGE), module_relative=False)
    assert results.attempted > 10 and not results.failed


def test_what_is_there() -> None:
    assert torch.vmap is mindtorch.func.vmap
    assert set(mindtorch.func.__all__) <= set(dir(mindtorch.func))
