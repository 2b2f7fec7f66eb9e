"""Record in `pickles.json` what PyTorch's plain pickles name, and the pickles: ``make_pickles.py [--check]``.

The pickles hold addresses, so ``--check`` compares what they name and what they hold.
"""

from __future__ import annotations

import base64
import json
import sys
import warnings
from pathlib import Path

import torch
from pickled_objects import OBJECTS, made, named, pickled, shown
from writing import write_or_check

FILE = Path(__file__).with_name("pickles.json")


def facts() -> dict[str, dict[str, object]]:
    """Object -> what its pickle names, what it shows, and the pickle."""
    old = json.loads(FILE.read_text()) if "--check" in sys.argv else {}
    found = {}
    for name, expression in OBJECTS.items():
        data = pickled(torch, expression)
        kept = old[name]["pickle"] if name in old else base64.b64encode(data).decode()
        found[name] = {"named": named(data), "shown": shown(torch, made(torch, expression)), "pickle": kept}
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    write_or_check(FILE, json.dumps(facts(), indent=1) + "\n")
