"""Write binder_errors.json: what PyTorch says to calls with wrong arguments.

Run with PyTorch 2.13: ``python make_binder_errors.py``.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from binder_calls import calls, refusal


def main() -> None:
    found = {name: refusal(call) for name, call in calls(torch).items()}
    Path(__file__).with_name("binder_errors.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
