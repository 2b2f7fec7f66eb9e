"""``torch.masked``: reductions and normalizations over the elements that a mask selects.

Every function takes a strided tensor and a bool ``mask`` (true: takes part) that broadcasts to it; without one it is
the ordinary function. Where nothing is selected a reduction gives its identity (0 for `sum`, -inf for `amax`) or NaN.
A masked tensor is taken as its elements and its mask, beside which `mask` selects; what is given back is ordinary.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import mt_core as mt
from mt_core.tensor import wrap_dim

from .._compound.parts import elements

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median",
    "norm",
    "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip

_bool = bool


#: Functions that keep the shape, and those that reduce; what both names take before ``dim``.
_KEEPING = frozenset("cumprod cumsum log_softmax normalize softmax softmin".split())
_REDUCING = frozenset("amax amin argmax argmin logsumexp mean median norm prod std sum var".split())
_BEFORE_DIM = {"norm": 1, "normalize": 1}


def _canonical_dim(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions that ``dim`` names, counted from the front and sorted; None and ``()`` name all, ``[]`` none.

    Raises
    ------
    IndexError, RuntimeError
        Out of range, or named twice.
    """
    if dim is None or dim == ():
        return tuple(range(ndim))
    named: list[int] = []
    for given in (dim,) if isinstance(dim, int) else dim:
        place = wrap_dim(given, ndim)
        if place in named:
            raise RuntimeError(f"dim={place} appears multiple times in the list of dims")
        named.append(place)
    return tuple(sorted(named))


def _first_dim(input: mt.Tensor, dim: Any) -> int:
    """The dimension along which a function of one runs: the first of those named."""
    return _canonical_dim(dim, input.dim())[0]


def _dims(input: mt.Tensor, dim: Any) -> tuple[int, ...]:
    return _canonical_dim(dim, input.dim()) if input.dim() or dim is not None else ()


def _of_masked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: take a masked tensor for its elements and mask."""

    @functools.wraps(function)
    def call(input: Any, *args: Any, mask: Any = None, **kwargs: Any) -> Any:
        own = getattr(getattr(input, "_array", None), "mask", None) if isinstance(input, mt.Tensor) else None
        if own is not None:
            if input.layout is not mt.strided:
                input = input.to_dense()
                own = input._array.mask
            mask = own if mask is None else own & _input_mask(own, mask=mask)
            input = elements(input)
        return function(input, *args, mask=mask, **kwargs)

    return call


def _input_mask(input: mt.Tensor, *args: Any, **kwargs: Any) -> mt.Tensor:
    """The mask of a call, as bool and of the input's shape.

    Raises
    ------
    ValueError, IndexError, RuntimeError
        Without ``mask=``, and where it does not broadcast to the input.
    """
    mask = kwargs.get("mask")
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    if mask.dim() > input.dim():
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    return mask.to(mt.bool) if mask.shape == input.shape else mask.to(mt.bool).expand(input.shape)


def _output_mask(op: Any, input: mt.Tensor, *args: Any, **kwargs: Any) -> mt.Tensor:
    """Which elements of the result of a function of this module come of any that the mask selects.

    Raises
    ------
    ValueError
        Of other functions, and without ``mask=``.
    """
    name = op.__name__
    if name not in _KEEPING | _REDUCING:
        raise ValueError(f"_output_mask expected masked operation (got callable {op.__module__}.{name})")
    selected = _input_mask(input, *args, **kwargs)
    if name in _KEEPING:
        return selected
    at = _BEFORE_DIM.get(name, 0)
    dims = _canonical_dim(args[at] if len(args) > at else kwargs.get("dim"), input.dim())
    return mt.any(selected, dims, kwargs.get("keepdim", False)) if input.dim() else selected


def _neutral(name: str, input: mt.Tensor, args: tuple[Any, ...]) -> float | int:
    """What stands in place of elements that are not selected, for a reduction of a name.

    Raises
    ------
    NotImplementedError
        Where there is no such number.
    """
    if name in ("sum", "cumsum"):
        return 0
    if name in ("prod", "cumprod"):
        return 1
    if name in ("amax", "argmax", "logaddexp", "amin", "argmin", "logsumexp"):
        if not input.is_floating_point() and name == "logsumexp":
            return mt.iinfo(input.dtype).min
        return _bound(input, True, name, name not in ("amin", "argmin"))  # type: ignore[no-any-return]
    if name == "norm":
        return math.inf if args and args[0] == -math.inf else 0
    if name == "median" and input.is_floating_point():
        return math.nan
    raise NotImplementedError(f"identity of {name} on {input.dtype} input")


def _combine_input_and_mask(op: Any, input: Any, mask: Any, *args: Any) -> Any:
    """The elements that a mask selects, and what leaves a reduction as it is in place of the others.

    A tensor of a sparse layout becomes its elements at the indices of the mask. Without a mask, that of a masked tensor
    counts, and an ordinary one is returned as it is.

    Raises
    ------
    NotImplementedError
        For functions that no number leaves as they are.
    """
    own = getattr(getattr(input, "_array", None), "mask", None)
    if own is not None:
        dense = input if input.layout is mt.strided else input.to_dense()
        input, own = elements(dense), dense._array.mask
        mask = own if mask is None else own & _input_mask(own, mask=mask)
    if mask is None:
        return input
    if input.layout is not mt.strided:
        return input.sparse_mask(mask.to_sparse(layout=input.layout) if mask.layout is not input.layout else mask)
    return _filled(input, mask, _neutral(op.__name__, input, args))


def _result_dtype(input: mt.Tensor, dtype: Any, integers_widen: _bool = False) -> mt.dtype:
    if dtype is not None:
        return dtype
    if integers_widen and not (input.is_floating_point() or input.is_complex()):
        return mt.int64
    return input.dtype


def _mask(input: mt.Tensor, mask: mt.Tensor | None) -> mt.Tensor | None:
    """The mask as bool, of the input's shape."""
    if mask is None:
        return None
    return mask.to(mt.bool).expand(input.shape) if mask.dim() <= input.dim() else mask.to(mt.bool)


def _filled(input: mt.Tensor, mask: mt.Tensor | None, value: float | int) -> mt.Tensor:
    selected = _mask(input, mask)
    return (
        input
        if selected is None
        else mt.where(selected, input, mt.full((), value, dtype=input.dtype, device=input.device))
    )


def _bound(input: mt.Tensor, mask: Any, name: str, lowest: _bool) -> Any:
    """What loses against every element: the lowest or the highest value of the dtype.

    Raises
    ------
    NotImplementedError
        For truth values, with a mask.
    """
    d = input.dtype
    if mask is None or d.is_complex:  # not asked for, or refused by the function itself
        return 0
    if d is mt.bool:
        raise NotImplementedError(f"identity of {name} on {d} input")
    if d.is_floating_point:
        return -math.inf if lowest else math.inf
    return mt.iinfo(d).min if lowest else mt.iinfo(d).max


@_of_masked
def sum(input: mt.Tensor, dim: Any = None, *, keepdim: _bool = False, dtype: Any = None, mask: Any = None) -> mt.Tensor:
    """Sum of the selected elements; 0 where there is none."""
    d = _result_dtype(input, dtype, integers_widen=True)
    return (
        mt.sum(_filled(input.to(d), mask, 0), _dims(input, dim), keepdim, dtype=d)
        if input.dim()
        else _filled(input.to(d), mask, 0)
    )


@_of_masked
def prod(
    input: mt.Tensor, dim: Any = None, *, keepdim: _bool = False, dtype: Any = None, mask: Any = None
) -> mt.Tensor:
    """Product of the selected elements; 1 where there is none."""
    d = _result_dtype(input, dtype, integers_widen=True)
    result = _filled(input.to(d), mask, 1)
    for axis in reversed(_dims(input, dim)):
        result = result.prod(axis, keepdim=keepdim)
    return result.to(d)


@_of_masked
def amax(
    input: mt.Tensor, dim: Any = None, *, keepdim: _bool = False, dtype: Any = None, mask: Any = None
) -> mt.Tensor:
    """Largest selected element; the lowest value of the dtype where there is none."""
    d = _result_dtype(input, dtype)
    return _filled(input, mask, _bound(input, mask, "amax", True)).amax(_dims(input, dim), keepdim).to(d)


@_of_masked
def amin(
    input: mt.Tensor, dim: Any = None, *, keepdim: _bool = False, dtype: Any = None, mask: Any = None
) -> mt.Tensor:
    """Smallest selected element; the highest value of the dtype where there is none."""
    d = _result_dtype(input, dtype)
    return _filled(input, mask, _bound(input, mask, "amin", False)).amin(_dims(input, dim), keepdim).to(d)


@_of_masked
def argmax(
    input: mt.Tensor, dim: int | None = None, *, keepdim: _bool = False, dtype: Any = None, mask: Any = None
) -> mt.Tensor:
    """Index of the largest selected element, in the input's dtype unless another is given, as in PyTorch."""
    d = _result_dtype(input, dtype)
    return mt.argmax(_filled(input, mask, _bound(input, mask, "argmax", True)), dim, keepdim).to(d)


@_of_masked
def argmin(
    input: mt.Tensor, dim: int | None = None, *, keepdim: _bool = False, dtype: Any = None, mask: Any = None
) -> mt.Tensor:
    """Index of the smallest selected element, in the input's dtype unless another is given, as in PyTorch."""
    d = _result_dtype(input, dtype)
    return mt.argmin(_filled(input, mask, _bound(input, mask, "argmin", False)), dim, keepdim).to(d)


def _count(input: mt.Tensor, dims: tuple[int, ...], keepdim: _bool, mask: Any) -> Any:
    selected = _mask(input, mask)
    ones = mt.ones(input.shape, dtype=mt.int64, device=input.device) if selected is None else selected.to(mt.int64)
    return ones.sum(dims, keepdim) if input.dim() else ones


def _require_floating(input: mt.Tensor, dtype: Any, name: str) -> mt.dtype:
    d = _result_dtype(input, dtype)
    if not (d.is_floating_point or d.is_complex):
        whose = "Input" if dtype is None else "Optional"
        raise ValueError(
            f"{name}(): Could not infer output dtype. {whose} dtype must be either a floating point or complex dtype. "
            f"Got: {d}"
        )
    return d


@_of_masked
def mean(
    input: mt.Tensor, dim: Any = None, *, keepdim: _bool = False, dtype: Any = None, mask: Any = None
) -> mt.Tensor:
    """Mean of the selected elements; NaN where there is none."""
    d = _require_floating(input, dtype, "mean")
    dims = _dims(input, dim)
    return (sum(input, dims, keepdim=keepdim, dtype=d, mask=mask) / _count(input, dims, keepdim, mask)).to(d)


@_of_masked
def median(
    input: mt.Tensor, dim: int = -1, *, keepdim: _bool = False, dtype: Any = None, mask: Any = None
) -> mt.Tensor:
    """Lower middle of the selected elements; NaN where there is none."""
    d, dim = _result_dtype(input, dtype), _first_dim(input, dim)
    if mask is None:
        return input.to(d).nanmedian(dim, keepdim)[0] if d.is_floating_point else input.median(dim, keepdim)[0]
    if not d.is_floating_point:
        raise ValueError(f"masked median expects no fully masked out rows if dtype is not floating point, got {d}")
    return _filled(input.to(d), mask, math.nan).nanmedian(dim, keepdim)[0]


@_of_masked
def logsumexp(
    input: mt.Tensor, dim: Any = None, *, keepdim: _bool = False, dtype: Any = None, mask: Any = None
) -> mt.Tensor:
    """log(sum(exp(x))) of the selected elements; -inf where there is none."""
    d = _result_dtype(input, dtype)
    values = input if input.dtype.category >= 2 else input.to(mt.get_default_dtype())
    return mt.logsumexp(_filled(values, mask, -math.inf), _dims(input, dim), keepdim).to(d)


def logaddexp(
    input: mt.Tensor, other: mt.Tensor, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None
) -> mt.Tensor:
    """log(exp(x) + exp(y)), an element that is not selected counting as -inf."""
    d = _result_dtype(input, dtype)
    return mt.logaddexp(_filled(input.to(d), input_mask, -math.inf), _filled(other.to(d), other_mask, -math.inf))


@_of_masked
def norm(
    input: mt.Tensor,
    ord: float | None = 2.0,
    dim: Any = None,
    *,
    keepdim: _bool = False,
    dtype: Any = None,
    mask: Any = None,
) -> mt.Tensor:
    """Vector norm of the selected elements; 0 (inf for negative orders) where there is none."""
    d = _result_dtype(input, dtype)
    order = 2.0 if ord is None else ord
    neutral = math.inf if order < 0 and input.dtype.category >= 2 else 0
    return mt.linalg_vector_norm(_filled(input, mask, neutral), order, _dims(input, dim), keepdim, dtype=d)


def _variance(
    input: mt.Tensor, dim: Any, unbiased: Any, correction: Any, keepdim: _bool, dtype: Any, mask: Any
) -> mt.Tensor:
    d = _result_dtype(input, dtype)
    if dtype is None and d.category < 2:
        d = mt.get_default_dtype()
    computed = d if d.category >= 2 else mt.get_default_dtype()
    if unbiased is not None and correction is not None:
        raise ValueError("Only one of unbiased and correction may be given")
    taken = (1 if unbiased is None else int(unbiased)) if correction is None else correction
    dims = _dims(input, dim)
    center = sum(input, dims, keepdim=True, dtype=computed, mask=mask) / _count(input, dims, True, mask)
    distance = input - center
    total = sum(distance * distance.conj(), dims, keepdim=keepdim, dtype=computed, mask=mask)
    freedom = (_count(input, dims, keepdim, mask) - taken).clamp_min(0)
    return (total / freedom).to(d)


@_of_masked
def var(
    input: mt.Tensor, dim: Any = None, unbiased: _bool | None = None, *, correction: float | None = None,
    keepdim: _bool = False,
    dtype: Any = None, mask: Any = None,
) -> mt.Tensor:  # fmt: skip
    """Variance of the selected elements; NaN where too few are."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask)


@_of_masked
def std(
    input: mt.Tensor, dim: Any = None, unbiased: _bool | None = None, *, correction: int | None = None,
    keepdim: _bool = False,
    dtype: Any = None, mask: Any = None,
) -> mt.Tensor:  # fmt: skip
    """Standard deviation of the selected elements; NaN where too few are."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()


@_of_masked
def cumsum(input: mt.Tensor, dim: int, *, dtype: Any = None, mask: Any = None) -> mt.Tensor:
    """Running sum, elements that are not selected counting as 0."""
    d = _result_dtype(input, dtype, integers_widen=True)
    return mt.cumsum(_filled(input.to(d), mask, 0), _first_dim(input, dim))


@_of_masked
def cumprod(input: mt.Tensor, dim: int, *, dtype: Any = None, mask: Any = None) -> mt.Tensor:
    """Running product, elements that are not selected counting as 1."""
    d = _result_dtype(input, dtype, integers_widen=True)
    return mt.cumprod(_filled(input.to(d), mask, 1), _first_dim(input, dim))


@_of_masked
def softmax(input: mt.Tensor, dim: int, *, dtype: Any = None, mask: Any = None) -> mt.Tensor:
    """Softmax over the selected elements, 0 elsewhere; NaN where there is none."""
    d = _result_dtype(input, dtype)
    return mt.softmax(_filled(input.to(d), mask, -math.inf), _first_dim(input, dim))


@_of_masked
def log_softmax(input: mt.Tensor, dim: int, *, dtype: Any = None, mask: Any = None) -> mt.Tensor:
    """Log of `softmax`."""
    d = _result_dtype(input, dtype)
    return mt.log_softmax(_filled(input.to(d), mask, -math.inf), _first_dim(input, dim))


@_of_masked
def softmin(input: mt.Tensor, dim: int, *, dtype: Any = None, mask: Any = None) -> mt.Tensor:
    """Softmax of the negated selected elements."""
    d = _result_dtype(input, dtype)
    return mt.softmax(-_filled(input.to(d), mask, math.inf), _first_dim(input, dim))


@_of_masked
def normalize(
    input: mt.Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Any = None
) -> mt.Tensor:
    """Selected elements divided by their norm, at least `eps`."""
    d = _require_floating(input, dtype, "normalize")
    values = _filled(input.to(d), mask, 0)
    return values / norm(input, ord, dim, keepdim=True, dtype=d, mask=mask).clamp_min(eps)
