"""Write the operators that programs reach on PyTorch, as a dispatch mode sees them.

Run with PyTorch 2.13: ``python make_dispatched.py [--check]``.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from dispatched_programs import PROGRAMS, operators_of
from torch.utils._python_dispatch import TorchDispatchMode
from writing import write_or_check


def main() -> None:
    found = {program: operators_of(program, torch, TorchDispatchMode) for program in PROGRAMS}
    write_or_check(Path(__file__).with_name("dispatched.json"), json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
