"""Shortens examples: lines are left out and simplified while the same field still differs at the last line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .comparison import Difference, compare
from .processes import Process
from .report import Report

__all__ = ["minimised", "shortened"]

#: What may be replaced by something plainer.
_PLAINER = (
    (r"^with torch\.\w+\(\): ", ""),
    (r"\.requires_grad_\(\)", ""),
    (r"torch\.(bfloat16|float16|float64)", "torch.float32"),
    (r"torch\.(int32|int16|int8|uint8)", "torch.int64"),
    (r"-?float\('\w+'\)|-?\d\.\d+(e-?\d+)?", "1.0"),
    (r", (retain_graph|create_graph|keepdim|accumulate)=True", ""),
)


def minimised(report: Report, writer: Process, other: Process) -> None:
    """Put a shortened example before the others of each class."""
    for (field, _), examples in report.classes.items():
        lines, difference = shortened(examples[0], field, writer, other)
        if difference is not None:
            examples.insert(0, {"seed": examples[0]["seed"], "lines": lines, "what": difference})


def shortened(
    example: dict[str, Any], field: str, writer: Process, other: Process
) -> tuple[list[str], Difference | None]:
    """The shortest program found, and how it differs; None where the lines alone do not."""
    lines = list(example["lines"])

    def differs(some: list[str]) -> Difference | None:
        request = {"seed": example["seed"], "lines": some}
        wanted, got = writer.ask(request), other.ask(request)
        if wanted is None:
            return None
        found = compare(wanted["notes"], None if got is None else got["notes"])
        return next((d for d in found if d.field == field and d.line >= len(some) - 1), None)

    found = differs(lines)
    changed = found is not None
    while changed:
        changed = False
        for fewer in _simpler(lines):
            if (difference := differs(fewer)) is not None:
                lines, found, changed = fewer, difference, True
                break
    return lines, found


def _simpler(lines: list[str]) -> Iterator[list[str]]:
    for k in range(len(lines) - 2, -1, -1):
        yield lines[:k] + lines[k + 1 :]
    for k, line in enumerate(lines):
        for pattern, plainer in _PLAINER:
            if (other := re.sub(pattern, plainer, line)) != line:
                yield [*lines[:k], other, *lines[k + 1 :]]
