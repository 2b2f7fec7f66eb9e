"""Known gaps as data: operator -> reason, by check."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:  # pytest brings it on older Pythons
    import tomli as tomllib

__all__ = ["Gaps", "merge_gaps", "read_gaps", "run_unless_known"]

#: Check -> operator -> reason.
Gaps = dict[str, dict[str, str]]


def read_gaps(path: Path) -> Gaps:
    """The tables of a ``gaps.toml``: one per check, ``"operator" = "reason"`` in each."""
    with path.open("rb") as file:
        return tomllib.load(file)


def merge_gaps(*lists: Gaps) -> Gaps:
    """All gaps of several lists."""
    checks = {check for gaps in lists for check in gaps}
    return {check: {k: v for gaps in lists for k, v in gaps.get(check, {}).items()} for check in sorted(checks)}


def run_unless_known(gaps: Gaps, check: str, operator: str, run: Callable[[], None]) -> None:
    """Run a check; where a gap is recorded, it must fail.

    Raises
    ------
    AssertionError
        When a check passes that is recorded as a gap: the entry is to be removed.
    """
    reason = gaps.get(check, {}).get(operator)
    if reason is None:
        run()
        return
    try:
        run()
    except (AssertionError, NotImplementedError, RuntimeError):
        return
    raise AssertionError(f"{operator} passes '{check}', but is listed as a gap ({reason}): remove it from gaps.toml")
