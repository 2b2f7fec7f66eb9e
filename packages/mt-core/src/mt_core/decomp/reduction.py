"""Reductions written in other operators."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..dispatch.registry import register_composite as composite

composite("max.other")(lambda self, other: ops.maximum(self, other))
composite("min.other")(lambda self, other: ops.minimum(self, other))


@composite("var")
def var(self: Any, unbiased: bool) -> Any:
    return ops.var(self, None, correction=int(unbiased))


@composite("var.dim")
def var_dim(self: Any, dim: Any, unbiased: bool, keepdim: bool) -> Any:
    return ops.var(self, dim, correction=int(unbiased), keepdim=keepdim)


@composite("std")
def std(self: Any, unbiased: bool) -> Any:
    return ops.std(self, None, correction=int(unbiased))


@composite("std.dim")
def std_dim(self: Any, dim: Any, unbiased: bool, keepdim: bool) -> Any:
    return ops.std(self, dim, correction=int(unbiased), keepdim=keepdim)


@composite("var_mean")
def var_mean(self: Any, unbiased: bool) -> Any:
    return ops.var_mean(self, None, correction=int(unbiased))


@composite("var_mean.dim")
def var_mean_dim(self: Any, dim: Any, unbiased: bool, keepdim: bool) -> Any:
    return ops.var_mean(self, dim, correction=int(unbiased), keepdim=keepdim)


@composite("var_mean.correction", explicit=True)
def var_mean_correction(self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    _no_integers("var_mean", self)
    return ops.var(self, dim, correction=correction, keepdim=keepdim), ops.mean(self, dim, keepdim)


@composite("std_mean")
def std_mean(self: Any, unbiased: bool) -> Any:
    return ops.std_mean(self, None, correction=int(unbiased))


@composite("std_mean.dim")
def std_mean_dim(self: Any, dim: Any, unbiased: bool, keepdim: bool) -> Any:
    return ops.std_mean(self, dim, correction=int(unbiased), keepdim=keepdim)


@composite("std_mean.correction", explicit=True)
def std_mean_correction(self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    _no_integers("std_mean", self)
    return ops.std(self, dim, correction=correction, keepdim=keepdim), ops.mean(self, dim, keepdim)


def _no_integers(name: str, self: Any) -> None:
    if self.dtype.category < 2:
        raise RuntimeError(f"{name} only support floating point and complex dtypes")


@composite("sum_to_size")
def sum_to_size(self: Any, size: tuple[int, ...]) -> Any:
    shape = self._array.shape
    lead = len(shape) - len(size)
    fits = lead >= 0 and all(n in (1, have) for n, have in zip(size, shape[lead:], strict=True))
    if not fits:
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(shape)}}}.")
    widened = [i for i in range(lead, len(shape)) if size[i - lead] == 1 and shape[i] != 1]
    dims = [*range(lead), *widened]
    if not dims:
        return self if self.dtype.category >= 2 or self.dtype is dtypes.int64 else self.to(dtypes.int64)
    if not size:
        return self.sum()
    total = self.sum(tuple(dims), keepdim=True)
    return total.view(size) if lead else total
