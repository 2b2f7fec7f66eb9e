"""Sequences and patterned matrices written in other operators."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..dispatch.registry import register_composite as composite
from ..dtypes import dtype
from ..factories import check_options
from ..hollow import has_elements
from ..tensor_types import TENSORS
from .linalg import vander as vander_matrix


def _ends(name: str, start: Any, end: Any) -> tuple[Any, Any]:
    """Both ends as numbers.

    Raises
    ------
    RuntimeError
        Where one is a tensor that has dimensions.
    """
    given = [(side, value) for side, value in (("start", start), ("end", end)) if value.__class__ in TENSORS]
    if any(value.dim() for _, value in given):
        found = " and ".join(f"{side} with {value.dim()} dimension(s)" for side, value in given)
        raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got {found}.")
    first, last = (_number(value) if value.__class__ in TENSORS else value for value in (start, end))
    return first, last


def _where(device: Any, *ends: Any) -> Any:
    """The device asked for; without one, the meta device where an end has no element, so that the result has none."""
    hollow = [end for end in ends if end.__class__ in TENSORS and not has_elements(end)]
    return hollow[0].device if device is None and hollow else device


def _number(value: Any) -> Any:
    """The element of a tensor; of one without elements, a number of its kind."""
    if has_elements(value):
        return value.item()
    return 0j if value.is_complex() else 0.0 if value.is_floating_point() else 0


@composite("linspace.Tensor_Tensor", "linspace.Tensor_Scalar", "linspace.Scalar_Tensor")
def linspace(start: Any, end: Any, steps: int, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    check_options(layout, pin_memory)
    first, last = _ends("linspace", start, end)
    return ops.linspace(first, last, steps, dtype=dtype, device=_where(device, start, end))


@composite("logspace.Tensor_Tensor", "logspace.Tensor_Scalar", "logspace.Scalar_Tensor")
def logspace(
    start: Any, end: Any, steps: int, base: float, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Any:
    check_options(layout, pin_memory)
    first, last = _ends("logspace", start, end)
    return ops.logspace(first, last, steps, base, dtype=dtype, device=_where(device, start, end))


@composite("diag")
def diag(self: Any, diagonal: int) -> Any:
    """self (N,) -> (N + |k|, N + |k|); self (M, N) -> (K,), the elements of the diagonal k."""
    if self.dim() == 1:
        return ops.diag_embed(self, diagonal, -2, -1)
    if self.dim() != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {self.dim()}D")
    return ops.diagonal_copy(self, diagonal)


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
    if self.dim() > 2 and any(size != self.shape[0] for size in self.shape[1:]):
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
    d = dtypes.promote_types(x.dtype, dtypes.int64)
    if count < 2:
        return x.new_ones((x.shape[0], count), dtype=d)
    if not increasing:
        return vander_matrix(x.to(d), count).flip((-1,))
    powers = x.new_empty((x.shape[0], count), dtype=d)
    powers.select(1, 0).fill_(1)
    rest = powers.narrow(1, 1, count - 1)
    rest.copy_(x.unsqueeze(-1))
    rest.copy_(rest.cumprod(1))
    return powers


@composite("fill.Scalar", explicit=True)
def fill(self: Any, value: Any) -> Any:
    return self.clone().fill_(value)


@composite("fill.Tensor", explicit=True)
def fill_tensor(self: Any, value: Any) -> Any:
    return self.clone().fill_(value)


# Windows (Harris 1978): cosine sums over `length` points, of which a periodic window drops the last.


def _window(name: str, of: Callable[..., Any], *defaults: Any) -> Callable[..., Any]:
    """A window in the dtype asked for; `of` gets points, the number of intervals, and the parameters after `periodic`.

    `defaults` are those of ``periodic`` and of what comes after it.
    """

    def window(window_length: int, *rest: Any) -> Any:
        given, (dtype, layout, device, pin_memory) = rest[:-4], rest[-4:]
        periodic, *parameters = (*given, *defaults[len(given) :])
        check_options(layout, pin_memory)
        d = dtype or dtypes.get_default_dtype()
        if not d.is_floating_point and not d.is_complex:
            raise RuntimeError(f"{name} expects floating point dtypes, got: {_options_text(d, device)}")
        if window_length < 0:
            raise RuntimeError(f"{name} requires non-negative window_length, got window_length={window_length}")
        if window_length < 2:
            return ops.ones((window_length,), dtype=d, device=device)
        total = window_length + 1 if periodic else window_length
        whole = of(ops.arange(total, dtype=d, device=device), total - 1, *parameters)
        return whole.narrow(0, 0, window_length).detach() if periodic else whole

    return window


def _options_text(d: dtype, device: Any) -> str:
    """A factory's options as PyTorch writes them."""
    place = device or "cpu"
    return (
        f"TensorOptions(dtype={dtypes.cpp_type_name(d)}, device={place}, layout=Strided (default), "
        "requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt))"
    )


def _cosines(*weights: float) -> Callable[[Any, int], Any]:
    """A sum of cosines of whole numbers of turns, from none up, with these weights."""

    def of(points: Any, intervals: int) -> Any:
        turns = ((w, 2 * math.pi * k / intervals) for k, w in enumerate(weights[1:], 1))
        return weights[0] + sum(w * ops.cos(points * angle) for w, angle in turns)

    return of


def _triangle(points: Any, intervals: int) -> Any:
    return 1 - (points * (2 / intervals) - 1).abs()


def _kaiser(points: Any, intervals: int, beta: float) -> Any:
    """I0(beta sqrt(1 - x**2)) / I0(beta), x from -1 to 1 (Kaiser and Schafer 1980)."""
    places = points.to(points.dtype.compute) * (2 / intervals) - 1
    height = ops.special_i0(places.new_full((), beta))
    return (ops.special_i0(beta * ops.sqrt(1 - places.square())) / height).to(points.dtype)


for _name, _of in (
    ("hann", _cosines(0.5, -0.5)), ("hamming", _cosines(0.54, -0.46)), ("blackman", _cosines(0.42, -0.5, 0.08)),
    ("bartlett", _triangle),
):  # fmt: skip
    composite(f"{_name}_window", f"{_name}_window.periodic")(_window(f"{_name}_window", _of, True))
composite("kaiser_window", "kaiser_window.periodic", "kaiser_window.beta")(
    _window("kaiser_window", _kaiser, True, 12.0)
)
