"""The part of ``torch.autograd.gradcheck`` that looks at forward mode: tangents against central differences.

Each input is moved along one direction after another: along each of its elements, or in fast mode along one random
direction; a complex one along the imaginary axis, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mt_core.api import _functions as ops
from mt_core.tensor import Tensor
from mt_core.transforms.vmapping import vmap

from . import forward_ad, tangents
from .func.custom_functions import calling_plainly
from .func.directions import jvp

__all__ = ["ForwardCheck"]


class ForwardCheck:
    """The tangents of a function's outputs, each with the shape and dtype of its output.

    Parameters
    ----------
    outputs_of
        Inputs -> the outputs to look at.
    inputs, checked
        All inputs, and those that are moved.
    eps
        The step of differences.
    """

    def __init__(
        self, outputs_of: Callable[..., Sequence[Tensor]], inputs: Sequence[Any], checked: Sequence[Tensor], eps: float
    ) -> None:
        self.outputs_of = outputs_of
        self.inputs = inputs
        self.checked = checked
        self.eps = eps

    def along(self, directions: Sequence[Tensor | None]) -> list[Tensor]:
        """The tangents of the outputs, where the checked inputs have these tangents; None is no tangent at all.

        The function sees the level as one that a program has opened, ``torch.autograd.forward_ad.dual_level``.
        """
        with forward_ad.dual_level():
            level = forward_ad._number
            outputs = self.outputs_of(*self._dual_inputs(directions, level))
            found = [tangents.unpack(y, level) for y in outputs]
        return [ops.zeros_like(y).detach() if t is None else t.detach() for y, t in found]

    def _dual_inputs(self, directions: Sequence[Tensor | None], level: int) -> list[Any]:
        given = dict(zip(map(id, self.checked), directions, strict=True))
        duals = []
        for x in self.inputs:
            direction = given.get(id(x))
            value = x.detach() if id(x) in given else x  # tangents are looked at, not recorded
            duals.append(value if direction is None else tangents.make_dual(value, direction, level))
        return duals

    def differences(self, x: Tensor, direction: Tensor) -> list[Tensor]:
        """The central differences of the outputs where one input moves along a direction."""
        data = x.data
        original = data.clone()
        try:
            data.copy_(original + self.eps * direction)
            after = [y.detach().clone() for y in self.outputs_of(*self.inputs)]
            data.copy_(original - self.eps * direction)
            before = [y.detach().clone() for y in self.outputs_of(*self.inputs)]
        finally:
            data.copy_(original)
        return [(a - b) / (2 * self.eps) for a, b in zip(after, before, strict=True)]

    def jacobians(self, x: Tensor, directions: Sequence[Tensor]) -> Iterator[tuple[Tensor, Tensor]]:
        """Per output the tangents and the differences along the directions of one input, a row for each direction."""
        rows = []
        for direction in directions:
            only = [direction if x is other else ops.zeros_like(other).detach() for other in self.checked]
            rows.append((self.along(only), self.differences(x, direction)))
        for nr in range(len(rows[0][0]) if rows else 0):
            yield (
                ops.stack([found[nr].reshape(-1) for found, _ in rows]),
                ops.stack([wanted[nr].reshape(-1) for _, wanted in rows]),
            )

    def batches(self, x: Tensor, directions: Tensor) -> Iterator[tuple[Tensor, ...]]:
        """Per output the tangents along a batch of directions of one input: together under ``vmap``, then each."""

        def moved(value: Tensor) -> tuple[Tensor, ...]:
            return tuple(self.outputs_of(*[value if x is other else other for other in self.inputs]))

        def along(direction: Tensor) -> tuple[Tensor, ...]:
            tangents_of: tuple[Tensor, ...] = jvp(moved, (x.detach(),), (direction,))[1]
            return tangents_of

        with calling_plainly():
            return zip(vmap(along)(directions), *[along(direction) for direction in directions], strict=True)

    def undefined(self) -> Iterator[tuple[list[Tensor], list[Tensor]]]:
        """For each input the tangents along it, where the others have zeros, and where they have no tangent."""
        for x in self.checked:
            zeros = [ops.ones_like(x) if x is other else ops.zeros_like(other) for other in self.checked]
            yield self.along(zeros), self.along([d if x is o else None for d, o in zip(zeros, self.checked)])


def elements(x: Tensor) -> list[Tensor]:
    """The directions along each of a tensor's elements."""
    count = x.numel()
    unit = ops.eye(count, dtype=x.dtype, device=x.device)
    return [unit[i].reshape(x.shape) for i in range(count)]
