"""Find the operators that ``vmap`` does not do, or does lane by lane, and write them to ``batching.toml``.

    python list_batching.py [FAMILY...]

What is known of other families stays as it is. Reasons in ``lane_by_lane`` and ``refused`` are written by hand.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from mt_core.dispatch.registry import find_overload
from mt_core.testing import read_gaps
from mt_core.testing.batching import batchable_operators, check_batching

FILE = Path(__file__).with_name("batching.toml")
INTRODUCTION = """\
# What `vmap` does not do by a batching rule or by parts.
#
# lane_by_lane: called once for each lane, with PyTorch's warning (docs/vmap-loops.md says why); at most 5 % of all.
# refused: shapes or control flow that depend on elements, which PyTorch refuses too.
# missing.FAMILY: not done yet; written by list_batching.py.
"""


def missing_of(name: str) -> str | None:
    """Why an operator does not pass; None where it does."""
    try:
        found = check_batching(name)
    except Exception as failure:  # noqa: BLE001 - whatever is wrong is listed
        return f"{type(failure).__name__}: {' '.join(str(failure).split())[:80]}"
    return "lane by lane" if found.looped else None


def listed(families: list[str]) -> dict[str, dict[str, str]]:
    known = read_gaps(FILE)
    given = {*known.get("lane_by_lane", {}), *known.get("refused", {})}
    missing = {f: entries for f, entries in known.get("missing", {}).items() if families and f not in families}
    for name in batchable_operators():
        family = find_overload(name).declaration.family
        if name in given or families and family not in families:
            continue
        reason = missing_of(name)
        if reason is not None:
            missing.setdefault(family, {})[name] = reason
    return {"lane_by_lane": known.get("lane_by_lane", {}), "refused": known.get("refused", {}),
            **{f"missing.{family}": missing[family] for family in sorted(missing)}}  # fmt: skip


def text(tables: dict[str, dict[str, str]]) -> str:
    parts = [INTRODUCTION]
    for table, entries in tables.items():
        lines = [f"{json.dumps(name)} = {json.dumps(reason)}" for name, reason in sorted(entries.items())]
        parts.append("\n".join([f"[{table}]", *lines]) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    FILE.write_text(text(listed(sys.argv[1:])))
