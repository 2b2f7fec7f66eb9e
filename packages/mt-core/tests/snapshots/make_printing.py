"""Record in `printing.json` PyTorch's ``repr`` of many tensors: ``python make_printing.py [--check]``."""

from __future__ import annotations

import base64
import json
import random
import warnings
from pathlib import Path

import numpy as np
import torch
from writing import write_or_check

HERE = Path(__file__).parent
FLOATING = (
    "float32 float64 float16 bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu".split()
)
COMPLEX = "complex64 complex128 complex32".split()
INTEGERS = "int64 int32 int16 int8 uint8 uint16 uint32 uint64".split()
SPECIAL = [np.nan, np.inf, -np.inf, -0.0]
LARGE = [(1001,), (30, 40), (3, 500), (11, 11, 11), (7, 7, 7, 7)]

#: How numbers of a case look: whole, of one magnitude, of many, halves, mostly zero, all zero, plain.
SCALES = [
    lambda rng, x: np.round(x * 10),
    lambda rng, x: x * 10.0 ** rng.integers(-8, 9),
    lambda rng, x: x * 10.0 ** rng.integers(-6, 7, size=x.size),
    lambda rng, x: np.round(x * 10.0 ** rng.integers(0, 10)),
    lambda rng, x: np.round(x * 2) * 0.5,
    lambda rng, x: np.where(rng.random(x.size) < 0.5, 0.0, x),
    lambda rng, x: x * 0,
    lambda rng, x: x,
]


def numbers(rng: np.random.Generator, count: int) -> torch.Tensor:
    values = SCALES[rng.integers(len(SCALES))](rng, rng.normal(size=count))
    for special in SPECIAL:
        if rng.random() < 0.12:
            values = np.where(rng.random(count) < 0.3, special, values)
    return torch.tensor(values)


def elements(rng: np.random.Generator, dtype: str, count: int) -> torch.Tensor:
    if dtype in COMPLEX:
        return torch.complex(numbers(rng, count), numbers(rng, count)).to(getattr(torch, dtype))
    if dtype in FLOATING:
        return numbers(rng, count).to(getattr(torch, dtype))
    if dtype == "bool":
        return torch.tensor(rng.random(count) < 0.5)
    limits = np.iinfo(dtype)
    high = min(limits.max, 10 ** int(rng.integers(1, 20)))
    low = max(limits.min, -high) if rng.random() < 0.7 else 0
    return torch.tensor(rng.integers(low, high, size=count, endpoint=True, dtype=dtype))


def shape(rng: np.random.Generator) -> tuple[int, ...]:
    if rng.random() < 0.04:
        return random.choice(LARGE)
    dims = int(rng.integers(0, 5))
    return tuple(int(rng.integers(0 if rng.random() < 0.1 else 1, [1, 20, 7, 3, 2][dims] + 1)) for _ in range(dims))


def options(rng: np.random.Generator) -> dict:
    if rng.random() < 0.5:
        return {}
    choices = {
        "precision": [None, 0, 1, 2, 7, 10],
        "threshold": [None, 5, 50],
        "edgeitems": [None, 0, 1, 2, 5],
        "linewidth": [None, 20, 40, 120, 1000],
        "profile": [None, "short", "Default"],
        "sci_mode": [None, True, False],
    }
    return {name: random.choice(values) for name, values in choices.items()}


def encoded(tensor: torch.Tensor) -> str:
    return base64.b64encode(bytes(tensor.detach().contiguous().reshape(-1).untyped_storage())).decode()


def case(rng: np.random.Generator, dtype: str) -> dict:
    size, chosen = shape(rng), options(rng)
    default = random.choice(["float32"] * 4 + ["float64", "float16"])
    tensor = elements(rng, dtype, int(np.prod(size, dtype=int))).reshape(size)
    found = {"dtype": dtype, "shape": size, "bytes": encoded(tensor), "options": chosen, "default": default}
    if dtype in ("float32", "float64", "bfloat16", "complex64") and rng.random() < 0.4:
        tensor.requires_grad_()
        found["requires_grad"] = True
        if rng.random() < 0.5:
            tensor = tensor.clone()
            found["grad_fn"] = type(tensor.grad_fn).__name__
    torch.set_printoptions(profile="default")
    torch.set_printoptions(**chosen)
    torch.set_default_dtype(getattr(torch, default))
    found["text"] = repr(tensor)
    return found


def meta_cases() -> list[dict]:
    torch.set_printoptions(profile="default")
    torch.set_default_dtype(torch.float32)
    sizes = [(), (0,), (3,), (2, 3), (1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3)]
    return [
        {"shape": s, "dtype": d, "text": repr(torch.empty(s, dtype=getattr(torch, d), device="meta"))}
        for s in sizes
        for d in ("float32", "int64", "bfloat16")
    ]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    random.seed(0)
    rng = np.random.default_rng(0)
    cases = [case(rng, dtype) for dtype in FLOATING + COMPLEX + INTEGERS + ["bool"] for _ in range(12)]
    lines = ",\n".join(json.dumps(c) for c in cases)
    metas = ",\n".join(json.dumps(c) for c in meta_cases())
    write_or_check(HERE / "printing.json", f'{{"cases": [\n{lines}\n], "meta": [\n{metas}\n]}}\n')
