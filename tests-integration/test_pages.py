"""What `./dev tutorials` and `./dev docs` rely on: outputs that agree up to rounding, pages that are found."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tools.pages.compared import apart, apart_as_drawn
from tools.pages.releases import publish, releases
from tools.pages.site import not_in_navigation
from tools.pages.tutorials import blocks

ROOT = Path(__file__).parents[1]

DRAWING = '<g id="p0123456789"><path d="M 0 10 L 50 {y} L 100 10" style="fill: none"/><text x="{x}">{word}</text></g>'


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("loss 0.0123 at step 5", "loss 0.0124 at step 5"),
        ("77.7% right", "78.0% right"),
        ("1e-7 apart", "1.01e-7 apart"),
        ("", ""),
    ],
)
def test_outputs_that_agree(old, new):
    assert apart(old, new) == apart(new, old) == ""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("loss 0.50", "loss 0.55"),
        ("4 of 359 are wrong", "5 of 359 are wrong"),
        ("True True", "True False"),
        ("one line", "one line\nand another"),
        ("shape (3, 4)", "shape (3,)"),
        ("0.1", "nan"),
        ("loss 2.0", "loss -2.0"),
        ("", "something"),
    ],
)
def test_outputs_that_do_not(old, new):
    assert apart(old, new)
    assert apart(new, old)


def test_times_may_vary_and_words_may_not():
    line = "aten::mm  {} 120  {}"
    old, new = line.format("3.2%", "900.000us"), line.format("14.7%", "   1.100ms")
    assert apart(old, new)
    assert not apart(old, new, numbers=False)
    assert apart(old, new.replace("mm", "bmm"), numbers=False)


def test_drawings_agree_up_to_rounding():
    kept = DRAWING.format(y=90, x="30.5", word="step")
    assert not apart_as_drawn(kept, DRAWING.format(y=90.3, x="30.6", word="step").replace("p012", "pabc"))
    for other in (
        {"y": 60, "x": "30.5", "word": "step"},
        {"y": 90, "x": "44.5", "word": "step"},
        {"y": 90, "x": "30.5", "word": "time"},
    ):
        assert apart_as_drawn(kept, DRAWING.format(**other))


def test_every_tutorial_is_a_program_with_its_output():
    for path in (ROOT / "docs" / "tutorials").glob("*.md"):
        text = path.read_text(encoding="utf-8")
        assert len(blocks(text)) == text.count("\n```python"), path.name
        kept = sum(block["text"] is not None for block in blocks(text))
        assert kept == text.count("\n```text"), f"{path.name}: an output that no code is before"
        for block in blocks(text):
            compile(block["code"], path.name, "exec")
        pictures = re.findall(r"\]\(([\w-]+\.svg)\)", text)
        assert all((path.parent / picture).exists() for picture in pictures)


def test_every_page_is_in_the_navigation():
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert not_in_navigation(pages) == []
    assert not_in_navigation([*pages, "not-there.md"]) == ["not-there.md"]


def test_releases_stand_beside_each_other(tmp_path):
    built, site = tmp_path / "built", tmp_path / "site"
    built.mkdir()
    for release in ("0.9", "dev", "0.10", "0.10.1"):
        (built / "index.html").write_text(release)
        publish(built, site, release)
    (built / "old.html").touch()
    publish(built, site, "0.9")
    (built / "old.html").unlink()
    publish(built, site, "0.9")
    assert releases(site) == ["0.10.1", "0.10", "0.9", "dev"]
    assert not (site / "0.9" / "old.html").exists()
    assert (site / "0.10" / "index.html").read_text() == "0.10"
    listed = json.loads((site / "versions.json").read_text())
    assert [(entry["version"], entry["aliases"]) for entry in listed] == [
        ("0.10.1", ["latest"]),
        ("0.10", []),
        ("0.9", []),
        ("dev", []),
    ]
    assert "url=0.10.1/index.html" in (site / "index.html").read_text()
