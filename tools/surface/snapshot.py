"""The files beside this one: what PyTorch said, and the calls that were written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["CALLS", "SNAPSHOT", "Snapshot", "read", "write", "written_calls"]

SNAPSHOT = Path(__file__).with_name("snapshot.json")
CALLS = Path(__file__).with_name("calls.txt")
#: Module or class -> name -> [kind], or [kind, expression, outcome].
Snapshot = dict[str, dict[str, list[Any]]]


def read() -> Snapshot:
    return json.loads(SNAPSHOT.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def write(snapshot: Snapshot) -> None:
    blocks = []
    for path, names in snapshot.items():
        lines = [f"{json.dumps(name)}:{json.dumps(entry, separators=(',', ':'))}" for name, entry in names.items()]
        blocks.append(f"{json.dumps(path)}:{{\n" + ",\n".join(lines) + "\n}")
    SNAPSHOT.write_text("{\n" + ",\n".join(blocks) + "\n}\n", encoding="utf-8")


def written_calls() -> dict[str, str]:
    """Name -> expression, of the lines ``NAME: EXPRESSION``; a ``.NAME(`` at the start continues the name."""
    found = {}
    for line in CALLS.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, expression = line.partition(": ")
            found[name] = name + expression if expression.startswith("(") else expression
    return found
