"""Record in `quasirandom.npz` what PyTorch's Sobol' engines draw.

``make_quasirandom.py`` writes the file; with ``--check`` it compares.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import numpy as np
import torch

TARGET = Path(__file__).with_suffix(".npz").with_name("quasirandom.npz")
ENGINES = ((1, False, None), (3, False, None), (5, True, 7), (2, True, 0), (1111, True, 3))


def drawn(dimension: int, scramble: bool, seed: int | None) -> list[np.ndarray]:
    engine = torch.quasirandom.SobolEngine(dimension, scramble, seed)
    parts = [engine.draw(3), engine.fast_forward(5).draw(4, dtype=torch.float64), engine.draw_base2(2)]
    parts += [engine.reset().draw(), engine.sobolstate[:50]]
    return [part[..., :50].numpy() for part in parts]


def record() -> dict[str, np.ndarray]:
    found = {}
    for dimension, scramble, seed in ENGINES:
        for i, part in enumerate(drawn(dimension, scramble, seed)):
            found[f"{dimension} {scramble} {seed} {i}"] = part
    torch.manual_seed(5)
    found["unseeded"] = torch.quasirandom.SobolEngine(4, True).draw(2).numpy()
    found["then"] = torch.rand(2).numpy()
    state = torch.quasirandom.SobolEngine(21201).sobolstate.numpy()
    found["all directions"] = np.frombuffer(hashlib.sha256(state.tobytes()).digest(), np.uint8)
    return found


if __name__ == "__main__":
    made = record()
    if "--check" in sys.argv:
        stored = np.load(TARGET)
        same = sorted(stored) == sorted(made) and all(np.array_equal(stored[k], made[k]) for k in made)
        sys.exit(0 if same else "quasirandom.npz differs")
    np.savez_compressed(TARGET, **made)
