"""Record in `benchmark.json` what PyTorch tells of measurements: ``make_benchmark.py [--check]``."""

from __future__ import annotations

import json
from pathlib import Path

import torch
import torch.utils.benchmark
from benchmark_programs import answers
from writing import write_or_check

if __name__ == "__main__":
    found = list(answers(torch, torch.utils.benchmark))
    write_or_check(Path(__file__).parent / "benchmark.json", json.dumps(found, indent=1) + "\n")
