"""Write binder_errors.json: what PyTorch says to calls with wrong arguments.

Run with PyTorch 2.13: ``python make_binder_errors.py [--check]``.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from binder_calls import calls, refusal
from writing import write_or_check


def main() -> None:
    found = {name: refusal(call) for name, call in calls(torch).items()}
    write_or_check(Path(__file__).with_name("binder_errors.json"), json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
