"""Store what PyTorch gives for random nestings of transforms: ``python make_nestings.py [--check]``, with PyTorch.

The programs are those of `tools.fuzz.transforms`; those that PyTorch refuses are left out.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import torch
import torch.func

ROOT = Path(__file__).parents[4]
sys.path.insert(0, str(ROOT))

from tools.fuzz.transforms import outcome, program  # noqa: E402 - found by the path above

TARGET = Path(__file__).with_name("nestings.json")
SEEDS = range(30_000, 30_150)


def main() -> int:
    warnings.simplefilter("ignore")
    found = [{"program": program(seed), **outcome(torch, program(seed))} for seed in SEEDS]
    kept = [{**one, "values": [float(f"{v:.9g}") for v in one["values"]]} for one in found if "error" not in one]
    text = json.dumps(kept, indent=0) + "\n"
    if "--check" in sys.argv:
        return TARGET.read_text() != text
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
