"""Random numbers of a graph: operators draw them before it runs, so that they are those of eager execution.

With ``options={"rng": "philox"}`` the program draws them itself (`philox`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from mindtorch.fx.node import Node
from mt_core import Tensor
from mt_core.api import _functions as ops
from mt_library.ops import OpOverload

from .arrays import array_of
from .calls import NotLowered, Value, bound, jax_dtype
from .philox import PhiloxDraw

__all__ = ["Draw", "drawn"]

#: Operators whose numbers depend on no element: they are drawn as they are, tensors among the arguments empty.
_BY_SHAPE = frozenset((
    "rand", "rand.generator", "randn", "randn.generator", "randint", "randint.low", "randint.generator",
    "randint.low_generator", "randperm", "randperm.generator", "rand_like", "randn_like", "randint_like",
    "randint_like.low_dtype", "bernoulli.p", "uniform", "normal_functional", "normal.float_float", "random",
    "random.from", "random.to", "exponential", "geometric", "cauchy", "log_normal",
))  # fmt: skip


class Draw:
    """A node of random numbers.

    Attributes
    ----------
    likes
        What jax is told of its values.
    """

    def __init__(self, node: Node, draws: Callable[[], Any]) -> None:
        self.node, self._draws = node, draws
        value = node.meta["val"]
        self.likes = [
            jax.ShapeDtypeStruct(tuple(fake.shape), jax_dtype(fake.dtype))
            for fake in ([value] if isinstance(value, Tensor) else value)
        ]

    def arrays(self) -> list[np.ndarray]:
        """Numbers that are drawn now."""
        found = self._draws()
        return [array_of(value) for value in ([found] if isinstance(found, Tensor) else found)]

    def values(self, given: list[Value]) -> list[Value]:
        """The numbers, of what the program is given: they are that."""
        return given


def drawn(node: Node, rng: str = "torch") -> Draw | PhiloxDraw | None:
    """How a node is drawn; None for one that draws nothing.

    Parameters
    ----------
    rng
        Whose numbers they are: ``"torch"`` for those of eager execution, ``"philox"`` for the program's own.

    Raises
    ------
    NotLowered
        When what is drawn depends on elements.
    """
    target = node.target
    if node.op != "call_function" or not isinstance(target, OpOverload) or not target.name().startswith("aten::"):
        return None
    name = target.name().removeprefix("aten::")
    if rng == "philox" and name in _BY_SHAPE:
        names = [argument.name for argument in target._overload.schema.arguments]
        return PhiloxDraw(node, name, dict(zip(names, bound(target._overload, node), strict=True)))
    if name == "bernoulli.p" and _is_filled(node.args[0]):
        return Draw(node, lambda: _emptied(node.args[0]).bernoulli_(*node.args[1:], **node.kwargs))
    if name in _BY_SHAPE:
        return Draw(node, lambda: target(*_emptied(node.args), **_emptied(node.kwargs)))
    if "nondeterministic_seeded" in {tag.name for tag in target.tags}:
        raise NotLowered(f"aten::{name} draws random numbers by elements of a tensor")
    return None


def _is_filled(source: Any) -> bool:
    """Whether a draw stands for one in place, which goes through memory in its order; ``bernoulli`` itself does not."""
    return isinstance(source, Node) and isinstance(source.target, OpOverload) and "empty" in source.target.name()


def _emptied(value: Any) -> Any:
    if isinstance(value, Node):
        fake = value.meta["val"]
        if not isinstance(fake, Tensor):
            raise NotLowered(f"{value} is a number that the graph computes")
        return ops.empty_strided(fake.shape, fake.stride(), dtype=fake.dtype)
    if isinstance(value, (list, tuple)):
        return type(value)([_emptied(item) for item in value])
    if isinstance(value, dict):
        return {key: _emptied(item) for key, item in value.items()}
    return value
