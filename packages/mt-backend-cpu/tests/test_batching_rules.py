"""``vmap`` of every operator with samples gives what a loop over the lanes gives, and loops only where it is listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from mt_core.dispatch.registry import find_overload
from mt_core.testing import read_gaps
from mt_core.testing.batching import batchable_operators, check_batching

LISTED = read_gaps(Path(__file__).with_name("batching.toml"))
OPERATORS = batchable_operators()
MISSING = {name: reason for listed in LISTED.get("missing", {}).values() for name, reason in listed.items()}
#: Of the operators with samples, at most this part is called lane by lane.
MOST = 0.05


def by_family() -> list[object]:
    return [pytest.param(name, id=f"{find_overload(name).family}-{name}") for name in OPERATORS]


@pytest.mark.parametrize("operator", by_family())
def test_vmap_is_the_loop(operator: str) -> None:
    """Values, dtypes and shapes: each argument batched alone, all of them, along the first and the last dimension."""
    if operator in MISSING:
        pytest.skip(MISSING[operator])
    is_listed = operator in LISTED["refused"]
    found = check_batching(operator, may_refuse=is_listed)
    assert found.cases
    assert bool(found.refused) == is_listed
    assert found.looped == (operator in LISTED["lane_by_lane"])


def test_lists_name_operators_that_are_asked() -> None:
    assert {*LISTED["lane_by_lane"], *LISTED["refused"], *MISSING} <= set(OPERATORS)


def test_few_operators_are_called_lane_by_lane() -> None:
    assert len(LISTED["lane_by_lane"]) <= MOST * len(OPERATORS)


def test_docs_list_what_is_called_lane_by_lane() -> None:
    page = (Path(__file__).parents[3] / "docs" / "vmap-loops.md").read_text()
    listed = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert listed == sorted(LISTED["lane_by_lane"])
