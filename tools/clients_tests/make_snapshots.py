"""Run suites on PyTorch, and store what became of each test: ``python -m tools.clients_tests.make_snapshots``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import torch

from .running import HERE, describe, run


def main() -> None:
    suites = describe()["suites"]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="SUITE")
    parser.add_argument("--sources", type=Path, default=Path(".cache/clients_tests"))
    parser.add_argument("--archive", nargs=2, action="append", default=[], metavar=("SOURCE", "FILE"))
    options = parser.parse_args()
    archives = {name: Path(file) for name, file in options.archive}
    for name in options.names or suites:
        outcome = run(suites[name], [sys.executable], options.sources, archives)
        if outcome.trouble:
            raise SystemExit(f"{name}: {outcome.trouble}")
        tests = {
            what: sorted(test for test, (became, _) in outcome.tests.items() if became == what)
            for what in ("passed", "skipped", "failed")
        }
        told = {"pytorch": torch.__version__.partition("+")[0], "seconds": round(outcome.seconds, 1), "tests": tests}
        text = json.dumps(told, indent=0) + "\n"
        (HERE / "snapshots").mkdir(exist_ok=True)
        (HERE / "snapshots" / f"{name}.json").write_text(text, encoding="utf-8")
        print(name, {what: len(found) for what, found in tests.items()}, told["seconds"], flush=True)


if __name__ == "__main__":
    main()
