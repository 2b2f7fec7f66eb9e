"""Padding with what the tensor itself holds."""

from __future__ import annotations

from typing import Any

from ..api import _functions as ops
from ..dispatch.registry import register_composite as composite
from ..resampling import bordered_map
from ._lines import mapped, spread

Ints = tuple[int, ...]


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
    last = self.dim() - 1
    sides = [(last - i, pad[2 * i], pad[2 * i + 1]) for i in range(len(pad) // 2)]
    shape = list(self.shape)
    for at, before, after in sides:
        shape[at] += before + after
    made = self.new_empty(shape)
    inside, shown = made, self
    for at, before, after in sides:
        inside = _cut(inside, at, max(before, 0), max(after, 0))
        shown = _cut(shown, at, max(-before, 0), max(-after, 0))
    inside.copy_(shown)
    for at, before, after in sides:
        _wrap(made, at, before, after)
    return made


def _cut(self: Any, dim: int, before: int, after: int) -> Any:
    """A view without so many elements at either side of a dimension."""
    return self.narrow(dim, before, self.shape[dim] - before - after)


def _wrap(made: Any, dim: int, before: int, after: int) -> None:
    """Fill the borders of a dimension, in place, with what lies at the other side of its inside."""
    size, begin = made.shape[dim], max(before, 0)
    end = size - max(after, 0)
    if before > 0:
        made.narrow(dim, 0, before).copy_(made.narrow(dim, end - before, before))
    if after > 0:
        made.narrow(dim, end, after).copy_(made.narrow(dim, begin, after))


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
    raise NotImplementedError(
        f"Padding size {len(pad)} is not supported for {self.dim()}D input tensor.\n"
        "Supported combinations for non-constant padding:\n"
        "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
        "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
        "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
    )
