"""The page about operators of one's own runs."""

from __future__ import annotations

import doctest
import warnings
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "libraries.md"


def test_the_page_runs() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = doctest.testfile(str(PAGE), module_relative=False)
    assert results.attempted > 15 and not results.failed
