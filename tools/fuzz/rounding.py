"""Tells what hangs on how numbers were rounded: PyTorch's own answer changes as much, with its numbers nudged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .comparison import Difference, differences_between
from .processes import Process

__all__ = ["Rounding"]

#: Fields that rounding can change.
_FIELDS = frozenset(("elements", "shape", "number", "sequence", "is", "kind"))
#: Functions of matrices that may be singular, and of rows that may be constant: exact numbers are nudged, too.
_SINGULAR = re.compile(
    r"linalg|det\(|inverse|solve|svd|eig|cholesky|pinv|lstsq|\bqr|\blu|matrix_(rank|power|exp)|lobpcg|_norm\(|Norm|normalize\("
)
#: How often it is tried.
_TRIES = 3


class Rounding:
    """Asks a PyTorch of its own, which starts with the first question."""

    def __init__(self, python: str) -> None:
        self.python = python
        self.process: Process | None = None

    def __call__(self, program: dict[str, Any], difference: Difference) -> bool:
        """Whether PyTorch gives another answer, too, where numbers are rounded otherwise on the way to it."""
        wanted = dict(program["notes"][difference.line]).get(difference.name)
        if difference.field not in _FIELDS or wanted is None:
            return False
        lines = program["lines"][: difference.line + 1]
        return any(
            any(field in _FIELDS for field, *_ in differences_between(wanted, sight))
            for sight in self._nudged(program["seed"], lines, difference)
        )

    def _nudged(self, seed: int, lines: list[str], difference: Difference) -> Iterator[Any]:
        if self.process is None:
            self.process = Process(self.python, "torch")
        whole = any(_SINGULAR.search(line) for line in lines)
        for k in range(_TRIES):
            answer = self.process.ask({"seed": seed, "lines": lines, "nudge": k, "whole": whole})
            notes = {} if answer is None else dict(answer["notes"][difference.line])
            if difference.name in notes:
                yield notes[difference.name]

    def close(self) -> None:
        if self.process is not None:
            self.process.close()
