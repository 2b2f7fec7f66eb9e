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


def _reflected(j: int, size: int) -> int:
    if j < 0:
        return -j
    return 2 * (size - 1) - j if j >= size else j


def _check(self: Any, pad: Ints, spatial: int, name: str) -> None:
    if len(pad) != 2 * spatial:
        raise RuntimeError(f"padding size is expected to be {2 * spatial}, but got: {len(pad)}")
    if self.dim() not in (spatial + 1, spatial + 2):
        raise RuntimeError(
            f"Expected {spatial + 1}D or {spatial + 2}D (batch mode) tensor with possibly 0 batch size and other "
            f"non-zero dimensions for input, but got: {list(self.shape)}"
        )
    for i in range(spatial):
        at = self.dim() - 1 - i
        size, before, after = self.shape[at], pad[2 * i], pad[2 * i + 1]
        if name == "reflection" and (before >= size or after >= size):
            raise RuntimeError(
                f"Argument #{4 + 2 * i}: Padding size should be less than the corresponding input dimension, but "
                f"got: padding ({before}, {after}) at dimension {at} of input {list(self.shape)}"
            )
        if size + before + after < 1:
            raise RuntimeError(
                f"input ({_letters(self, i)}: {size}) is too small. Calculated output {_letters(self, i)}: "
                f"{size + before + after}"
            )


def _letters(self: Any, i: int) -> str:
    return ("W", "H", "D")[i]


def _declare(name: str, spatial: int, source: Callable[[int, int], int]) -> None:
    def pad(self: Any, padding: Ints) -> Any:
        _check(self, padding, spatial, name)
        return _read(self, padding, source)

    composite(f"{name}_pad{spatial}d")(pad)


for _spatial in (1, 2, 3):
    _declare("reflection", _spatial, _reflected)
    _declare("replication", _spatial, lambda j, size: min(max(j, 0), size - 1))


@composite("_pad_circular")
def pad_circular(self: Any, pad: Ints) -> Any:
    for i in range(len(pad) // 2):
        at = self.dim() - 1 - i
        if pad[2 * i] > self.shape[at] or pad[2 * i + 1] > self.shape[at]:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if pad[2 * i] + pad[2 * i + 1] + self.shape[at] < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
    return _read(self, pad, lambda j, size: j % size)


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
