"""What is known of a function that is traced ahead of time."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

from mt_core.functionalization.steps import Step

__all__ = ["GivenInput", "Origin", "Output", "Plan"]


@dataclass(frozen=True)
class GivenInput:
    """What a function does to one of its tensors, by its place among the flat arguments.

    Attributes
    ----------
    is_written, is_relaid
        Whether it writes to its memory, and whether it gives it another geometry.
    is_hidden
        Whether what it writes leaves the tensor's history as it was.
    spot
        The geometry that it gives it: shape, strides, offset.
    """

    place: int
    is_written: bool
    is_relaid: bool
    is_hidden: bool
    requires_grad: bool
    spot: tuple[Any, ...]


class Origin(enum.Enum):
    """Where a result comes from; a base is what several results are views of."""

    COMPUTED = enum.auto()
    CONSTANT = enum.auto()
    INPUT = enum.auto()
    VIEW_OF_INPUT = enum.auto()
    VIEW_OF_OUTPUT = enum.auto()
    VIEW_OF_BASE = enum.auto()


@dataclass(frozen=True)
class Output:
    """A leaf of what a function returns.

    Attributes
    ----------
    source
        Which argument, result or base it is a view of.
    steps
        The views that lead from there to it.
    """

    origin: Origin
    requires_grad: bool = False
    source: int = 0
    steps: tuple[Step, ...] = ()


@dataclass
class Plan:
    """What a function does to memory, and which parts of its graph's results are differentiable.

    The graph gives what is written to arguments (`written`), the results (`outputs`), what several of them are views of
    (`bases` many), in this order.
    """

    inputs: dict[int, GivenInput]
    outputs: list[Output]
    bases: list[bool] = field(default_factory=list)

    @property
    def written(self) -> list[GivenInput]:
        """The arguments of which the graph gives a new value."""
        return [one for one in self.inputs.values() if one.is_written or one.is_relaid]

    @property
    def differentiable(self) -> list[bool]:
        """Of each result of the graph whether it has a gradient."""
        return [
            *(one.requires_grad and not one.is_hidden for one in self.written),
            *(one.requires_grad and one.origin is Origin.COMPUTED for one in self.outputs),
            *self.bases,
        ]

    @property
    def needs_gradients(self) -> bool:
        """Whether there is anything to differentiate."""
        return any(self.differentiable)
