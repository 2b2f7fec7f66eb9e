"""Record in `fuzz_programs.json.gz` random programs, and what is to be seen in PyTorch after each of their lines.

``make_fuzz.py [--check]``, with PyTorch and the packages. The stored programs are those of `tools.fuzz` for the first
seeds; together they call every public operator that has samples. ``--check`` runs the stored ones again: which
programs the seeds give changes with the samples.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from tools.fuzz.__main__ import requests  # noqa: E402
from tools.fuzz.catalogue import catalogue  # noqa: E402
from tools.fuzz.comparison import compare  # noqa: E402
from tools.fuzz.noise import reason_for  # noqa: E402
from tools.fuzz.processes import Process  # noqa: E402

STORED = HERE / "fuzz_programs.json.gz"
COUNT, LENGTH, CALLS = 400, 8, 4


def record(pytorch: Process) -> list[dict[str, Any]]:
    """The programs that PyTorch survives."""
    answers = [(asked, pytorch.ask(asked)) for asked in requests(catalogue(), range(COUNT), LENGTH, CALLS)]
    return [{"seed": asked["seed"], **program} for asked, program in answers if program is not None]


def check(pytorch: Process) -> int:
    """1 where a stored program gives something else now, noise aside: some read memory that nobody has written."""
    status = 0
    for program in json.loads(gzip.decompress(STORED.read_bytes())):
        said = pytorch.ask({"seed": program["seed"], "lines": program["lines"]})
        notes = None if said is None else said["notes"]
        for difference in compare(program["notes"], notes):
            if not reason_for(program["lines"], difference, program["notes"], notes):
                print(f"program {program['seed']}: {difference}")
                status = 1
    return status


def main() -> int:
    pytorch = Process(sys.executable, "torch")
    if "--check" in sys.argv:
        return check(pytorch)
    programs = record(pytorch)
    STORED.write_bytes(gzip.compress(json.dumps(programs, separators=(",", ":")).encode(), mtime=0))
    print(f"{STORED.name}: {len(programs)} programs, {STORED.stat().st_size >> 10} KiB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
