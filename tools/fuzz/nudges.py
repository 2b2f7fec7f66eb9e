"""Changes numbers in their last digits, to see whether an answer hangs on how they were rounded."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

__all__ = ["Nudge"]

#: Multiples of 1/4096 are taken to be exact: nobody rounds them otherwise.
_EXACT = 4096
#: Units in the last place.
_UNITS = 4


class Nudge:
    """Adds to, or takes from, each element a few units in the last place of itself, or of 1; some become zero.

    Numbers that are exact stay as they are, unless `whole` is set.
    """

    def __init__(self, torch: Any, seed: int, *, whole: bool = False) -> None:
        self.torch = torch
        self.random = random.Random(seed)
        self.whole = whole

    def __call__(self, values: Iterable[Any]) -> None:
        with self.torch.no_grad():
            for value in values:
                if isinstance(value, self.torch.Tensor) and value.dtype.is_floating_point and value.numel():
                    self._move(value)

    def _move(self, tensor: Any) -> None:
        apart = all(step or n == 1 for n, step in zip(tensor.shape, tensor.stride(), strict=True))
        if tensor.dtype.itemsize < 2 or not apart:
            return
        plain = tensor.detach().double()
        signs = [self.random.choice((-1.0, 1.0)) for _ in range(plain.numel())]
        unit = _UNITS * self.torch.finfo(tensor.dtype).eps
        moved = plain + self.torch.tensor(signs).double().reshape(plain.shape) * plain.abs().clamp(min=1.0) * unit
        if self.random.random() < 0.5:
            moved = self.torch.where(plain.abs() < 2 * unit, 0.0, moved)
        exact = (plain * _EXACT).frac() == 0
        if not exact.all():
            exact &= plain != 0  # a zero beside rounded numbers may be what is left of others
        stays = ~plain.isfinite() if self.whole else ~plain.isfinite() | exact
        # `.data` has a version of its own: nothing that is saved counts this as a write.
        tensor.data.copy_(self.torch.where(stays, plain, moved))
