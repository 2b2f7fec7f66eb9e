"""Write promotion.json: the dtype PyTorch gives to every pair of operands, of each category.

Run with PyTorch 2.13: ``python make_promotion.py [--check]``.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import torch
from writing import write_or_check

DTYPES = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
    "complex128",
)  # fmt: skip
NUMBERS = {"bool": True, "int": 2, "float": 1.5, "complex": 1j}


def name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def operand(dtype: str, dims: int) -> torch.Tensor:
    return torch.zeros((1,) * dims, dtype=getattr(torch, dtype))


def main() -> None:
    found = {"tensors": {}, "numbers": {}, "can_cast": {}}
    for (a, b), (m, n) in itertools.product(itertools.product(DTYPES, DTYPES), ((1, 1), (1, 0), (0, 0))):
        found["tensors"][f"{a} {m} {b} {n}"] = name(torch.result_type(operand(a, m), operand(b, n)))
    for a, m, (kind, number) in itertools.product(DTYPES, (1, 0), NUMBERS.items()):
        found["numbers"][f"{a} {m} {kind}"] = name(torch.result_type(operand(a, m), number))
    for a, b in itertools.product(DTYPES, DTYPES):
        found["can_cast"][f"{a} {b}"] = torch.can_cast(getattr(torch, a), getattr(torch, b))
    write_or_check(Path(__file__).with_name("promotion.json"), json.dumps(found, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
