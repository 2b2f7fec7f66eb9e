"""Sequences and patterned matrices written in other operators."""

from __future__ import annotations

import math
import warnings
from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..dispatch.registry import register_composite as composite
from ..factories import check_options
from ..tensor_types import TENSORS


def _number(value: Any) -> Any:
    if value.__class__ not in TENSORS:
        return value
    if value.dim():
        raise RuntimeError(
            f"linspace only supports 0-dimensional start and end tensors, but got start with {value.dim()} "
            "dimension(s)."
        )
    return value.item()


@composite("linspace.Tensor_Tensor", "linspace.Tensor_Scalar", "linspace.Scalar_Tensor")
def linspace(start: Any, end: Any, steps: int, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    check_options(layout, pin_memory)
    return ops.linspace(_number(start), _number(end), steps, dtype=dtype, device=device)


@composite("logspace.Tensor_Tensor", "logspace.Tensor_Scalar", "logspace.Scalar_Tensor")
def logspace(
    start: Any, end: Any, steps: int, base: float, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Any:
    check_options(layout, pin_memory)
    return ops.logspace(_number(start), _number(end), steps, base, dtype=dtype, device=device)


@composite("range")
def range_(start: Any, end: Any, step: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    """-> (floor((end - start) / step) + 1,): the end is included."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
        stacklevel=3,
    )
    check_options(layout, pin_memory)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    count = math.floor((end - start) / step) + 1
    return ops.arange(
        start,
        start + step * (count - 0.5),
        step,
        dtype=dtype or dtypes.get_default_dtype(),
        device=device,
    )


@composite("diag")
def diag(self: Any, diagonal: int) -> Any:
    """self (N,) -> (N + |k|, N + |k|); self (M, N) -> (K,), the elements of the diagonal k."""
    if self.dim() == 1:
        return ops.diag_embed(self, diagonal, -2, -1)
    if self.dim() != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {self.dim()}D")
    return self.diagonal(diagonal).clone()


@composite("diag_embed", explicit=True)
def diag_embed(self: Any, offset: int, dim1: int, dim2: int) -> Any:
    """self (*, N) -> (*, N + |k|, N + |k|), its two last dimensions moved to dim1 and dim2."""
    ndim = self.dim() + 1
    for d in (dim1, dim2):
        if not -ndim <= d < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {d})")
    a, b = dim1 % ndim, dim2 % ndim
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = self.shape[-1] + abs(offset)
    shape = list(self.shape[:-1])
    for d in sorted((a, b)):
        shape.insert(d, size)
    whole = self.new_zeros(shape)
    whole.diagonal(offset, a, b).copy_(self)
    return whole


@composite("diagflat")
def diagflat(self: Any, offset: int) -> Any:
    """self (any shape, N elements) -> (N + |k|, N + |k|)."""
    return diag(self.reshape(-1), offset)


@composite("fill_diagonal_")
def fill_diagonal_(self: Any, fill_value: Any, wrap: bool) -> Any:
    if self.dim() < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.dim() > 2 and len(set(self.shape)) != 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    rows, columns = self.shape[0], self.shape[1]
    step = sum(self.stride())
    length = min(self.shape)
    self.as_strided((length,), (step,)).fill_(fill_value)
    if wrap and self.dim() == 2 and rows > columns + 1:
        start = self.stride(0) * (columns + 1)
        count = (self.numel() + columns) // (columns + 1) - length
        remaining = max((self.numel() - (columns + 1) * columns + columns) // (columns + 1), 0)
        self.as_strided((min(count, remaining),), (step,), self.storage_offset() + start).fill_(fill_value)
    return self


@composite("vander")
def vander(x: Any, N: int | None, increasing: bool) -> Any:
    """x (M,) -> (M, N): powers of x, falling from N - 1 unless `increasing`."""
    if x.dim() != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    if N is not None and N < 0:
        raise RuntimeError("N must be non-negative.")
    count = x.shape[0] if N is None else N
    numbers = x.to(dtypes.int64) if x.dtype is dtypes.bool else x
    powers = ops.linalg_vander(numbers, N=max(count, 1)).narrow(-1, 0, count)
    return powers if increasing else powers.flip((-1,))


@composite("fill.Scalar")
def fill(self: Any, value: Any) -> Any:
    return self.clone().fill_(value)


@composite("fill.Tensor")
def fill_tensor(self: Any, value: Any) -> Any:
    return self.clone().fill_(value)


# Windows (Harris 1978): cosine sums over `length` points, of which a periodic window drops the last.


def _points(window_length: int, periodic: bool, dtype: Any, device: Any) -> tuple[Any, int]:
    """(0, 1, ... as double, number of intervals of the symmetric window)."""
    d = dtype or dtypes.get_default_dtype()
    if not d.is_floating_point and not d.is_complex:
        raise RuntimeError("a window expects floating point dtypes, got: " + repr(d).removeprefix("torch."))
    if window_length < 0:
        raise RuntimeError(f"window requires non-negative window_length, got window_length={window_length}")
    total = window_length + 1 if periodic else window_length
    return ops.arange(window_length, dtype=dtypes.float64, device=device), max(total - 1, 1)


def _cosines(window_length: int, periodic: bool, weights: tuple[float, ...], dtype: Any, device: Any) -> Any:
    n, intervals = _points(window_length, periodic, dtype, device)
    d = dtype or dtypes.get_default_dtype()
    if window_length == 1:
        return ops.ones((1,), dtype=d, device=device)
    value: Any = weights[0] + sum(w * ops.cos(n * (2 * math.pi * k / intervals)) for k, w in enumerate(weights[1:], 1))
    return value.to(d)


_WEIGHTS = {"hann": (0.5, -0.5), "hamming": (0.54, -0.46), "blackman": (0.42, -0.5, 0.08)}


def _declare_window(name: str, weights: tuple[float, ...]) -> None:
    def periodic(window_length: int, periodic: bool, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
        check_options(layout, pin_memory)
        return _cosines(window_length, periodic, weights, dtype, device)

    def default(window_length: int, *options: Any) -> Any:
        return periodic(window_length, True, *options)

    composite(f"{name}_window.periodic")(periodic)
    composite(f"{name}_window")(default)


for _name, _weights in _WEIGHTS.items():
    _declare_window(_name, _weights)


@composite("bartlett_window.periodic")
def bartlett_window(window_length: int, periodic: bool, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    check_options(layout, pin_memory)
    n, intervals = _points(window_length, periodic, dtype, device)
    d = dtype or dtypes.get_default_dtype()
    if window_length == 1:
        return ops.ones((1,), dtype=d, device=device)
    return (1 - (2 * n / intervals - 1).abs()).to(d)


@composite("bartlett_window")
def bartlett_window_periodic(window_length: int, *options: Any) -> Any:
    return bartlett_window(window_length, True, *options)
