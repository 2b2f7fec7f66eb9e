"""Record in `library_programs.json` what `library_programs.txt` gives in PyTorch; ``--check`` compares."""

from __future__ import annotations

import json
from pathlib import Path

import torch
import torch._custom_op.impl
import torch._custom_ops
import torch._export.wrappers
from describing import outcome
from writing import write_or_check

HERE = Path(__file__).parent


def answers() -> dict[str, list]:
    """Program -> outcome."""
    lines = (HERE / "library_programs.txt").read_text().splitlines()
    return {line: outcome(torch, line) for line in lines if line.strip() and not line.startswith("#")}


if __name__ == "__main__":
    write_or_check(HERE / "library_programs.json", json.dumps(answers(), indent=1) + "\n")
