"""``torch.masked``: reductions and normalizations over the elements that a mask selects.

Every function takes a strided tensor and a bool ``mask`` (true: takes part) that broadcasts to it; without one it is
the ordinary function. Where nothing is selected a reduction gives its identity (0 for `sum`, -inf for `amax`) or NaN.
`MaskedTensor` is not provided.
"""

import math
from typing import Any

import mt_core as mt
from mt_core.shape_rules.reduction import reduced_dims

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median",
    "norm",
    "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip

_bool = bool


def _dims(input: mt.Tensor, dim: Any) -> tuple[int, ...]:
    return reduced_dims(dim, input.dim())


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


def _lowest(d: mt.dtype) -> Any:
    if d.is_floating_point:
        return -math.inf
    return 0 if d is mt.bool else mt.iinfo(d).min


def _highest(d: mt.dtype) -> Any:
    if d.is_floating_point:
        return math.inf
    return 1 if d is mt.bool else mt.iinfo(d).max


def sum(input: mt.Tensor, dim: Any = None, *, keepdim: _bool = False, dtype: Any = None, mask: Any = None) -> mt.Tensor:
    """Sum of the selected elements; 0 where there is none."""
    d = _result_dtype(input, dtype, integers_widen=True)
    return (
        mt.sum(_filled(input.to(d), mask, 0), _dims(input, dim), keepdim, dtype=d)
        if input.dim()
        else _filled(input.to(d), mask, 0)
    )


def prod(
    input: mt.Tensor, dim: Any = None, *, keepdim: _bool = False, dtype: Any = None, mask: Any = None
) -> mt.Tensor:
    """Product of the selected elements; 1 where there is none."""
    d = _result_dtype(input, dtype, integers_widen=True)
    result = _filled(input.to(d), mask, 1)
    for axis in reversed(_dims(input, dim)):
        result = result.prod(axis, keepdim=keepdim)
    return result.to(d)


def amax(
    input: mt.Tensor, dim: Any = None, *, keepdim: _bool = False, dtype: Any = None, mask: Any = None
) -> mt.Tensor:
    """Largest selected element; the lowest value of the dtype where there is none."""
    d = _result_dtype(input, dtype)
    return _filled(input, mask, _lowest(input.dtype)).amax(_dims(input, dim), keepdim).to(d)


def amin(
    input: mt.Tensor, dim: Any = None, *, keepdim: _bool = False, dtype: Any = None, mask: Any = None
) -> mt.Tensor:
    """Smallest selected element; the highest value of the dtype where there is none."""
    d = _result_dtype(input, dtype)
    return _filled(input, mask, _highest(input.dtype)).amin(_dims(input, dim), keepdim).to(d)


def argmax(
    input: mt.Tensor, dim: int | None = None, *, keepdim: _bool = False, dtype: Any = None, mask: Any = None
) -> mt.Tensor:
    """Index of the largest selected element, in the input's dtype unless another is given, as in PyTorch."""
    d = _result_dtype(input, dtype)
    return _filled(input, mask, _lowest(input.dtype)).argmax(dim, keepdim).to(d)


def argmin(
    input: mt.Tensor, dim: int | None = None, *, keepdim: _bool = False, dtype: Any = None, mask: Any = None
) -> mt.Tensor:
    """Index of the smallest selected element, in the input's dtype unless another is given, as in PyTorch."""
    d = _result_dtype(input, dtype)
    return _filled(input, mask, _highest(input.dtype)).argmin(dim, keepdim).to(d)


def _count(input: mt.Tensor, dims: tuple[int, ...], keepdim: _bool, mask: Any) -> Any:
    selected = _mask(input, mask)
    ones = mt.ones(input.shape, dtype=mt.int64, device=input.device) if selected is None else selected.to(mt.int64)
    return ones.sum(dims, keepdim) if input.dim() else ones


def _require_floating(input: mt.Tensor, dtype: Any, name: str) -> mt.dtype:
    d = _result_dtype(input, dtype)
    if not (d.is_floating_point or d.is_complex):
        raise ValueError(
            f"{name}(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {d}"
        )
    return d


def mean(
    input: mt.Tensor, dim: Any = None, *, keepdim: _bool = False, dtype: Any = None, mask: Any = None
) -> mt.Tensor:
    """Mean of the selected elements; NaN where there is none."""
    d = _require_floating(input, dtype, "mean")
    dims = _dims(input, dim)
    return (sum(input, dims, keepdim=keepdim, dtype=d, mask=mask) / _count(input, dims, keepdim, mask)).to(d)


def median(
    input: mt.Tensor, dim: int = -1, *, keepdim: _bool = False, dtype: Any = None, mask: Any = None
) -> mt.Tensor:
    """Lower middle of the selected elements; NaN where there is none."""
    d = _result_dtype(input, dtype)
    if mask is None:
        return input.to(d).nanmedian(dim, keepdim)[0] if d.is_floating_point else input.median(dim, keepdim)[0]
    if not d.is_floating_point:
        raise ValueError(f"masked median expects no fully masked out rows if dtype is not floating point, got {d}")
    return _filled(input.to(d), mask, math.nan).nanmedian(dim, keepdim)[0]


def logsumexp(
    input: mt.Tensor, dim: Any = None, *, keepdim: _bool = False, dtype: Any = None, mask: Any = None
) -> mt.Tensor:
    """log(sum(exp(x))) of the selected elements; -inf where there is none."""
    d = _result_dtype(input, dtype)
    values = input.to(d if d.category >= 2 else mt.get_default_dtype())
    return mt.logsumexp(_filled(values, mask, -math.inf), _dims(input, dim), keepdim).to(d)


def logaddexp(
    input: mt.Tensor, other: mt.Tensor, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None
) -> mt.Tensor:
    """log(exp(x) + exp(y)), an element that is not selected counting as -inf."""
    d = _result_dtype(input, dtype)
    return mt.logaddexp(_filled(input.to(d), input_mask, -math.inf), _filled(other.to(d), other_mask, -math.inf))


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
    d = _require_floating(input, dtype, "norm")
    order = 2.0 if ord is None else ord
    neutral = math.inf if order < 0 else 0
    return mt.linalg_vector_norm(_filled(input.to(d), mask, neutral), order, _dims(input, dim), keepdim)


def _variance(
    input: mt.Tensor, dim: Any, unbiased: Any, correction: Any, keepdim: _bool, dtype: Any, mask: Any
) -> mt.Tensor:
    d = _result_dtype(input, dtype)
    if not (d.is_floating_point or d.is_complex):
        d = mt.get_default_dtype()
    if unbiased is not None and correction is not None:
        raise ValueError("Only one of unbiased and correction may be given")
    taken = (1 if unbiased is None else int(unbiased)) if correction is None else correction
    dims = _dims(input, dim)
    values = input.to(d)
    center = sum(values, dims, keepdim=True, mask=mask) / _count(input, dims, True, mask)
    distance = values - center
    squares = (distance * distance.conj()).real if d.is_complex else distance * distance
    total = sum(squares, dims, keepdim=keepdim, mask=mask)
    freedom = (_count(input, dims, keepdim, mask) - taken).clamp_min(0)
    return (total / freedom).to(d)


def var(
    input: mt.Tensor, dim: Any = None, unbiased: _bool | None = None, *, correction: float | None = None,
    keepdim: _bool = False,
    dtype: Any = None, mask: Any = None,
) -> mt.Tensor:  # fmt: skip
    """Variance of the selected elements; NaN where too few are."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask)


def std(
    input: mt.Tensor, dim: Any = None, unbiased: _bool | None = None, *, correction: int | None = None,
    keepdim: _bool = False,
    dtype: Any = None, mask: Any = None,
) -> mt.Tensor:  # fmt: skip
    """Standard deviation of the selected elements; NaN where too few are."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()


def cumsum(input: mt.Tensor, dim: int, *, dtype: Any = None, mask: Any = None) -> mt.Tensor:
    """Running sum, elements that are not selected counting as 0."""
    d = _result_dtype(input, dtype, integers_widen=True)
    return mt.cumsum(_filled(input.to(d), mask, 0), dim)


def cumprod(input: mt.Tensor, dim: int, *, dtype: Any = None, mask: Any = None) -> mt.Tensor:
    """Running product, elements that are not selected counting as 1."""
    d = _result_dtype(input, dtype, integers_widen=True)
    return mt.cumprod(_filled(input.to(d), mask, 1), dim)


def softmax(input: mt.Tensor, dim: int, *, dtype: Any = None, mask: Any = None) -> mt.Tensor:
    """Softmax over the selected elements, 0 elsewhere; NaN where there is none."""
    d = _result_dtype(input, dtype)
    return mt.softmax(_filled(input.to(d), mask, -math.inf), dim)


def log_softmax(input: mt.Tensor, dim: int, *, dtype: Any = None, mask: Any = None) -> mt.Tensor:
    """Log of `softmax`."""
    d = _result_dtype(input, dtype)
    return mt.log_softmax(_filled(input.to(d), mask, -math.inf), dim)


def softmin(input: mt.Tensor, dim: int, *, dtype: Any = None, mask: Any = None) -> mt.Tensor:
    """Softmax of the negated selected elements."""
    d = _result_dtype(input, dtype)
    return mt.softmax(-_filled(input.to(d), mask, math.inf), dim)


def normalize(
    input: mt.Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Any = None
) -> mt.Tensor:
    """Selected elements divided by their norm, at least `eps`."""
    d = _require_floating(input, dtype, "normalize")
    values = _filled(input.to(d), mask, 0)
    return values / norm(input, ord, dim, keepdim=True, dtype=d, mask=mask).clamp_min(eps)
