"""The page that two sessions write: ``clients`` what stands above a line, ``clients_tests`` what stands below it."""

from __future__ import annotations

from pathlib import Path

__all__ = ["PAGE", "SUITES"]

PAGE = Path(__file__).parents[2] / "docs" / "programs.md"
SUITES = "\n<!-- What follows is written by ./dev clients_tests. -->\n"
