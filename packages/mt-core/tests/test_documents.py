"""The pages that say how things work are executed."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mt_core.dispatch.dispatcher import _LAYERS
from mt_core.dispatch.registry import forget_all

DOCS = Path(__file__).parents[3] / "docs"


PAGES = [
    "../ARCHITECTURE.md", "life-of-add.md", "writing-a-backend.md", "writing-a-layer.md", "device-runtime.md",
    "plugins.md",
]  # fmt: skip


@pytest.fixture
def layers_as_they_were() -> Iterator[None]:
    """What a page registers is gone after it."""
    before = dict(_LAYERS)
    yield
    _LAYERS.clear()
    _LAYERS.update(before)
    forget_all()


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.usefixtures("layers_as_they_were")
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


def test_every_page_is_listed() -> None:
    index = DOCS / "index.md"
    if not index.exists():
        pytest.skip("the documents are part of the repository, not of the distribution")
    listed = set(re.findall(r"\]\(([\w/-]+\.md)\)", index.read_text()))
    assert {page.name for page in DOCS.glob("*.md")} - {"index.md"} <= listed
