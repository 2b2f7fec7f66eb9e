"""Where the pages are, and the nav that holds them."""

from __future__ import annotations

from pathlib import Path

__all__ = ["DOCS", "ROOT", "SITE", "STAGED"]

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: The pages and those generated, as the builder reads them.
STAGED = ROOT / "build" / "docs"
SITE = ROOT / "site"
