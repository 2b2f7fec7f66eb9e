"""Write layouts.json: the strides that PyTorch gives to results of operators on inputs of random layouts.

Run with PyTorch 2.13: ``python make_layouts.py [--check]``.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import torch
from writing import write_or_check

SEED, CASES = 20, 300


def random_input(rng: random.Random, shape: list[int]) -> dict[str, Any]:
    """A permutation of a row-major block, with some dimensions taken in steps, broadcast or shortened to 1."""
    permutation = rng.sample(range(len(shape)), len(shape))
    steps = [rng.choice((1, 1, 1, 2)) for _ in shape]
    kept = [1 if rng.random() < 0.15 else n for n in shape]
    expanded = [rng.random() < 0.1 for _ in shape]
    return {"shape": kept, "permutation": permutation, "steps": steps, "expanded": expanded}


def build(recipe: dict[str, Any]) -> torch.Tensor:
    shape, permutation = recipe["shape"], recipe["permutation"]
    sizes = [1 if e else n * s for n, s, e in zip(shape, recipe["steps"], recipe["expanded"])]
    block = torch.zeros([sizes[p] for p in permutation])
    back = [permutation.index(i) for i in range(len(shape))]
    view = block.permute(back)
    for dim, (step, e) in enumerate(zip(recipe["steps"], recipe["expanded"])):
        if not e:
            view = view[(slice(None),) * dim + (slice(None, None, step),)]
    return view.expand(shape)


def results(inputs: list[torch.Tensor]) -> dict[str, list[int]]:
    found = {
        "first": inputs[0],
        "neg": -inputs[0],
        "clone": inputs[0].clone(),
        "zeros_like": torch.zeros_like(inputs[0]),
    }
    found["gt"] = inputs[0] > 0
    found["double"] = inputs[0].double()
    if len(inputs) > 1:
        found["add"] = inputs[0] + inputs[1]
        found["where"] = torch.where(inputs[0] > 0, inputs[0], inputs[1])
    if len(inputs) > 2:
        found["addcmul"] = torch.addcmul(*inputs)
    found["sum"] = inputs[0].sum(0)
    found["contiguous"] = inputs[0].contiguous()
    return {name: list(tensor.stride()) for name, tensor in found.items()}


def main() -> None:
    rng = random.Random(SEED)
    cases = []
    for _ in range(CASES):
        shape = [rng.choice((1, 2, 3, 4)) for _ in range(rng.randint(1, 4))]
        recipes = [random_input(rng, shape) for _ in range(rng.randint(1, 3))]
        cases.append({"inputs": recipes, "strides": results([build(r) for r in recipes])})
    write_or_check(Path(__file__).with_name("layouts.json"), json.dumps(cases, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
