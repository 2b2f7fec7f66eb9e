"""Where the pages are, and the nav that holds them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

__all__ = ["BUILT", "DOCS", "NAVIGATION", "ROOT", "SITE", "STAGED", "not_in_navigation"]

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: The pages and those generated, as the builder reads them.
STAGED = ROOT / "build" / "docs"
#: What the builder writes, of one release.
BUILT = ROOT / "build" / "site"
#: A folder for each release, and the list of them that the pages' selector reads.
SITE = ROOT / "site"
NAVIGATION = ROOT / "mkdocs.yml"


def not_in_navigation(pages: Iterable[str]) -> list[str]:
    """Those of `pages`, paths below the folder of pages, that no line of the navigation names."""
    return sorted(set(pages) - set(re.findall(r"[\w/-]+\.md", NAVIGATION.read_text(encoding="utf-8"))))
