"""Histograms of points, and numerical differentiation, written in other operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..dispatch.registry import register_composite as composite
from ..tensor import wrap_dim

Ints = tuple[int, ...]


@composite("_histogramdd_from_bin_cts")
def from_bin_counts(self: Any, bins: Ints, range: Any, weight: Any, density: bool) -> Any:
    """self (*, D), weight (*) -> (bins[0], ..., bins[D - 1])."""
    return histogramdd(self, bins, range, weight, density)[0]


@composite("histogramdd")
def histogramdd(self: Any, bins: Ints, range: Any, weight: Any, density: bool) -> Any:
    """self (*, D), weight (*) -> counts (bins[0], ..., bins[D - 1]), D tensors of edges (bins[d] + 1,)."""
    edges = ops._histogramdd_bin_edges(self, bins, range=range, weight=weight, density=density)
    return histogramdd_edges(self, edges, None, weight, density)


@composite("histogramdd.int_bins")
def histogramdd_one_count(self: Any, bins: int, range: Any, weight: Any, density: bool) -> Any:
    """self (*, D), weight (*) -> counts (bins,) * D, D tensors of edges (bins + 1,)."""
    return histogramdd(self, (bins,) * (self.shape[-1] if self.dim() else 1), range, weight, density)


@composite("histogramdd.TensorList_bins")
def histogramdd_edges(self: Any, bins: Sequence[Any], range: Any, weight: Any, density: bool) -> Any:
    """self (*, D), D bins (B_d + 1,), weight (*) -> counts (B_1, ..., B_D), the bins."""
    return ops._histogramdd_from_bin_tensors(self, bins, weight=weight, density=density), tuple(bins)


# Numerical differentiation


def _dims(self: Any, dim: Any) -> Ints:
    """The dimensions that are meant, each once."""
    if dim is None:
        return tuple(range(self.dim()))
    dims = tuple(wrap_dim(d, self.dim()) for d in ((dim,) if isinstance(dim, int) else dim))
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return dims


def _check(self: Any, dims: Ints, edge_order: int) -> None:
    if self.dtype is dtypes.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    for d in dims:
        if self.shape[d] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")


def _check_count(self: Any, spacing: Sequence[Any], dim: Any, dims: Ints) -> None:
    if len(spacing) == len(dims):
        return
    if dim is None:
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = "
            f"{self.dim()}', since dim argument was not given, but got a list of length {len(spacing)}"
        )
    raise RuntimeError(
        "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have "
        "the same "
        f"length, but got a spacing argument of length {len(spacing)} and a dim argument of length {len(dims)}."
    )


def _pieces(values: Any, dim: int, *starts: int) -> list[Any]:
    """Stretches of one length along `dim`, beginning at the given places, as long as the last one can be."""
    length = values.shape[dim] - max(starts)
    return [values.narrow(dim, s, length) for s in starts]


def _points(values: Any, dim: int, *at: int) -> list[Any]:
    return [values.narrow(dim, i % values.shape[dim], 1) for i in at]


def _even(values: Any, spacing: Any, dim: int, edge_order: int) -> Any:
    """Differences for one distance between neighbours."""
    before, after = _pieces(values, dim, 0, 2)
    middle = (after - before) / (2 * spacing)
    if edge_order == 1:
        first, second, last_but_one, last = _points(values, dim, 0, 1, -2, -1)
        start, end = (second - first) / spacing, (last - last_but_one) / spacing
    else:
        a, b, c = _points(values, dim, 0, 1, 2)
        start = (-1.5 * a + 2 * b - 0.5 * c) / spacing
        a, b, c = _points(values, dim, -3, -2, -1)
        end = (0.5 * a - 2 * b + 1.5 * c) / spacing
    return ops.cat([start, middle, end], dim)


def _uneven(values: Any, coordinates: Any, dim: int, edge_order: int) -> Any:
    """Differences of second order for any coordinates (Fornberg 1988), at the ends of the order asked for."""
    if coordinates.dim() != 1:
        raise RuntimeError(
            f"torch.gradient expected each element of spacing to have one dimension, but got an element with "
            f"{coordinates.dim()} "
            "dimensions!"
        )
    x = coordinates.reshape([-1 if i == dim else 1 for i in range(values.dim())])
    step = x.narrow(dim, 1, x.shape[dim] - 1) - x.narrow(dim, 0, x.shape[dim] - 1)
    h, g = _pieces(step, dim, 0, 1)
    before, here, after = _pieces(values, dim, 0, 1, 2)
    middle = -g / (h * (h + g)) * before + (g - h) / (h * g) * here + h / (g * (h + g)) * after
    if edge_order == 1:
        first, second, last_but_one, last = _points(values, dim, 0, 1, -2, -1)
        start_step, end_step = _points(step, dim, 0, -1)
        start, end = (second - first) / start_step, (last - last_but_one) / end_step
    else:
        start = _one_sided(_points(values, dim, 0, 1, 2), *_points(step, dim, 0, 1))
        end = _one_sided(_points(values, dim, -1, -2, -3), *[-s for s in _points(step, dim, -1, -2)])
    return ops.cat([start, middle, end], dim)


def _one_sided(values: list[Any], h: Any, g: Any) -> Any:
    """Slope at the first of three points, h and g apart."""
    a, b, c = values
    return -(2 * h + g) / (h * (h + g)) * a + (h + g) / (h * g) * b - h / (g * (h + g)) * c


def _check_devices(self: Any, spacing: Sequence[Any]) -> None:
    elsewhere = [step.device for step in spacing if hasattr(step, "device") and step.device != self.device]
    if elsewhere:
        raise RuntimeError(
            "torch.gradient expected each tensor to be on the same device, but got devices "
            f"{self.device} and {elsewhere[0]}!"
        )


def _gradient(self: Any, spacing: Any, dim: Any, edge_order: int) -> Any:
    dims = _dims(self, dim)
    if not isinstance(spacing, (list, tuple)):
        spacing = [1 if spacing is None else spacing] * len(dims)
    _check_count(self, spacing, dim, dims)
    _check_devices(self, spacing)
    _check(self, dims, edge_order)
    return tuple(
        (_uneven if hasattr(step, "narrow") else _even)(self, step, d, edge_order)
        for d, step in zip(dims, spacing, strict=True)
    )


composite("gradient.array")(lambda self, dim, edge_order: _gradient(self, None, dim, edge_order))
for _overload in ("scalarint", "scalararray", "scalarrayint", "scalarrayarray", "tensorarrayint", "tensorarray"):
    composite(f"gradient.{_overload}")(_gradient)
