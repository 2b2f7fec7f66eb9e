"""Record what PyTorch prints of `fx_programs.py`, traced (``fx_graphs.json``) and split (``fx_splits.json``).

Of the random modules of `fx_random.py` the digests of the texts are stored (``fx_random.json``).

Use: ``make_fx_graphs.py [--check]``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import fx_random
import torch
import torch.fx
from fx_programs import SPLITS, programs, split_texts, texts

FOLDER = Path(__file__).parent


def record(path: Path, found: dict[str, list[str]]) -> bool:
    """Write what was found, or with ``--check`` tell where it differs from what is stored."""
    if "--check" not in sys.argv:
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        return False
    stored = json.loads(path.read_text(encoding="utf-8"))
    different = [name for name in sorted({*stored, *found}) if stored.get(name) != found.get(name)]
    print("\n".join(different))
    return bool(different)


def main() -> int:
    differ = record(FOLDER / "fx_graphs.json", {name: texts(torch, name) for name in programs(torch)})
    differ |= record(FOLDER / "fx_splits.json", {name: split_texts(torch, name) for name in SPLITS})
    drawn = {str(seed): fx_random.digests(torch, seed) for seed in range(fx_random.COUNT)}
    return differ | record(FOLDER / "fx_random.json", drawn)


if __name__ == "__main__":
    raise SystemExit(main())
