"""``python -m tools.clients.make_snapshots [NAME ...] [--check]``: run the programs on PyTorch, store what they tell.

Needs PyTorch and what `requirements.txt` names, and no mindtorch. With ``--check`` it only compares.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import sys

from .running import PROGRAMS, SNAPSHOTS, differences, run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    pytorch = importlib.metadata.version("torch").partition("+")[0]
    failed = []
    SNAPSHOTS.mkdir(exist_ok=True)
    for name in options.names or PROGRAMS:
        told = run(name, [sys.executable])
        file = SNAPSHOTS / f"{name}.json"
        if told.error:
            outcome = told.error
            failed.append(name)
        elif options.check:
            apart, count, _ = differences(told.found, json.loads(file.read_text())["found"], told.tolerance)
            outcome = "\n    ".join([f"{count} values", *apart])
            failed += [name] if apart else []
        else:
            stored = {"pytorch": pytorch, "seconds": round(told.seconds, 1), "found": told.found}
            file.write_text(json.dumps(stored, indent=None, separators=(",", ":")) + "\n", encoding="utf-8")
            outcome = f"{file.stat().st_size} bytes"
        print(f"{name}: {outcome}", flush=True)
    return bool(failed)


if __name__ == "__main__":
    raise SystemExit(main())
