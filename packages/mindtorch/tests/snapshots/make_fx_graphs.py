"""Record in `fx_graphs.json` what PyTorch prints of `fx_programs.py`, traced: ``make_fx_graphs.py [--check]``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
import torch.fx
from fx_programs import programs, texts

PATH = Path(__file__).with_name("fx_graphs.json")


def main() -> int:
    found = {name: texts(torch, name) for name in programs(torch)}
    if "--check" not in sys.argv:
        PATH.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        return 0
    stored = json.loads(PATH.read_text(encoding="utf-8"))
    different = [name for name in sorted({*stored, *found}) if stored.get(name) != found.get(name)]
    print("\n".join(different))
    return bool(different)


if __name__ == "__main__":
    raise SystemExit(main())
