"""Record in `random_operators.json` what PyTorch's random functions print: ``make_random_operators.py [--check]``.

Every expression is evaluated with a freshly seeded generator. `X` and `Y` are random matrices of the dtype that the
case names, `R` a vector that requires grad. Errors are recorded as their type and message.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).parent
FLOATING = ["float32", "float64", "float16", "bfloat16"]
INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]

OF_ANY_FLOATING_TYPE = """
torch.rand(2, 3)
torch.randn(5)
torch.randn(17)
torch.rand_like(X.t())
torch.randn_like(X.t())
torch.randint_like(X.t(), 7)
torch.randint_like(X, -3, 7)
torch.normal(X, 2.0)
torch.normal(X.t(), Y.t())
torch.normal(1.0, Y)
torch.normal(1.0, 2.0, (3, 5))
torch.bernoulli(X)
torch.bernoulli(X.t())
torch.bernoulli(X, 0.3)
torch.poisson(X * 20)
torch.dropout(X, 0.3, True)
torch.dropout(X.t(), 0.3, True)
torch.dropout(X, 1.0, True)
torch.dropout_(X * 1, 0.3, True)
torch.alpha_dropout(X, 0.3, True)
torch.alpha_dropout(X, 1.0, True)
torch.alpha_dropout_(X * 1, 0.3, True)
torch.feature_dropout(X, 0.3, True)
torch.feature_dropout_(X * 1, 0.4, True)
torch.feature_alpha_dropout(X.t(), 0.3, True)
torch.feature_alpha_dropout_(X * 1, 0.3, True)
torch.native_dropout(X, 0.3, True)
torch.native_dropout(X, 0.3, False)
torch.native_dropout(X, 1.0, True)
torch.multinomial(X, 2)
torch.multinomial(X.t(), 1)
torch.multinomial(X, 3, True)
torch.multinomial(X[0], 3, True)
X.uniform_(-2, 3.5)
X.t().uniform_()
X.normal_(1, 2.0)
X.exponential_(2.0)
X.cauchy_(1.0, 0.5)
X.log_normal_(0.1, 0.2)
X.geometric_(0.3)
X.bernoulli_(Y)
X.bernoulli_(0.2)
X.random_()
X.random_(-5, 7)
X.random_(3, None)
X.random_(1010, 5000)
X.random_(2050, 2300)
"""

OF_ANY_INTEGER_TYPE = """
I.random_()
I.random_(2)
I.random_(0, None)
I.bernoulli_(0.3)
I.bernoulli_(Y)
I.geometric_(0.6)
torch.randperm(20, dtype=I.dtype)
torch.randint(3, 100, (5,), dtype=I.dtype)
torch.randint(200, (5,), dtype=I.dtype)
I.uniform_()
I.normal_()
I.exponential_()
I.cauchy_()
I.log_normal_()
I.random_(-3, 300)
"""

OTHERS = """
torch.rand(size=(2,))
torch.rand([2, 3])
torch.rand(())
torch.rand(2, requires_grad=True)
torch.rand(2, generator=torch.Generator().manual_seed(9))
torch.rand(2, generator=None)
torch.rand(3, dtype=torch.long)
torch.rand(-1)
torch.rand(3, out=torch.empty(2, dtype=torch.float64))
torch.rand(3, out=torch.empty(2), dtype=torch.float64)
torch.rand(3, 4, dtype=torch.complex64)
torch.randn(3, 7, dtype=torch.complex64).t()
torch.empty(3, 7, dtype=torch.complex128).t().normal_(1.0, 2.0)
torch.empty(4, dtype=torch.complex64).random_()
torch.empty(4, dtype=torch.complex64).random_(3)
torch.empty(4, dtype=torch.complex64).cauchy_()
torch.randn(5, 8, out=torch.empty(8, 5).t())
torch.randint(2, 5, (2,), dtype=torch.float32)
torch.randint(low=2, high=5, size=(2,))
torch.randint(high=5, size=(2,))
torch.randint(3, 3, (2,))
torch.randint(5, 3, (2,))
torch.randint(3, (2,), dtype=torch.bool)
torch.randint(2, (5,), dtype=torch.bool)
torch.randint(3, (2,), dtype=torch.complex64)
torch.randint(0, 2**63 - 1, (3,))
torch.randint(-(2**63), 2**63 - 1, (3,))
torch.randint(2**28 - 1, (3,))
torch.randint(2**28, (3,))
torch.randint(0, 3, (2,), out=torch.empty(2), generator=torch.Generator().manual_seed(2))
torch.empty(3, dtype=torch.uint16).random_(5, 1000)
torch.empty(3, dtype=torch.uint32).random_(2, None)
torch.empty(3, dtype=torch.uint64).random_(2, None)
torch.empty(3, dtype=torch.uint64).random_(2, 2**40)
torch.empty(3, dtype=torch.uint16).random_()
torch.empty(3, dtype=torch.bool).random_()
torch.empty(3, dtype=torch.bool).geometric_(0.5)
torch.rand_like(X, dtype=torch.float64)
torch.rand_like(X.t(), memory_format=torch.contiguous_format)
torch.rand_like(X.long())
torch.randint_like(X, torch.tensor(5))
torch.randint_like(X, torch.tensor([5]))
torch.randint_like(X.t(), 2, 5, dtype=torch.int8)
torch.randn_like(X, generator=torch.Generator().manual_seed(1))
torch.randperm(10, generator=torch.Generator().manual_seed(3))
torch.randperm(4, out=torch.empty(4, dtype=torch.int32))
torch.randperm(-1)
torch.randperm(3, dtype=torch.bool)
torch.randperm(129, dtype=torch.int8)
torch.randperm(2050, dtype=torch.float16)
torch.randperm(2**24 + 2, dtype=torch.float32)
torch.normal(torch.tensor([1.0, 2]), torch.tensor([[1.0], [2]]))
torch.normal(torch.tensor([1.0, 2]), torch.tensor([1.0, 2, 3]))
torch.normal(torch.tensor([1.0, 2]), torch.tensor([1.0, 2], dtype=torch.float64))
torch.normal(torch.tensor([1.0, 2]), -1.0)
torch.normal(torch.tensor([1.0, 2]), torch.tensor([1.0, -1.0]))
torch.normal(torch.tensor([1, 2]), 1.0)
torch.normal(torch.ones(2, dtype=torch.complex64), torch.tensor([1.0, 2]))
torch.normal(1.0, torch.ones(2, dtype=torch.complex64))
torch.normal(X, Y, out=torch.empty(2, 3, dtype=torch.float64))
torch.normal(2, 3, size=(1, 4))
torch.bernoulli(torch.tensor([0.1, 1.2]), generator=torch.Generator())
torch.bernoulli(torch.tensor([1, 0]))
torch.bernoulli(X, out=torch.empty(0, dtype=torch.long))
X.bernoulli(p=0.2)
X.bernoulli_(2.0)
X.bernoulli_(torch.ones(2))
X.uniform_(2, 1)
X.uniform_(0, float("inf"))
X.uniform_(-3e38, 3e38)
X.uniform_(float("nan"), 1)
X.normal_(0, -1)
X.normal_(0, float("nan"))
X.exponential_(0)
X.exponential_(float("inf"))
X.geometric_(1)
X.cauchy_(0, 0)
X.log_normal_(0, 0)
X.random_(3, 2)
X.random_(0)
X.normal_(std=3.0, generator=torch.Generator().manual_seed(3))
torch.ones(3).expand(2, 3).normal_()
torch.multinomial(torch.tensor([1.0, 0, 0]), 1)
torch.multinomial(torch.tensor([0.0, 0, 0]), 1)
torch.multinomial(torch.tensor([0.0, 0, 0]), 2, replacement=True)
torch.multinomial(torch.tensor([0.0, -1, 0]), 1)
torch.multinomial(torch.tensor([0.0, -1, 0]), 2, replacement=True)
torch.multinomial(torch.tensor([1.0, 2, float("nan")]), 2, True)
torch.multinomial(torch.tensor([1.0, 2, float("inf")]), 2, True)
torch.multinomial(torch.tensor([0.0, 1, 0]), 0)
torch.multinomial(torch.tensor([0.0, 1, 0]), 4)
torch.multinomial(torch.tensor([0, 1, 0]), 1)
torch.multinomial(torch.ones(2, 2, 2), 1)
torch.multinomial(torch.ones(0), 1, True)
torch.multinomial(X, 2, out=torch.empty(0))
torch.multinomial(X, 2, out=torch.empty(0, dtype=torch.long))
torch.poisson(torch.tensor([-1.0]))
torch.poisson(torch.tensor([1]))
torch.poisson(X, torch.Generator().manual_seed(1))
torch.binomial(torch.tensor([30.0, 3.0]), torch.tensor([0.5, 0.7]))
torch.binomial(torch.tensor([2]), torch.tensor([1]))
torch.binomial(X, Y.double())
torch.binomial(X.half(), Y.half())
torch.dropout(X, 1.5, True)
torch.dropout(X, 0.5, False) is X
torch.dropout(X, 0.0, True) is X
torch.dropout(torch.tensor([1, 2]), 0.5, True)
torch.dropout(torch.tensor([float("nan"), 1.0]), 1.0, True)
torch.native_dropout(X, 1.5, True)
torch.native_dropout(X, 0.5, None)
torch.feature_dropout(torch.ones(3), 0.5, True)
torch.feature_dropout(torch.rand(2, 3, 2, 2), 0.5, True)
torch.dropout(R, 0.5, True)
torch.native_dropout(R, 0.5, True)
torch.alpha_dropout(R, 0.5, True)
torch.bernoulli(R)
torch.poisson(R)
torch.normal(R, 1.0)
torch.normal(1.0, R)
torch.normal(R, R)
torch.rand_like(R)
torch.multinomial(R, 1)
R.normal_()
(R * 1).random_()
(R * 1).random_(3)
(R * 1).random_(0, 3)
(R * 1).bernoulli_(R)
(R * 1).bernoulli_(0.5)
(R * 1).normal_()
(R * 1).uniform_()
(R * 1).exponential_()
torch.autograd.grad((R * 2).normal_().sum(), R)
torch.autograd.grad((R * 2).bernoulli_(R).sum(), R)
torch.autograd.grad(torch.dropout(R, 0.5, True).sum(), R)
torch.autograd.grad(torch.dropout(R, 1.0, True).sum(), R)
torch.autograd.grad(torch.native_dropout(R, 0.5, True)[0].sum(), R)
torch.autograd.grad(torch.native_dropout(R, 0.5, False)[0].sum(), R)
torch.autograd.grad(torch.alpha_dropout(R, 0.5, True).sum(), R)
torch.autograd.grad(torch.normal(R, R).sum(), R)
torch.autograd.grad(torch.bernoulli(R).sum(), R)
torch.randn(2, 3, device="meta")
torch.dropout(torch.empty(2, 3, device="meta"), 0.5, True)
torch.multinomial(torch.empty(2, 3, device="meta"), 2)
torch.randperm(4, device="meta")
"""


def cases() -> list[tuple[str, str]]:
    """(dtype, expression)."""
    found = [(d, line) for line in OF_ANY_FLOATING_TYPE.split("\n") if line for d in FLOATING]
    found += [(d, line) for line in OF_ANY_INTEGER_TYPE.split("\n") if line for d in INTEGERS]
    return found + [("float32", line) for line in OTHERS.split("\n") if line]


def shown(value: Any) -> str:
    """A result's text, with the strides of tensors."""
    if isinstance(value, (tuple, list)):
        return ", ".join(shown(v) for v in value)
    return f"{value!r} {tuple(value.stride())}" if isinstance(value, torch.Tensor) else repr(value)


def evaluated(dtype: str, expression: str) -> str:
    d = getattr(torch, dtype)
    torch.set_default_dtype(d if d.is_floating_point else torch.float32)
    torch.manual_seed(1234)
    X, Y = torch.rand(2, 3), torch.rand(2, 3)
    R = torch.tensor([0.25, 0.75], dtype=torch.float32, requires_grad=True)
    names = {"torch": torch, "X": X, "Y": Y, "R": R, "I": torch.zeros(2, 3, dtype=d)}
    try:
        result = shown(eval(expression, names))  # noqa: S307
    except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
        result = f"{type(error).__name__}: {error}"
    return f"{result} | next word {torch.randint(2**27, ()).item()}"


def write_or_check(path: Path, text: str) -> None:
    """Write the file, or with ``--check`` compare what it holds.

    Raises
    ------
    SystemExit
        When PyTorch gives something else.
    """
    if "--check" not in sys.argv:
        path.write_text(text)
    elif path.read_text() != text:
        raise SystemExit(f"{path.name} differs from what PyTorch {torch.__version__} gives")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_printoptions(precision=8)
    recorded = [[dtype, expression, evaluated(dtype, expression)] for dtype, expression in cases()]
    text = ",\n".join(json.dumps(case) for case in recorded)
    write_or_check(HERE / "random_operators.json", f"[\n{text}\n]\n")
