"""Store what PyTorch makes of the random programs: ``python make_programs.py [--check]``."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import torch
from programs import Results, run

SNAPSHOT = Path(__file__).with_name("programs.json")
SEEDS = 600


def stable(seed: int) -> bool:
    """Whether the results do not hang on a rounding error (a comparison with a zero that is none)."""
    found = run(torch, seed)[0]
    return all(v is None or math.isfinite(v) and abs(v) < 1e12 for v in found)


def close(a: Results, b: Results) -> bool:
    """Whether two runs agree up to rounding."""
    return len(a) == len(b) and all(
        x is y is None or x is not None and y is not None and math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9)
        for x, y in zip(a, b, strict=True)
    )


def main() -> int:
    made = {str(seed): run(torch, seed) for seed in range(SEEDS) if stable(seed)}
    if "--check" not in sys.argv:
        SNAPSHOT.write_text(json.dumps(made, separators=(",", ":")) + "\n", encoding="utf-8")
        return 0
    stored = json.loads(SNAPSHOT.read_text(encoding="utf-8"))
    differing = [
        s for s in made if s not in stored or not close(made[s][0], stored[s][0]) or made[s][1] != stored[s][1]
    ]
    print(f"{len(made)} programs, differing: {differing or 'none'}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
