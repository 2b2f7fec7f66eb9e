"""Which dtypes each operator takes, beside what PyTorch takes on the CPU, and the words for the others.

The half types may be accepted wherever float32 is: PyTorch has no CPU kernel for them in some operators, here they are
computed in float32. Every other difference is a line in `gaps.toml`.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mt_core.dispatch.registry import find_overload
from mt_core.dtypes import dtype, scalar_type_name
from mt_core.testing import read_gaps
from mt_core.testing.arguments import REFUSALS
from mt_core.testing.dtypes_accepted import ASKED, calls_with
from mt_core.testing.gaps import run_unless_known
from mt_core.testing.oracle import refusal_text
from mt_core.testing.sample import declared_operators, start_streams

HERE = Path(__file__).parent
STORED: dict[str, dict[str, str]] = json.loads((HERE / "snapshots" / "accepted_dtypes.json").read_text("utf-8"))
GAPS = read_gaps(HERE / "gaps.toml")


@functools.cache
def refusals(operator: str) -> list[tuple[dtype, str, str]]:
    """Per dtype, what is said here and what PyTorch says; empty where it is accepted."""
    return list(_asked(operator))


def _asked(operator: str) -> Iterator[tuple[dtype, str, str]]:
    overload = find_overload(operator)
    theirs = {name: text for text, names in STORED[operator].items() for name in names.split()}
    for d in ASKED:
        bound = calls_with(overload, d)
        assert bound is not None, "the snapshot is of other samples: make it again"
        start_streams()
        try:
            overload.call(*bound)
        except REFUSALS as refused:
            said = refusal_text(refused)
        else:
            said = ""
        yield d, said, theirs.get(d.name, "").replace("{}", scalar_type_name(d))


def has_same_dtypes(operator: str) -> None:
    found = {d: (ours, theirs) for d, ours, theirs in refusals(operator)}
    float32_is_accepted = next(ours for d, (ours, _) in found.items() if d.name == "float32") == ""
    for d, (ours, theirs) in found.items():
        if not ours and theirs and d.compute is not d and float32_is_accepted:
            continue
        assert bool(ours) == bool(theirs), f"{operator} of {d}: {ours or 'accepted'}, PyTorch: {theirs or 'accepted'}"


def has_same_words(operator: str) -> None:
    for d, ours, theirs in refusals(operator):
        assert not ours or not theirs or ours == theirs, f"{operator} of {d}: {ours}, PyTorch: {theirs}"


@pytest.mark.parametrize("check", [has_same_dtypes, has_same_words], ids=lambda check: check.__name__)
@pytest.mark.parametrize("operator", sorted(STORED))
@pytest.mark.filterwarnings("ignore")
def test_dtypes_are_those_of_pytorch(operator: str, check: Callable[[str], None]) -> None:
    run_unless_known(GAPS, check.__name__, operator, lambda: check(operator))


def test_every_operator_is_asked() -> None:
    own = set(GAPS["agrees_with_reference"])  # among them what PyTorch does not have
    functional = [o for o in declared_operators() if o.declaration.form == "functional"]
    asked = {o.name for o in functional if o.tensor_positions and calls_with(o, ASKED[0]) is not None}
    assert asked - set(STORED) <= own
