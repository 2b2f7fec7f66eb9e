"""Strides along dimensions of size 1, versions, names of nodes and refusals are PyTorch's."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import mindtorch

SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(SNAPSHOTS))

from seen_programs import expressions, seen_of  # noqa: E402 - found beside the snapshot

STORED = json.loads((SNAPSHOTS / "seen.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def found() -> dict[str, object]:
    return json.loads(json.dumps(seen_of(mindtorch)))


def test_the_snapshot_holds_what_is_asked():
    assert list(STORED) == expressions()


def test_what_is_seen_is_pytorchs(found):
    assert {line: (STORED[line], seen) for line, seen in found.items() if seen != STORED[line]} == {}
