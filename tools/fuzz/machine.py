"""Runs a program line by line on one torch-like module, and notes after each line what is to be seen.

A variable ``v3`` is seen with its elements; ``w3`` without: its elements mean nothing, or are not unique. Lines that
write show every variable, and the end shows all of them again, with gradients and who shares memory with whom.
"""

from __future__ import annotations

import copy
import pickle
import re
import signal
from collections.abc import Iterable, Iterator
from typing import Any

from .nudges import Nudge
from .sights import Sight, sight_of_error, sight_of_value

__all__ = ["Late", "Machine", "Notes"]

#: What is seen after one line: (variable, or "error", or a fact of a variable; sight).
Notes = list[tuple[str, Sight]]

#: A call or a statement that writes to something else than the variable that it names first.
_WRITES = re.compile(
    r"\w_\(|\][^=!<>]*[^=!<>]=[^=]|\s[-+*/%&|^<>]+=\s|out=|backward|\.data\b|\.grad = |\.step\(|inplace|grad\("
)
_ASSIGNED = re.compile(r"^(?:with [^:]*: )?([vw]\d+) = ")


class Late(BaseException):
    """A line took longer than it may."""


def _ring(*_: object) -> None:
    raise Late


class Machine:
    """Runs lines in a namespace of its own, with the random stream of `seed`; a line may take `limit` seconds.

    Without a limit, signals are left alone.
    """

    def __init__(self, torch: Any, seed: int, limit: float = 0) -> None:
        self.torch = torch
        self.limit = limit
        torch.manual_seed(seed)
        torch.set_grad_enabled(True)
        self.names: dict[str, Any] = {"torch": torch, "copy": copy, "pickle": pickle}
        if limit:
            signal.signal(signal.SIGALRM, _ring)

    def tensors(self) -> list[str]:
        """The variables whose elements are seen."""
        return [k for k, v in self.names.items() if k[0] == "v" and isinstance(v, self.torch.Tensor)]

    def run(self, line: str) -> Notes:
        """Run a line and look at what it made and wrote."""
        error = self._execute(line)
        notes: Notes = [] if error is None else [("error", error)]
        return notes + [note for name in self._affected(line, error) for note in self._seen(name)]

    def replay(self, lines: Iterable[str], nudge: Nudge | None = None) -> list[Notes]:
        """The notes after each line, and at the end; what lines make and write is nudged, where that is asked for."""
        notes = []
        for line in lines:
            notes.append(self.run(line))
            if nudge is not None:
                nudge([self.names[name] for name, _ in notes[-1] if name in self.names])
        return [*notes, self.end()]

    def _execute(self, line: str) -> Sight | None:
        self._set_alarm(self.limit)
        try:
            exec(compile(line, "<line>", "exec"), self.names)  # noqa: S102 - lines of the generator
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - what a line raises is what is compared
            return sight_of_error(error)
        finally:
            self._set_alarm(0)
        return None

    def _set_alarm(self, seconds: float) -> None:
        if self.limit:
            signal.setitimer(signal.ITIMER_REAL, seconds)

    def _affected(self, line: str, error: Sight | None) -> list[str]:
        found = _ASSIGNED.match(line)
        names = [found[1]] if found and error is None and found[1] in self.names else []
        return names + [n for n in self.tensors() if n not in names] if _WRITES.search(line) else names

    def _seen(self, name: str) -> Iterator[tuple[str, Sight]]:
        try:
            yield name, sight_of_value(self.torch, self.names[name], elements=name[0] == "v")
        except Exception as error:  # noqa: BLE001 - that a value cannot be looked at is a sight
            yield name, {"kind": "unseen", "type": type(error).__name__, "text": str(error)[:200]}

    def end(self) -> Notes:
        """All variables; of each the first that shares its memory, and of leaves the gradient."""
        owners: dict[int, str] = {}
        return [note for name in self.tensors() for note in (*self._seen(name), *self._relations(name, owners))]

    def _relations(self, name: str, owners: dict[int, str]) -> Iterator[tuple[str, Sight]]:
        value = self.names[name]
        if value.numel():
            storage = value.untyped_storage()
            owner = owners.setdefault(storage.data_ptr(), name)
            yield f"{name} shares", {"kind": "memory", "shares": owner, "nbytes": storage.nbytes()}
        if value.is_leaf and value.requires_grad:
            yield f"{name}.grad", sight_of_value(self.torch, value.grad)
