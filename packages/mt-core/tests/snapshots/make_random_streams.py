"""Record PyTorch's CPU random streams: ``python make_random_streams.py [--check]``.

`random_streams.json` has, for every distribution and dtype, one digest for each of a row of tensors that are filled
one after the other from one seed, and a digest of the generator's state at the end. `random_samples.npz` has results
as they are.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).parent
SEED = 2024

#: Base shape, permutation of its dimensions, step of the last dimension: what is filled.
LAYOUTS = [([n], [0], 1) for n in (*range(41), 100, 623, 624, 625, 1000, 100003)] + [
    ([], [], 1),
    ([0, 3], [0, 1], 1),
    ([5, 40], [0, 1], 1),
    ([5, 40], [1, 0], 1),
    ([6, 40], [0, 1], 2),
    ([3, 4, 5], [2, 0, 1], 1),
    ([2, 1, 30], [2, 1, 0], 1),
    ([2, 3, 8], [0, 2, 1], 2),
]

FLOATING = ["float32", "float64", "float16", "bfloat16"]
INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]

#: Name: method, arguments, dtypes.
DISTRIBUTIONS = {
    "uniform": ("uniform_", [0.0, 1.0], FLOATING),
    "uniform -0.3 0.7": ("uniform_", [-0.3, 0.7], FLOATING),
    "uniform narrow": ("uniform_", [0.4911539365725141, 0.491154137506318], FLOATING),
    "normal": ("normal_", [0.0, 1.0], FLOATING),
    "normal 0.1 0.37": ("normal_", [0.1, 0.37], FLOATING),
    "log_normal": ("log_normal_", [0.1, 0.7], FLOATING),
    "exponential": ("exponential_", [1.7], FLOATING),
    "cauchy": ("cauchy_", [0.1, 1.7], FLOATING),
    "geometric": ("geometric_", [0.17], FLOATING + INTEGERS),
    "bernoulli": ("bernoulli_", [0.17], FLOATING + INTEGERS + ["bool"]),
    "random": ("random_", [], FLOATING + INTEGERS + ["bool"]),
    "random 0 2": ("random_", [0, 2], FLOATING + INTEGERS + ["bool"]),
    "random 2**28 - 1": ("random_", [-3, 2**28 - 4], ["int32", "int64", "float64"]),
    "random 2**28": ("random_", [-3, 2**28 - 3], ["int32", "int64", "float64"]),
    "random 2**60": ("random_", [-(2**59), 2**59], ["int64"]),
    "random all": ("random_", [-(2**63), None], ["int64"]),
}


def digest(array: np.ndarray) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest()[:10]


def array_of(tensor: torch.Tensor) -> np.ndarray:
    return (tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor).numpy()


def stream(method: str, arguments: list, dtype: str) -> dict:
    torch.manual_seed(SEED)
    digests = []
    for shape, permutation, step in LAYOUTS:
        tensor = torch.empty(shape, dtype=getattr(torch, dtype)).permute(permutation)
        tensor = tensor[..., ::step] if step != 1 else tensor
        getattr(tensor, method)(*arguments)
        digests.append(digest(array_of(tensor)))
    return {"digests": " ".join(digests), "state": digest(torch.get_rng_state().numpy())}


def streams() -> dict:
    recorded = {
        name: {"arguments": arguments, "dtypes": {d: stream(method, arguments, d) for d in dtypes}}
        for name, (method, arguments, dtypes) in DISTRIBUTIONS.items()
    }
    layouts = [json.dumps(layout) for layout in LAYOUTS]
    return {"seed": SEED, "layouts": layouts, "distributions": recorded}


def states() -> dict[str, np.ndarray]:
    """States with and without a kept normal number, and what follows them."""
    torch.manual_seed(3)
    kept = torch.randn(3)
    found = {"state": torch.get_rng_state(), "before": kept, "after": torch.randn(5)}
    torch.manual_seed(-1)
    found["state_negative_seed"] = torch.get_rng_state()
    torch.rand(624)
    found["state_block_used_up"] = torch.get_rng_state()
    return {name: tensor.numpy() for name, tensor in found.items()}


def samples() -> dict[str, np.ndarray]:
    found = {}
    for n in (0, 1, 2, 3, 17, 1000):
        torch.manual_seed(SEED)
        found[f"randperm {n}"] = torch.randperm(n)
    torch.manual_seed(SEED)
    probabilities = torch.rand(6, 30)
    found["probabilities"] = probabilities
    for dtype in FLOATING:
        p = probabilities.to(getattr(torch, dtype))
        torch.manual_seed(SEED)
        found[f"bernoulli {dtype}"] = torch.bernoulli(p).float()
        torch.manual_seed(SEED)
        found[f"multinomial {dtype}"] = torch.multinomial(p, 200, replacement=True)
    torch.manual_seed(SEED)
    found["bernoulli transposed"] = torch.bernoulli(probabilities.t())
    for dtype in ("float32", "float64"):
        p = probabilities.to(getattr(torch, dtype))
        for count in (1, 7):
            torch.manual_seed(SEED)
            found[f"multinomial without {count} {dtype}"] = torch.multinomial(p, count)
    for scale in (0.5, 8.0, 40.0, 1e5):
        torch.manual_seed(SEED)
        found[f"poisson {scale}"] = torch.poisson(probabilities * scale)
        torch.manual_seed(SEED)
        found[f"binomial {scale}"] = torch.binomial(torch.full_like(probabilities, scale).floor(), probabilities)
    return {name: tensor.numpy() for name, tensor in found.items()}


def check(text: str, arrays: dict[str, np.ndarray]) -> None:
    """Compare with what is stored.

    Raises
    ------
    SystemExit
        Naming what PyTorch gives otherwise.
    """
    if (HERE / "random_streams.json").read_text() != text:
        raise SystemExit(f"random_streams.json differs from what PyTorch {torch.__version__} gives")
    stored = np.load(HERE / "random_samples.npz")
    for name in {*stored, *arrays}:
        if name not in stored or name not in arrays or not np.array_equal(stored[name], arrays[name]):
            raise SystemExit(f"'{name}' of random_samples.npz differs from what PyTorch {torch.__version__} gives")


if __name__ == "__main__":
    text, arrays = json.dumps(streams(), indent=1) + "\n", {**states(), **samples()}
    if "--check" in sys.argv:
        check(text, arrays)
    else:
        (HERE / "random_streams.json").write_text(text)
        np.savez_compressed(HERE / "random_samples.npz", **arrays)
