"""``python make_overrides.py [--check]``, with PyTorch: what overrides are told, written to overrides.json."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import torch
from override_calls import CALLS, paths_of, shown, what_is_told

FILE = Path(__file__).with_name("overrides.json")


def recorded(call: str) -> dict[str, object]:
    kind, told = what_is_told(torch, call)
    entries = []
    for function, types, args, kwargs in told:
        facts = {"types": shown(torch, types), "args": shown(torch, args), "kwargs": shown(torch, kwargs)}
        entries.append({"function": paths_of(torch, function), **facts})
    return {"result": kind, "told": entries}


def main() -> int:
    warnings.simplefilter("ignore")
    text = json.dumps({call: recorded(call) for call in CALLS}, indent=1) + "\n"
    if "--check" in sys.argv:
        return int(FILE.read_text() != text)
    FILE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
