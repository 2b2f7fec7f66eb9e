"""A process that writes or replays programs: one line of JSON for each request, one for each answer.

``python -m tools.fuzz.worker MODULE`` knows one torch-like module. A request is either ``{"seed", "length", "calls"}``,
answered with ``{"lines", "kinds", "notes"}``, or ``{"seed", "lines"}``, answered with ``{"notes"}``; with ``"nudge"``
(a seed) and ``"whole"``, numbers are nudged between the lines (`nudges`).
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import resource
import sys
import warnings
from typing import Any

from .generator import Generator
from .machine import Machine
from .nudges import Nudge

__all__ = ["answer", "load"]

#: Seconds for a line.
_LIMIT = 10
#: A call into C that takes longer ends the process, in seconds.
_PATIENCE = 25
#: Bytes of data that a process may have.
_MEMORY = 6 << 30
_PARTS = (
    "_C",
    "utils.checkpoint",
    "nn.functional",
    "optim",
    "autograd.functional",
    "fft",
    "linalg",
    "special",
    "_dynamo",
)


def load(name: str) -> Any:
    """A torch-like module, with the parts that programs name."""
    module = importlib.import_module(name)
    for part in _PARTS:
        importlib.import_module(f"{name}.{part}")
    warnings.simplefilter("ignore")
    return module


def answer(torch: Any, request: dict[str, Any]) -> dict[str, Any]:
    if "lines" in request:
        seed = request.get("nudge")
        nudge = None if seed is None else Nudge(torch, seed, whole=request["whole"])
        return {"notes": Machine(torch, request["seed"], _LIMIT).replay(request["lines"], nudge)}
    known = [call for call in request["calls"] if call["form"] == "method" or _has(torch, call["name"])]
    program = Generator(torch, request["seed"], known, _LIMIT).write(request["length"])
    return {"lines": program.lines, "kinds": program.kinds, "notes": program.notes}


def _has(torch: Any, name: str) -> bool:
    place = torch
    for part in name.split(".")[1:]:
        place = getattr(place, part, None)
    return place is not None


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what programs print is no answer
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    torch = load(sys.argv[1])
    torch.set_num_threads(1)
    for line in sys.stdin:
        faulthandler.dump_traceback_later(_PATIENCE, exit=True)
        print(json.dumps(answer(torch, json.loads(line))), file=answers, flush=True)
        faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main()
