"""The pages that newcomers read first run."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("page", ["start.md", "coming-from-pytorch.md"])
def test_the_page_runs(page: str) -> None:
    results = doctest.testfile(str(DOCS / page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert results.attempted > 5 and not results.failed
