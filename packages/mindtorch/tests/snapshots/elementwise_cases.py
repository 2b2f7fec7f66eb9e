"""Dtypes of elementwise operators: what PyTorch and mindtorch are both asked."""

from __future__ import annotations

import itertools
from typing import Any

_DTYPES = "bool uint8 int32 int64 float16 bfloat16 float32 float64 complex32 complex64 complex128".split()
_NUMBERS = "int64 float64 float32 complex128 bool".split()


def answers(torch: Any, kinds: Any, elementwise_dtypes: Any) -> dict[str, str]:
    """Kind and arguments, by their places in a list -> the dtypes computed in and of the result."""
    values = [True, 1, 2.5, 1j]
    values += [torch.ones(2, dtype=getattr(torch, name)) for name in _DTYPES]
    values += [torch.ones((), dtype=getattr(torch, name)) for name in _NUMBERS]
    found = {}
    for kind in kinds:
        asked = [(i,) for i in range(len(values))]
        if kind.name == "DEFAULT":
            asked += list(itertools.product(range(len(values)), repeat=2))
        for places in asked:
            made = elementwise_dtypes(*(values[i] for i in places), type_promotion_kind=kind)
            key = " ".join(map(str, (kind.name, *places)))
            found[key] = " ".join(str(dtype).removeprefix("torch.") for dtype in made)
    return found
