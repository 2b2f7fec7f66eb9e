"""Small random choices: dtypes, shapes, numbers, and expressions that make a tensor."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

__all__ = ["Choices"]

FLOATS = ["float32"] * 10 + ["float64"] * 4 + ["bfloat16", "float16"]
INTEGERS = ["int64"] * 6 + ["int32", "int16", "uint8", "int8"]
COMPLEX = ["complex64", "complex128"]
SELDOM = ["float8_e4m3fn", "float8_e5m2", "uint16", "uint32", "uint64", "complex32"]
PLAIN_NUMBERS = "2 -1 0 1 3 0.5 -1.5 2.0 0.0 True False 1.0 -2 7".split()
ODD_NUMBERS = """float('nan') float('inf') -float('inf') 300 -129 2**31 2**63-1 2**63 -2**63 1e40 1j 1+2j None 'a'
2**100 1e-45 256""".split()
PLAIN_FLOATS = "-2.0 -1.5 -1.0 -0.5 0.0 0.25 0.5 1.0 1.5 2.0 3.0 0.75 -0.25 -3.0 4.0".split()
PITS = "float('nan') float('nan') float('inf') -float('inf')".split()
ODD_FLOATS = "float('nan') float('inf') -float('inf') 1e10 -1e-10 -0.0 65504.0 1e-30".split()


class Choices:
    """A source of choices; `random` is where all of them are drawn."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def dtype(self) -> str:
        """Name of a dtype, floating ones most often."""
        kinds = [FLOATS, INTEGERS, ["bool"], COMPLEX, SELDOM]
        return self.random.choice(self.random.choices(kinds, [62, 20, 8, 7, 3])[0])

    def number(self) -> str:
        """A Python number, seldom something that few operators take."""
        return self.random.choice(ODD_NUMBERS if self.chance(0.06) else PLAIN_NUMBERS)

    def shape(self, most: int = 4) -> list[int]:
        rank = min(self.random.choices(range(5), [2, 4, 6, 4, 1])[0], most)
        return [self.random.choices(range(6), [1, 6, 10, 10, 6, 2])[0] for _ in range(rank)]

    def dim(self, rank: int) -> int:
        """A dimension of a tensor of this rank, seldom one that it has not."""
        n = max(rank, 1)
        return self.random.choice([n, -n - 1, 7, -7]) if self.chance(0.04) else self.random.randrange(-n, n)

    def index(self, size: int) -> int:
        """An index along a dimension of this size, seldom one beyond."""
        if size == 0 or self.chance(0.04):
            return self.random.choice([size, -size - 1, 0, 100])
        return self.random.randrange(-size, size)

    def element(self, dtype: str) -> str:
        if dtype == "bool":
            return self.random.choice(["True", "False"])
        if "complex" in dtype:
            return f"complex({self.random.choice(PLAIN_FLOATS)}, {self.random.choice(PLAIN_FLOATS)})"
        if "float" in dtype:
            return self.random.choice(ODD_FLOATS if self.chance(0.012) else PLAIN_FLOATS)
        if dtype.startswith("u"):
            return self.random.choice("0 1 2 3 4 5 7 255".split())
        if self.chance(0.02):
            bits = int(dtype[3:])
            return self.random.choice([str(2 ** (bits - 1) - 1), str(-(2 ** (bits - 1)))])
        return str(self.random.randint(-4, 5))

    def nested(self, shape: Sequence[int], dtype: str) -> str:
        """Elements of a tensor as nested lists."""
        if not shape:
            return self.element(dtype)
        return f"[{', '.join(self.nested(shape[1:], dtype) for _ in range(shape[0]))}]"

    def pitted(self) -> str:
        """A tensor of one or two dimensions, in which some elements are NaN, infinite, or like others."""
        shape = [self.random.randint(1, 4) for _ in range(self.random.randint(1, 2))]
        flat = [self.random.choice(PITS if self.chance(0.3) else PLAIN_FLOATS[:6]) for _ in range(math.prod(shape))]
        return f"torch.tensor([{', '.join(flat)}], dtype=torch.{self.random.choice(FLOATS)}).reshape({shape})"

    def tensor(self, shape: Sequence[int] | None = None, dtype: str | None = None, grad: bool | None = None) -> str:
        """An expression that makes a tensor; `grad` says whether it requires grad, where it can."""
        shape = self.shape() if shape is None else list(shape)
        dtype = dtype or self.dtype()
        can = dtype in FLOATS or dtype in COMPLEX
        grad = can and (self.chance(0.45) if grad is None else grad)
        made = self._plain_tensor(list(shape), dtype)
        return f"{made}.requires_grad_()" if grad else made

    def _plain_tensor(self, shape: list[int], dtype: str) -> str:
        r, size, of = self.random, math.prod(shape), f"torch.{dtype}"
        if dtype in SELDOM:
            return f"torch.ones({shape}).to({of})"
        way = r.random()
        if way < 0.62 and 0 < size <= 30:
            return f"torch.tensor({self.nested(shape, dtype)}, dtype={of})"
        if way < 0.8 and dtype in FLOATS:
            return f"(torch.arange({size}, dtype={of}).reshape({shape}) * 0.5 - 1)"
        if way < 0.8 and dtype in INTEGERS:
            return f"torch.arange({size}, dtype={of}).reshape({shape})"
        if way < 0.86:
            return f"torch.full({shape}, {self.element(dtype)}, dtype={of})"
        if way < 0.92 and dtype in ("float32", "float64"):
            return f"torch.randn({shape}, dtype={of})"
        return f"torch.{r.choice(['ones', 'zeros'])}({shape}, dtype={of})"
