"""The pages that say how things work are executed."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("page", ["life-of-add.md", "writing-a-backend.md", "device-runtime.md", "plugins.md"])
def test_the_code_on_a_page_runs(page: str) -> None:
    path = DOCS / page
    if not path.exists():
        pytest.skip("the documents are part of the repository, not of the distribution")
    if page == "life-of-add.md":
        pytest.importorskip("mt_autograd")
    blocks = re.findall(r"^```pycon\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE)
    assert blocks
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page, str(path), 0)
    results = doctest.DocTestRunner().run(test)
    assert results.failed == 0, f"{results.failed} of {results.attempted} examples on {page} give something else"
