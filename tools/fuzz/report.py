"""Counts what was run and what differs, by field and operator, and holds the counts against what is wanted."""

from __future__ import annotations

import collections
import re
from collections.abc import Callable, Iterable
from typing import Any

from .comparison import Difference, compare, group_of
from .noise import HANGS_ON_ROUNDING, LIMIT, reason_for

__all__ = ["LEAST", "WANTED", "Report", "kind_of"]

#: How often each operator is to be run with success.
LEAST = 20
#: Group of fields -> programs that may differ in them, of all.
WANTED = {"hard": 0.0, "rare": 0.001, "words": 0.01}
#: Examples kept of a class.
_KEPT = 3

Program = dict[str, Any]


class Report:
    """What a run found: `classes` maps (field, kind of line) to examples, the shortest first."""

    def __init__(
        self, operators: Iterable[str], is_rounding: Callable[[Program, Difference], bool] | None = None
    ) -> None:
        self.is_rounding = is_rounding
        self.programs = 0
        self.runs: collections.Counter[str] = collections.Counter(dict.fromkeys(operators, 0))
        self.differing: collections.Counter[str] = collections.Counter()
        self.noise: collections.Counter[str] = collections.Counter()
        self.counts: collections.Counter[tuple[str, str]] = collections.Counter()
        self.classes: dict[tuple[str, str], list[Program]] = {}
        self.ended: dict[str, int] = {}

    def enter(self, program: Program, got: list[Any] | None) -> None:
        """Compare a program, as PyTorch ran it, with what the other made of it."""
        self.programs += 1
        self._count_runs(program)
        found = compare(program["notes"], got)
        reasons = [self._reason(program, difference, got) for difference in found]
        if any(reasons):
            self.noise[next(filter(None, reasons))] += 1
        meant = [d for d, reason in zip(found, reasons, strict=True) if not reason]
        self.differing.update({group_of(difference.field) for difference in meant})
        for difference in meant:
            self._keep(program, difference)

    def _reason(self, program: Program, difference: Difference, got: list[Any] | None) -> str:
        reason = reason_for(program["lines"], difference, program["notes"], got)
        if not reason and self.is_rounding is not None and self.is_rounding(program, difference):
            return HANGS_ON_ROUNDING
        return reason

    def _count_runs(self, program: Program) -> None:
        for kind, notes in zip(program["kinds"], program["notes"], strict=False):
            name = kind.removeprefix("sample: ")
            if kind.startswith("sample: ") and name in self.runs and not (notes and notes[0][0] == "error"):
                self.runs[name] += 1

    def _keep(self, program: Program, difference: Difference) -> None:
        key = (difference.field, kind_of(program, difference))
        self.counts[key] += 1
        kept = self.classes.setdefault(key, [])
        kept.append({"seed": program["seed"], "lines": program["lines"][: difference.line + 1], "what": difference})
        kept.sort(key=lambda example: len("".join(example["lines"])))
        del kept[_KEPT:]

    def seldom_run(self) -> list[str]:
        return sorted(name for name, count in self.runs.items() if count < LEAST)

    def failures(self) -> list[str]:
        """What is not as it is wanted."""
        total = max(self.programs, 1)
        found = [
            f"{group}: {self.differing[group]} of {total} programs differ, {part:.1%} may"
            for group, part in WANTED.items()
            if self.differing[group] > part * total
        ]
        if sum(self.noise.values()) > LIMIT * total:
            found.append(f"noise: {sum(self.noise.values())} of {total} programs, {LIMIT:.1%} may")
        return found

    def _share(self, count: int) -> str:
        return f"{count} ({count / max(self.programs, 1):.2%})"

    def _shares(self) -> str:
        return ", ".join(f"{group} {self._share(self.differing[group])}" for group in WANTED)

    def text(self) -> str:
        """The whole report."""
        runs = sorted(self.runs.values()) or [0]
        noise = f"noise {self._share(sum(self.noise.values()))}: {dict(self.noise)}"
        lines = [f"{self.programs} programs; {self._shares()} differ; {noise}; ended {self.ended}"]
        lines += [f"{len(self.runs)} operators, run with success {runs[0]} to {runs[-1]} times"]
        seldom = self.seldom_run()
        if seldom:
            lines += [f"{len(seldom)} operators fewer than {LEAST} times: {', '.join(seldom)}"]
        order = sorted(
            self.counts, key=lambda key: (["hard", "rare", "words"].index(group_of(key[0])), -self.counts[key])
        )
        for key in order:
            example = self.classes[key][0]
            lines += ["", f"{self.counts[key]} x {key[0]} | {key[1]} (seed {example['seed']})"]
            lines += [f"    {line}" for line in example["lines"][-3:]]
            lines += [f"  {example['what'].name}: {example['what'].wanted!r:.300} -> {example['what'].got!r:.300}"]
        return "\n".join(lines) + "\n"


def kind_of(program: Program, difference: Difference) -> str:
    """The kind of the line where a difference was seen; where another variable than the line's own differs, that."""
    lines, kinds = program["lines"], program["kinds"]
    if difference.line >= len(lines):
        return "at the end" + (", a gradient" if difference.name.endswith(".grad") else "")
    own = re.match(r"(?:with [^:]*: )?(\w+) = ", lines[difference.line])
    other = difference.name != "error" and own is not None and own[1] != difference.name
    return kinds[difference.line] + (", another variable" if other else "")
