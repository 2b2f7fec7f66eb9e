"""Record in `programs.json` what the programs of `programs/*.txt` give in PyTorch: ``make_programs.py [--check]``."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from describing import outcome
from writing import write_or_check

HERE = Path(__file__).parent


def answers() -> dict[str, dict[str, list]]:
    """File name -> program -> outcome."""
    found = {}
    for source in sorted((HERE / "programs").glob("*.txt")):
        lines = [line for line in source.read_text().splitlines() if line.strip() and not line.startswith("#")]
        found[source.stem] = {line: outcome(torch, line) for line in lines}
    return found


if __name__ == "__main__":
    write_or_check(HERE / "programs.json", json.dumps(answers(), indent=1) + "\n")
