"""Shape rules of reductions."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..declarations._checks import COMPLEX_HALF, FLOAT8, USUAL, Supported
from ..dispatch.registry import register_shape_rule as shape_rule
from ..dtypes import dtype, scalar_type_name
from ..spec import Spec
from ..tensor import wrap_dim

Ints = tuple[int, ...]


def reduced_dims(dim: Any, ndim: int) -> Ints:
    """The dimensions that a ``dim`` argument names, sorted; None and ``()`` name all.

    Raises
    ------
    IndexError, RuntimeError
        Out of range, or named twice.
    """
    if dim is None or not isinstance(dim, int) and len(dim) == 0:
        return tuple(range(ndim))
    if isinstance(dim, int):
        return (wrap_dim(dim, ndim),) if ndim else _checked_scalar_dim(dim)
    named = [wrap_dim(d, ndim) for d in dim]
    if len(set(named)) != len(named):
        twice = next(d for i, d in enumerate(named) if d in named[:i])
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    return tuple(sorted(named)) if ndim else ()


def _checked_scalar_dim(dim: int) -> Ints:
    wrap_dim(dim, 0)
    return ()


def reduced_shape(shape: Ints, dims: Ints, keepdim: bool) -> Ints:
    """Shape after reducing some dimensions."""
    if keepdim:
        return tuple(1 if i in dims else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in dims)


def reduced(self: Any, dim: Any, keepdim: bool, d: dtype) -> Spec:
    """The spec of a reduction; its kernel gets the dimensions counted from the front, sorted, all of them for None."""
    shape = self._array.shape
    dims = reduced_dims(dim, len(shape))
    return Spec(reduced_shape(shape, dims, keepdim), d, arguments={"dim": dims})


#: What is added up, as it is: the others can be summed in one of these.
_SUMMED = Supported("sum_cpu", USUAL)
_MULTIPLIED = Supported("prod_out_cpu", USUAL)


def summed_dtype(self: Any, requested: dtype | None, supported: Supported) -> dtype:
    """The dtype of sums and products: int64 for integers and bool, unless one is asked for.

    Raises
    ------
    NotImplementedError
        It is none that PyTorch's kernel is written for, and there are elements.
    """
    d = requested or (dtypes.int64 if self._dtype.category < 2 else self._dtype)
    if self._array.size and not supported.is_idle((self,)):
        supported.require((), d)
    return d


def _total(supported: Supported) -> Any:
    def rule(self: Any, dtype: Any) -> Spec:
        """self (*) -> (); int64 for integers and bool."""
        return Spec((), summed_dtype(self, dtype, supported))

    return rule


shape_rule("sum")(_total(_SUMMED))
shape_rule("prod")(_total(_MULTIPLIED))


def _totals(supported: Supported) -> Any:
    def rule(self: Any, dim: Any, keepdim: bool, dtype: Any) -> Spec:
        """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`; int64 for integers and bool."""
        return reduced(self, dim, keepdim, summed_dtype(self, dtype, supported))

    return rule


shape_rule("sum.dim_IntList")(_totals(_SUMMED))
shape_rule("prod.dim_int")(_totals(_MULTIPLIED))


def _mean_dtype(self: Any, requested: dtype | None) -> dtype:
    d = requested or self._dtype
    if d.category < 2:
        what = "could not infer output dtype. " + ("Input dtype" if requested is None else "Optional dtype")
        raise RuntimeError(
            f"mean(): {what} must be either a floating point or complex dtype. Got: {scalar_type_name(d)}"
        )
    if self._array.size:
        _SUMMED.require((), d)
    return d


@shape_rule("mean")
def mean_all(self: Any, dtype: Any) -> Spec:
    """self (*) -> ()."""
    return Spec((), _mean_dtype(self, dtype))


@shape_rule("mean.dim")
def mean_dims(self: Any, dim: Any, keepdim: bool, dtype: Any) -> Spec:
    """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`."""
    return reduced(self, dim, keepdim, _mean_dtype(self, dtype))


def _no_empty(self: Any, dims: Ints, name: str) -> None:
    shape = self._array.shape
    for d in dims:
        if shape[d] == 0:
            raise IndexError(f"{name}: Expected reduction dim {d} to have non-zero size.")


def _extreme_dims(name: str) -> Any:
    def rule(self: Any, dim: Any, keepdim: bool) -> Spec:
        """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`."""
        shape = self._array.shape
        dims = reduced_dims(dim, len(shape))
        if self._array.size == 0 and not dim and 0 in shape:
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction "
                "dim with the 'dim' argument."
            )
        for d in (dim,) if isinstance(dim, int) else dim or dims:  # told as it was written
            if shape and not shape[d]:
                raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
        return Spec(reduced_shape(shape, dims, keepdim), self._dtype, arguments={"dim": dims})

    return rule


shape_rule("amax")(_extreme_dims("amax"))
shape_rule("amin")(_extreme_dims("amin"))


def _extreme_all(name: str) -> Any:
    def rule(self: Any) -> Spec:
        """self (*) with at least one element -> ()."""
        if not self._array.size:
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction "
                "dim with the 'dim' argument."
            )
        return Spec((), self._dtype)

    return rule


shape_rule("max")(_extreme_all("max"))
shape_rule("min")(_extreme_all("min"))


def _extreme_dim(name: str) -> Any:
    def rule(self: Any, dim: int, keepdim: bool) -> tuple[Spec, Spec]:
        """self (*S) -> values and indices (int64), S without the dimension `dim`, or 1 there with `keepdim`."""
        shape = self._array.shape
        dims = reduced_dims(dim, len(shape))
        _no_empty(self, dims, f"{name}()")
        if self._dtype.is_complex:
            raise RuntimeError(f"{name}(): does not support complex input")
        result = reduced_shape(shape, dims, keepdim)
        return Spec(result, self._dtype), Spec(result, dtypes.int64)

    return rule


shape_rule("max.dim")(_extreme_dim("max"))
shape_rule("min.dim")(_extreme_dim("min"))


def _arg_extreme(name: str) -> Any:
    def rule(self: Any, dim: int | None, keepdim: bool) -> Spec:
        """self (*S) -> S without the dimension `dim` (() for None), or 1 there with `keepdim`; int64."""
        if self._dtype.is_complex or self._dtype is dtypes.bool:
            kind = "complex" if self._dtype.is_complex else "bool"
            raise RuntimeError(f"{name}(): does not support {kind} input")
        shape = self._array.shape
        dims = reduced_dims(dim, len(shape))
        if dim is None and not self._array.size:
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        _no_empty(self, dims, f"{name}()")
        return Spec(reduced_shape(shape, dims, keepdim), dtypes.int64)

    return rule


shape_rule("argmax")(_arg_extreme("argmax"))
shape_rule("argmin")(_arg_extreme("argmin"))


def _truth_dtype(self: Any) -> dtype:
    return dtypes.uint8 if self._dtype is dtypes.uint8 else dtypes.bool


@shape_rule("any", "all")
def truth_all(self: Any) -> Spec:
    """self (*) -> () of bool; uint8 for uint8."""
    return Spec((), _truth_dtype(self))


@shape_rule("any.dim", "all.dim", "any.dims", "all.dims")
def truth_dims(self: Any, dim: Any, keepdim: bool) -> Spec:
    """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`; bool, uint8 for uint8.

    Unlike in other reductions, no dimensions are no dimensions: the shape stays.
    """
    if dim is not None and not isinstance(dim, int) and not dim:
        return Spec(self._array.shape, _truth_dtype(self), arguments={"dim": ()})
    return reduced(self, dim, keepdim, _truth_dtype(self))


#: What has a variance beside its mean.
_SPREAD = Supported("std_cpu", frozenset(dtypes.ALL_DTYPES) - FLOAT8)


def _variance(name: str) -> Any:
    def rule(self: Any, dim: Any, correction: Any, keepdim: bool) -> Spec:
        """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`; real."""
        if self._dtype.category < 2:
            raise RuntimeError(f"{name} only support floating point and complex dtypes")
        if self._dtype in FLOAT8 and self._array.size:
            raise RuntimeError(f"std_var_all: Unsupported dtype {scalar_type_name(self._dtype)}")
        return reduced(self, dim, keepdim, self._dtype.to_real())

    return rule


def _variance_and_mean(name: str) -> Any:
    def rule(self: Any, dim: Any, correction: Any, keepdim: bool) -> tuple[Spec, Spec]:
        """self (*S) -> twice S without the dimensions `dim`, or 1 there with `keepdim`; the first is real."""
        if self._dtype.category < 2:
            raise RuntimeError(f"{name} only support floating point and complex dtypes")
        if self._array.size:
            _SPREAD.require((), self._dtype)
        of_spread = reduced(self, dim, keepdim, self._dtype.to_real())
        return of_spread, reduced(self, dim, keepdim, self._dtype)

    return rule


shape_rule("var_mean.correction")(_variance_and_mean("var_mean"))
shape_rule("std_mean.correction")(_variance_and_mean("std_mean"))
shape_rule("var.correction")(_variance("std and var"))
shape_rule("std.correction")(_variance("std and var"))


#: What logsumexp looks for the largest element of; integers are converted first.
_LARGEST = Supported("max_values_cpu", frozenset(dtypes.ALL_DTYPES) - FLOAT8)
_EXPONENTIATED = Supported("exp_vml_cpu", frozenset(dtypes.ALL_DTYPES) - COMPLEX_HALF)


@shape_rule("logsumexp")
def logsumexp(self: Any, dim: Any, keepdim: bool) -> Spec:
    """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`; floating.

    No dimensions are all of them, but as in PyTorch the result has to have them.
    """
    if not isinstance(dim, int) and not dim and self._array.ndim and self._array.size and not keepdim:
        raise RuntimeError(f"output with shape [] doesn't match the broadcast shape {[1] * self._array.ndim}")
    _LARGEST.require((), self._dtype)
    _EXPONENTIATED.require((), self._dtype)
    return reduced(self, dim, keepdim, self._dtype if self._dtype.category >= 2 else dtypes.get_default_dtype())
