"""The examples of docs/conformance.md give what the page says."""

from __future__ import annotations

import doctest
from pathlib import Path


def test_the_page_tells_the_truth(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parents[3] / "docs" / "conformance.md"
    options = doctest.IGNORE_EXCEPTION_DETAIL | doctest.ELLIPSIS
    found = doctest.testfile(str(page), module_relative=False, optionflags=options)
    assert found.attempted > 10 and not found.failed
