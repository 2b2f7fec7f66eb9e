"""The stored random programs, and how each differs here from what PyTorch showed."""

from __future__ import annotations

import collections
import gzip
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tools.fuzz.comparison import Difference, compare  # noqa: E402
from tools.fuzz.machine import Machine  # noqa: E402
from tools.fuzz.noise import reason_for  # noqa: E402
from tools.fuzz.report import kind_of  # noqa: E402
from tools.fuzz.worker import load  # noqa: E402

__all__ = ["DIFFERENCES", "PROGRAMS", "Found", "differences_of"]

#: Seed -> program.
PROGRAMS: dict[int, dict[str, Any]] = {
    program["seed"]: program
    for program in json.loads(gzip.decompress((HERE / "snapshots" / "fuzz_programs.json.gz").read_bytes()))
}
#: Programs that are known to differ: field -> kind of line -> seeds.
DIFFERENCES = HERE / "fuzz_differences.toml"

#: (field, kind of line) -> the difference.
Found = dict[tuple[str, str], Difference]


def differences_of(seed: int) -> Found:
    """How a program differs, without what means nothing."""
    program = PROGRAMS[seed]
    got = json.loads(json.dumps(Machine(load("mindtorch"), seed).replay(program["lines"])))
    lines, wanted = program["lines"], program["notes"]
    found = [d for d in compare(wanted, got) if not reason_for(lines, d, wanted, got)]
    return {(difference.field, kind_of(program, difference)): difference for difference in found}


def text_of(differences: dict[int, Found]) -> str:
    """The content of `DIFFERENCES`."""
    fields: dict[str, dict[str, list[int]]] = collections.defaultdict(lambda: collections.defaultdict(list))
    for seed, found in differences.items():
        for field, kind in found:
            fields[field][kind].append(seed)
    lines = ["# Random programs that differ from PyTorch: field, kind of line, seeds; list_fuzz.py writes it."]
    for field, kinds in sorted(fields.items()):
        lines += ["", f"[{field}]", *(f"{json.dumps(kind)} = {sorted(seeds)}" for kind, seeds in sorted(kinds.items()))]
    return "\n".join(lines) + "\n"
