"""Store what PyTorch gives for `control_flow_programs`: ``python make_control_flow.py [--check]``, with PyTorch."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import torch
import torch._higher_order_ops
from control_flow_programs import PROGRAMS, outcome

TARGET = Path(__file__).with_name("control_flow.json")


def main() -> int:
    warnings.simplefilter("ignore")
    found = {program: outcome(torch, torch._higher_order_ops, program) for program in PROGRAMS}
    text = json.dumps(found, indent=1) + "\n"
    if "--check" in sys.argv:
        return int(TARGET.read_text() != text)
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
