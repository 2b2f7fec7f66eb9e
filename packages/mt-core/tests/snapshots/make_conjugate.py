"""Write conjugate.json: what PyTorch does in random programs with lazy conjugation and negation.

Run with PyTorch 2.13: ``python make_conjugate.py [--check]``.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import torch
from conjugate_programs import PROGRAMS, run
from writing import write_or_check


def main() -> None:
    warnings.simplefilter("ignore")
    found = [run(torch, seed) for seed in range(PROGRAMS)]
    write_or_check(Path(__file__).with_name("conjugate.json"), json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
