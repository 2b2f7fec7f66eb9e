"""Record in `modules.npz` what PyTorch computes for each line: ``python make_modules.py [--check]``."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parent))

from running import HERE, lines, run

SCOPE = {
    "nn": nn,
    "rnn": nn.utils.rnn,
    "randn": torch.randn,
    "rand": torch.rand,
    "randint": torch.randint,
    "tensor": torch.tensor,
}


def main() -> None:
    torch.set_num_threads(1)
    found = {
        f"{position} {name}": array
        for position, line in enumerate(lines())
        for name, array in run(line, SCOPE, torch.manual_seed).items()
    }
    path = HERE / "modules.npz"
    if "--check" not in sys.argv:
        np.savez_compressed(path, **found)
        return
    stored = np.load(path)
    # The last bits of products differ from processor to processor: to the tolerance of the test.
    same = (np.allclose(stored[k], found[k], rtol=2e-5, atol=2e-6, equal_nan=True) for k in found)
    if set(stored) != set(found) or not all(same):
        sys.exit(f"{path} is not what PyTorch {torch.__version__} gives")


if __name__ == "__main__":
    main()
