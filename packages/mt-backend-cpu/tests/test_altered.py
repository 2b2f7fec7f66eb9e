"""Altered calls (one argument of another rank, size, dtype or value) are refused and accepted as by PyTorch."""

from __future__ import annotations

from pathlib import Path

import pytest

from mt_core.testing.altered import StoredCalls, check_altered, has_altered_calls
from mt_core.testing.gaps import read_gaps
from mt_core.testing.sample import declared_operators

FOLDER = Path(__file__).parent
STORED = StoredCalls(FOLDER / "snapshots" / "altered")
KNOWN = read_gaps(FOLDER / "altered_differences.toml")


@pytest.mark.parametrize("operator", [o.name for o in declared_operators() if has_altered_calls(o) and STORED.of(o)])
def test_altered_calls(operator: str) -> None:
    check_altered(operator, STORED, KNOWN)
