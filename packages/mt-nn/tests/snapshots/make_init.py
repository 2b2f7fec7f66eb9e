"""Record initial values that PyTorch draws: ``python make_init.py [--check]``."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from torch.nn import init

CALLS = [
    "uniform_(x, -1, 3)",
    "normal_(x, 1, 2)",
    "trunc_normal_(x)",
    "trunc_normal_(x, 0.5, 2.0, -1.0, 1.0)",
    "trunc_normal_(x, 0.0, 0.02)",
    "trunc_normal_(x, 0.0, 1.0, -0.2, 0.1)",
    "trunc_normal_(x, 0.0, 1.0, 2.5, 4.0)",
    "constant_(x, 0.3)",
    "ones_(x)",
    "zeros_(x)",
    "eye_(x)",
    "xavier_uniform_(x, 2.0)",
    "xavier_normal_(x)",
    "kaiming_uniform_(x, 1, 'fan_out')",
    "kaiming_normal_(x, nonlinearity='selu')",
    "orthogonal_(x, 2.0)",
    "sparse_(x, 0.3)",
]


def drawn(call: str, dtype: str) -> np.ndarray:
    torch.manual_seed(0)
    values = eval(f"init.{call}", {"init": init, "x": torch.empty(5, 4, dtype=getattr(torch, dtype))})  # noqa: S307
    return values.double().numpy()


def main() -> None:
    dtypes = {call: ["float32", "float64"] + (["bfloat16"] if "normal_(x" in call else []) for call in CALLS}
    found = {f"{call} | {dtype}": drawn(call, dtype) for call in CALLS for dtype in dtypes[call]}
    path = Path(__file__).parent / "init.npz"
    if "--check" not in sys.argv:
        np.savez_compressed(path, **found)
        return
    stored = np.load(path)
    if set(stored) != set(found) or not all(np.allclose(stored[k], found[k]) for k in found):
        sys.exit(f"{path} is not what PyTorch {torch.__version__} gives")


if __name__ == "__main__":
    main()
