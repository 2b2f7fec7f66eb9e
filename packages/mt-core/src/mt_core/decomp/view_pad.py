"""Padding with what the tensor itself holds.

Each dimension is read through an index that says which element a border shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..construct import from_data
from ..dispatch.registry import register_composite as composite
from ..resampling import bordered_map
from ._lines import mapped, spread

Ints = tuple[int, ...]


def _read(self: Any, pad: Ints, source: Callable[[int, int], int]) -> Any:
    result = self
    for i in range(len(pad) // 2):
        dim = self.dim() - 1 - i
        size = self.shape[dim]
        before, after = pad[2 * i], pad[2 * i + 1]
        if before or after:
            index = [source(j, size) for j in range(-before, size + after)]
            result = result.index_select(dim, from_data(index, dtypes.int64, self.device))
    return result


def _declare(name: str, spatial: int) -> None:
    """An operator and its derivative, whose rules settle refusals, shapes and layouts."""

    def maps(self: Any, padding: Ints) -> list[Any]:
        sizes = self.shape[self.dim() - spatial :]
        return [
            bordered_map(n, padding[2 * at], padding[2 * at + 1], name == "reflection")
            for n, at in zip(sizes, reversed(range(spatial)), strict=True)
        ]

    def pad(self: Any, padding: Ints) -> Any:
        return mapped(self, maps(self, padding))

    def backward(grad_output: Any, self: Any, padding: Ints) -> Any:
        return spread(grad_output, maps(self, padding), tuple(self.shape[self.dim() - spatial :]))

    composite(f"{name}_pad{spatial}d", explicit=True)(pad)
    composite(f"{name}_pad{spatial}d_backward", explicit=True)(backward)


for _spatial in (1, 2, 3):
    _declare("reflection", _spatial)
    _declare("replication", _spatial)


@composite("_pad_circular")
def pad_circular(self: Any, pad: Ints) -> Any:
    for i in range(len(pad) // 2):
        at = self.dim() - 1 - i
        if pad[2 * i] > self.shape[at] or pad[2 * i + 1] > self.shape[at]:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if pad[2 * i] + pad[2 * i + 1] + self.shape[at] < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
    made = _read(self, pad, lambda j, size: j % size)
    return self.clone() if made is self else made  # PyTorch fills a tensor of its own even where nothing is added


@composite("pad")
def pad(self: Any, pad: Ints, mode: str, value: float | None) -> Any:
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * self.dim():
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {self.dim()}"
        )
    if mode == "constant":
        return ops.constant_pad_nd(self, pad, 0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    spatial = len(pad) // 2
    if self.dim() in (spatial + 1, spatial + 2) and 1 <= spatial <= 3:
        if mode == "circular":
            return pad_circular(self, pad)
        if mode in ("reflect", "replicate"):
            return getattr(ops, f"{'reflection' if mode == 'reflect' else 'replication'}_pad{spatial}d")(self, pad)
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    raise NotImplementedError("Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now")
