"""Reductions made of other operators."""

from __future__ import annotations

import math
import warnings
from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..declarations._checks import COMPLEX, COMPLEX_HALF, FLOAT8, REAL, Supported
from ..dispatch.registry import register_composite as composite
from ..hollow import has_elements
from ..layout import broadcast_shapes
from ..promotion import result_type_of
from ..return_types import struct_sequence
from ..symbolic import SymInt
from ..tensor import wrap_dim
from ._numbers import divided, times

Ints = tuple[int, ...]


#: What has a smallest and a largest element.
_ORDERED = Supported("aminmax_cpu", REAL)
#: What nansum adds up, floating point after its NaNs are taken out.
_SUMMED = Supported("nansum_cpu", frozenset(dtypes.ALL_DTYPES) - FLOAT8 - COMPLEX - COMPLEX_HALF)


@composite("nansum", explicit=True)
def nansum(self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """self (*) -> without `dim`, or 1 there with `keepdim`."""
    if self.is_complex():
        raise RuntimeError("nansum on CPU does not support complex inputs")
    if not self.is_floating_point():
        return self.sum(dim, keepdim=keepdim, dtype=dtype)
    if self.numel():
        _SUMMED.require((), dtype or self.dtype)
    return self.masked_fill(self.isnan(), 0).sum(dim, keepdim=keepdim, dtype=dtype)


@composite("nanmean")
def nanmean(self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    _check_nanmean(self, dtype)
    return ops.nansum(self, dim, keepdim, dtype=dtype) / _count_of_numbers(self, dim, keepdim)


@composite("nanmean.out")
def nanmean_out(self: Any, dim: Any, keepdim: bool, dtype: Any, out: Any) -> Any:
    if not (self.is_floating_point() or self.is_complex()):
        raise RuntimeError(
            "nanmean(): integral types and 'Bool' are not supported for nanmean, even for empty tensors."
        )
    _check_nanmean(self, dtype)
    count = _count_of_numbers(self, dim, keepdim)
    return ops.nansum(self, dim, keepdim, dtype=dtype, out=out).div_(count)


def _count_of_numbers(self: Any, dim: Any, keepdim: bool) -> Any:
    return (~self.isnan()).sum(dim, keepdim=keepdim)


def _check_nanmean(self: Any, dtype: Any) -> None:
    if not (self.is_floating_point() or self.is_complex()):
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{dtypes.scalar_type_name(self.dtype)}"
        )
    if self.is_complex():
        raise RuntimeError("nansum on CPU does not support complex inputs")
    if dtype is not None and not dtype.is_floating_point and not dtype.is_complex:
        raise RuntimeError(
            "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. "
            f"Got: {dtypes.scalar_type_name(dtype)}"
        )


@composite("diff")
def diff(self: Any, n: int, dim: int, prepend: Any, append: Any) -> Any:
    """self (*, N, *), prepend and append of the same rank -> (*, N + added - n, *), along `dim`."""
    if not self.dim():
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if not n:
        return ops.zeros_like(self).copy_(self)  # PyTorch does not look at `dim` then
    at = wrap_dim(dim, self.dim())
    parts = [p for p in (prepend, self, append) if p is not None]
    for p in (prepend, append):
        if p is not None and p.dim() != self.dim():
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        if p is not None:
            _check_apart_from(at, self.shape, p.shape)
    current = ops.cat(parts, at) if len(parts) > 1 else self
    for _ in range(min(n, current.shape[at])):
        size = current.shape[at]
        upper, lower = current.narrow(at, 1, size - 1), current.narrow(at, 0, size - 1)
        current = upper.logical_xor(lower) if current.dtype is dtypes.bool else upper - lower
    return current  # self, where there is nothing to subtract


def _check_apart_from(dim: int, expected: tuple[int, ...], given: tuple[int, ...]) -> None:
    """Raise PyTorch's RuntimeError where what is joined to the input of `diff` has another size elsewhere."""
    for i, (size, other) in enumerate(zip(expected, given, strict=True)):
        if i != dim and size != other:
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input except along the "
                f"differencing dimension; input.size({i}) = {size}, but got tensor.size({i}) = {other}"
            )


@composite("aminmax", explicit=True)
def aminmax(self: Any, dim: int | None, keepdim: bool) -> Any:
    """self (*) -> smallest and largest (), or without `dim`, or 1 there with `keepdim`."""
    if dim is None and not self.numel():
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    if dim is not None:
        at = wrap_dim(dim, self.dim())
        if self.dim() and not self.shape[at]:
            raise IndexError(f"aminmax: Expected reduction dim {at} to have non-zero size.")
    if dim is not None and self.is_complex():
        raise RuntimeError(f"aminmax not implemented for {dtypes.scalar_type_name(self.dtype)}")
    if dim is None or self.dim():
        _ORDERED.require((), self.dtype)
    elif not self.is_complex():
        return struct_sequence("aminmax", ("min", "max"))((self.clone(), self.clone()))
    dims = () if dim is None else (dim,)
    pair = struct_sequence("aminmax", ("min", "max"))
    return pair((self.amin(dims, keepdim), self.amax(dims, keepdim)))


_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(self: Any, q: Any, dim: int | None, keepdim: bool, interpolation: str, skip_nan: bool) -> Any:
    if not self.numel():
        raise RuntimeError("quantile() input tensor must be non-empty")
    if q.dim() > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if self.dtype not in (dtypes.float32, dtypes.float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if self.dtype is not q.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if self.device != q.device:
        raise RuntimeError("quantile() q tensor must be on the same device as the input tensor")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
            f"{interpolation}"
        )
    if has_elements(q) and bool(((q < 0) | (q > 1)).any()):
        raise RuntimeError("quantile() q values must be in the range [0, 1]")
    if dim is not None:
        dim = wrap_dim(dim, self.dim())
    ordered = _ordered_last(self, dim)
    ordered = ordered.view((*_shape_over(self, dim, keepdim), ordered.shape[-1]))
    picked = _interpolated(ordered, (_ranks_of_numbers if skip_nan else _ranks)(ordered, q), interpolation)
    return picked.unsqueeze_(0).transpose_(0, -1).squeeze_(-1) if q.dim() else picked.squeeze_(-1)


def _ordered_last(self: Any, dim: int | None) -> Any:
    """The elements to choose from in ascending order: all of them, or those along `dim`, moved to the end."""
    if dim is None:
        return self.flatten().sort()[0]
    return (self if dim == self.dim() - 1 else self.unsqueeze(-1).transpose(dim, -1)).sort()[0]


def _shape_over(self: Any, dim: int | None, keepdim: bool) -> tuple[int, ...]:
    """The shape that is left when `dim`, or all, is reduced."""
    kept = (1,) if keepdim else ()
    if dim is None or not self.dim():
        return kept * self.dim()
    return (*self.shape[:dim], *kept, *self.shape[dim + 1 :])


def _ranks(ordered: Any, q: Any) -> Any:
    """Fractional positions; the last, where NaN is sorted to, for lines that have one."""
    last = ordered.shape[-1] - 1
    ranks, nan = times(q, last), ordered.isnan().any(-1, True)
    return ranks.expand(broadcast_shapes([tuple(ranks.shape), tuple(nan.shape)])).masked_fill(nan, last)


def _ranks_of_numbers(ordered: Any, q: Any) -> Any:
    """Fractional positions among the elements that are numbers; the first where none is."""
    ranks = q * (ordered.isnan().logical_not_().sum(-1, keepdim=True) - 1)
    return ranks.masked_fill_(ranks < 0, 0)


#: What these turn a fractional position into, in place; the others blend its two neighbours.
_ROUNDED = {"nearest": "round_", "lower": "floor_", "higher": "ceil_"}


def _interpolated(ordered: Any, ranks: Any, interpolation: str) -> Any:
    """Values at fractional positions of the last dimension."""
    if interpolation in _ROUNDED:
        return ordered.gather(-1, getattr(ranks, _ROUNDED[interpolation])().to(dtypes.int64))
    low = ranks.to(dtypes.int64)
    below = ordered.gather(-1, low)
    weight = ops.full_like(ranks, 0.5) if interpolation == "midpoint" else ranks - low
    return below.lerp_(ordered.gather(-1, ranks.ceil_().to(dtypes.int64)), weight)


def _as_level(self: Any, q: float) -> Any:
    if not 0 <= q <= 1:
        raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
    return ops.full((), q, dtype=self.dtype, device=self.device)


for _name, _skip in (("quantile", False), ("nanquantile", True)):
    composite(_name)(
        lambda self, q, dim, keepdim, interpolation, _skip=_skip: _quantile(self, q, dim, keepdim, interpolation, _skip)
    )
    composite(f"{_name}.scalar")(
        lambda self, q, dim, keepdim, interpolation, _skip=_skip: _quantile(
            self, _as_level(self, q), dim, keepdim, interpolation, _skip
        )
    )


def _neighbours(y: Any, dim: int) -> Any:
    size = y.shape[dim]
    return y.narrow(dim, 1, max(size - 1, 0)) + y.narrow(dim, 0, max(size - 1, 0))


def _steps(name: str, x: Any, y: Any, dim: int) -> Any:
    """Distances between sample points along `dim`: of y, or of x itself where it has no fewer dimensions."""
    if x.dim() == 1 and y.dim() != 1:
        if x.shape[0] != y.shape[dim]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = x.reshape([-1 if i == dim else 1 for i in range(y.dim())])
    elif x.dim() < y.dim():
        x = x.reshape((*(1,) * (y.dim() - x.dim()), *x.shape))
    return diff(x, 1, dim, None, None)


def _sample_dim(y: Any, dim: int) -> int:
    """`dim` of the samples, counted from the front; IndexError where y has none."""
    if y.dim() == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, y.dim())


def _cumulative_dim(y: Any, dim: int) -> int:
    if y.dim() == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    return wrap_dim(dim, y.dim())


def _check_spacing(name: str, dx: Any) -> None:
    if isinstance(dx, (complex, bool)):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")


def _without(y: Any, dim: int) -> Any:
    """Zeros in the shape of y without `dim`: the integral over no samples."""
    return y.new_zeros(tuple(n for i, n in enumerate(y.shape) if i != dim))


@composite("trapezoid.dx", "trapz.dx")
def trapezoid_dx(y: Any, dx: Any, dim: int) -> Any:
    """y (*, N, *) -> without `dim`."""
    dim = _sample_dim(y, dim)
    if y.shape[dim] == 0:
        return _without(y, dim)
    _check_spacing("trapezoid", dx)
    ends = y.select(dim, 0) + y.select(dim, -1)
    return times(y.sum(dim) - times(ends, 0.5), dx)


@composite("trapezoid.x", "trapz.x")
def trapezoid_x(y: Any, x: Any, dim: int) -> Any:
    """y (*, N, *) -> without `dim`."""
    dim = _sample_dim(y, wrap_dim(dim, y.dim()))
    if y.shape[dim] == 0:
        return _without(y, dim)
    return divided((_neighbours(y, dim) * _steps("trapezoid", x, y, dim)).sum(dim), 2.0)


@composite("cumulative_trapezoid.dx")
def cumulative_trapezoid_dx(y: Any, dx: Any, dim: int) -> Any:
    """y (*, N, *) -> (*, N - 1, *), along `dim`."""
    dim = _cumulative_dim(y, dim)
    if y.shape[dim] == 0:
        return times(y, 0.5)
    _check_spacing("cumulative_trapezoid", dx)
    return times(_neighbours(y, dim), dx / 2.0).cumsum(dim)


@composite("cumulative_trapezoid.x")
def cumulative_trapezoid_x(y: Any, x: Any, dim: int) -> Any:
    """y (*, N, *) -> (*, N - 1, *), along `dim`."""
    dim = _cumulative_dim(y, dim)
    if y.shape[dim] == 0:
        return divided(y.to(result_type_of([y, x])), 2.0)
    return divided((_neighbours(y, dim) * _steps("cumulative_trapezoid", x, y, dim)).cumsum(dim), 2.0)


def _check_weights(name: str, weights: Any, count: int) -> None:
    """Refuse weights of observations that are not one nonnegative number each, integral for frequencies."""
    if weights is None:
        return
    if weights.dim() > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.dim()} dimensions"
        )
    integral = weights.dtype.category < 2 and weights.dtype is not dtypes.bool
    if integral != (name == "fweights"):
        kind = "integral" if name == "fweights" else "floating point"
        raise RuntimeError(
            f"cov(): expected {name} to have {kind} dtype but got {name} with "
            f"{dtypes.scalar_type_name(weights.dtype)} dtype"
        )
    if weights.numel() != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{weights.numel()} != {count}"
        )
    if not weights.is_meta and bool((weights < 0).any()):
        raise RuntimeError(f"cov(): {name} cannot be negative")


def _warn_of_freedom() -> None:
    warnings.warn(
        "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.",
        UserWarning,
        stacklevel=4,
    )


@composite("cov")
def cov(self: Any, correction: int, fweights: Any, aweights: Any) -> Any:
    """self (V, N), fweights (N,), aweights (N,) -> (V, V); self (N,) -> ()."""
    if self.dim() > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {self.dim()} dimensions"
        )
    if self.dtype is dtypes.bool:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = self.reshape(1, -1) if self.dim() < 2 else self
    count = rows.shape[1]
    _check_weights("fweights", fweights, count)
    _check_weights("aweights", aweights, count)
    weights = fweights
    if aweights is not None:
        weights = aweights if weights is None else weights * aweights
    total: Any = count if weights is None else weights.sum()
    if count == 0:
        _warn_of_freedom()
        # Multiplied, not filled: it requires grad where the input does.
        return (rows.sum(1, keepdim=True).expand(rows.shape[0], rows.shape[0]) * math.nan).squeeze()
    mean = (rows if weights is None else rows * weights).sum(1) / total
    if weights is None:
        freedom: Any = count - correction
    elif correction == 0:
        freedom = total
    elif aweights is None:
        freedom = total - correction
    else:
        freedom = total - correction * (weights * aweights).sum() / total
    if not self.is_meta and bool(freedom <= 0):
        _warn_of_freedom()
    freedom = max(freedom, 0) if isinstance(freedom, (int, SymInt)) else freedom.clamp_min(0)
    centered = rows - mean.unsqueeze(1)
    other = (centered if weights is None else centered * weights).t()
    product = centered.mm((other.conj() if self.is_complex() else other).to(centered.dtype))
    return (product / freedom).squeeze()


@composite("corrcoef")
def corrcoef(self: Any) -> Any:
    """self (V, N) -> (V, V); self (N,) -> ()."""
    if self.dim() > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {self.dim()} dimensions"
        )
    matrix = cov(self, 1, None, None)
    if not matrix.dim():
        return matrix / matrix
    deviation = matrix.diagonal()
    deviation = (deviation.real if deviation.is_complex() else deviation).sqrt()
    scaled = matrix / deviation.unsqueeze(1) / deviation.unsqueeze(0)
    if scaled.is_complex():
        return ops.complex(scaled.real.clamp(-1, 1), scaled.imag.clamp(-1, 1))
    return scaled.clamp(-1, 1)


@composite("trace", explicit=True)
def trace(self: Any) -> Any:
    """self (M, N) -> ()."""
    if self.dim() != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {self.dim()}")
    if self.dtype is dtypes.bool:
        raise NotImplementedError("\"trace\" not implemented for 'Bool'")
    return self.diagonal().sum()


@composite("renorm", explicit=True)
def renorm(self: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    """self (*) -> (*): no slice of `dim` has a norm above `maxnorm`."""
    if self.dim() < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {self.dim()} dimensions")
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    at = wrap_dim(dim, self.dim())
    dims = tuple(i for i in range(self.dim()) if i != at)
    norm = ops.linalg_vector_norm(self, p, dims, True)
    factor = ops.where(norm > maxnorm, maxnorm / (norm + 1e-7), ops.ones((), dtype=norm.dtype, device=norm.device))
    return (self * factor.to(self.dtype)).contiguous()
