"""The words in which calls are written: small tensors of every kind, and a few objects."""

from __future__ import annotations

import types
from typing import Any

__all__ = ["words"]


def words(torch: types.ModuleType) -> dict[str, Any]:
    """What the expressions of calls may name."""

    def numbers(*size: int) -> Any:
        """0 1 2 ... of a shape."""
        count = 1
        for extent in size:
            count *= extent
        return torch.arange(count).reshape(size)

    def f(*size: int, dtype: Any = None) -> Any:
        """Floats of both signs, none equal to its neighbour."""
        return ((numbers(*size) * 37 % 100).to(dtype or torch.float32) * 0.02 - 0.9).contiguous()

    def p(*size: int) -> Any:
        """Floats between 0 and 1."""
        return (numbers(*size) * 37 % 100).to(torch.float32) * 0.009 + 0.05

    def g(*size: int) -> Any:
        """Floats that require grad."""
        return f(*size).requires_grad_()

    def i(*size: int) -> Any:
        """Integers 0, 1, 2 (indices of what has three)."""
        return numbers(*size) * 2 % 3

    def b(*size: int) -> Any:
        return numbers(*size) % 3 == 0

    def c(*size: int) -> Any:
        return torch.complex(f(*size), p(*size))

    def spd(size: int) -> Any:
        """A symmetric positive definite matrix."""
        return f(size, size) @ f(size, size).T + torch.eye(size)

    def linear() -> Any:
        """A layer with given weights."""
        layer = torch.nn.Linear(3, 2)
        layer.load_state_dict({"weight": f(2, 3), "bias": f(2)})
        return layer

    def optimizer() -> Any:
        return torch.optim.SGD(linear().parameters(), lr=0.1)

    def scaled(x: Any) -> Any:
        return x * 2 + 1

    def summed(x: Any) -> Any:
        return (x * x).sum()

    def done(name: str, before: Any, call: Any) -> Any:
        """What an object is after a call on it."""
        call(before)
        return before

    found = {"torch": torch, "float": float, "int": int}
    made = (numbers, f, p, g, i, b, c, spd, linear, optimizer, scaled, summed, done)
    return {**found, **{word.__name__: word for word in made}}
