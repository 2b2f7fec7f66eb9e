"""Reductions and softmax."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mt_core as mt
from mt_core import Tensor, dtypes
from mt_core.dispatch.registry import find_overload
from mt_core.tensor import wrap_dim

from ...._compound.layer import elements
from ..nested_tensor import RULES, like, rows_of
from .padding import padded, rows_of_padded


def _least(d: Any) -> Any:
    return -math.inf if d.is_floating_point else False if d is dtypes.bool else dtypes.iinfo(d).min


def _greatest(d: Any) -> Any:
    return math.inf if d.is_floating_point else True if d is dtypes.bool else dtypes.iinfo(d).max


#: Operator -> what stands in place of rows that a component does not have.
_IDENTITIES: dict[str, Callable[[Any], Any]] = {
    "sum": lambda d: 0, "mean": lambda d: 0, "prod": lambda d: 1, "amax": _least, "amin": _greatest, "max": _least,
    "min": _greatest, "argmax": _least, "argmin": _greatest, "any": lambda d: 0, "all": lambda d: 1,
}  # fmt: skip


@RULES.rule("sum", "mean", "prod", "max", "min", "any", "all")
def whole(overload: Any, self: Any, *args: Any) -> Any:
    """Of all values; PyTorch's count those of holes too, and so do these."""
    return overload.call(elements(self), *args)


@RULES.rule("sum.dim_IntList", "mean.dim", "amax", "amin", "any.dims", "all.dims")
def over_several(overload: Any, self: Any, dim: Any, keepdim: bool, *args: Any) -> Any:
    dims = list(range(self.dim())) if dim is None or not len(dim) else list(dim)
    return _reduced(overload, self, dims, keepdim, args, True)


@RULES.rule("prod.dim_int", "max.dim", "min.dim", "any.dim", "all.dim", "argmax", "argmin")
def over_one(overload: Any, self: Any, dim: Any, keepdim: bool, *args: Any) -> Any:
    if dim is None:
        return overload.call(elements(self), dim, keepdim)
    return _reduced(overload, self, [dim], keepdim, args, False)


def _reduced(overload: Any, self: Any, dims: list[int], keepdim: bool, args: Any, several: bool) -> Any:
    name = overload.name.partition(".")[0]
    ragged = self._array.ragged
    found = {wrap_dim(d, self.dim()) for d in dims}
    others = sorted(found - {0, ragged})
    if 0 in found and ragged not in found:
        raise RuntimeError(
            f"{name}(): reducing along the batch dimension but not the ragged dimension is not supported for nested "
            "tensors"
        )
    if ragged in found and 0 not in found and others:
        raise RuntimeError(
            f"{name}(): reducing along a ragged and non-batch dimension is not supported for nested tensors"
        )
    if ragged in found and self._array.lengths is not None:
        raise RuntimeError(
            f"{name}(): reducing across the ragged dimension is not supported for non-contiguous nested tensors with "
            "holes"
        )
    if 0 in found:
        made = overload.call(elements(self), [d - 1 for d in sorted(found - {0})], keepdim, *args)
        return made.unsqueeze(0) if keepdim else made
    if ragged in found:
        return _over_rows(overload, name, self, keepdim, args, several)
    inner = [d - 1 for d in others]
    made = overload.call(elements(self), inner if several else inner[0], keepdim, *args)
    at = ragged if keepdim else ragged - sum(d < ragged for d in others)
    if isinstance(made, tuple):
        return type(made)([like(self, one, at) for one in made])
    return like(self, made, at)


def _over_rows(overload: Any, name: str, self: Any, keepdim: bool, args: Any, several: bool) -> Any:
    ragged = self._array.ragged
    if name == "mean":
        total = find_overload("sum.dim_IntList").call(padded(self, 0), [ragged], keepdim, *args)
        counts = mt.tensor(rows_of(self).lengths, dtype=total.dtype, device=total.device)
        return total / counts.reshape([-1] + [1] * (total.dim() - 1))
    full = padded(self, _IDENTITIES[name](self.dtype))
    return overload.call(full, [ragged] if several else ragged, keepdim, *args)


@RULES.rule("_softmax", "_log_softmax")
def softmax(overload: Any, self: Any, dim: int, half_to_float: bool) -> Any:
    name = overload.name[1:]
    at = wrap_dim(dim, self.dim())
    if at == 0:
        raise RuntimeError(f"{name}(): not supported when reducing across the batch dimension for NestedTensor")
    if at != self._array.ragged:
        return like(self, overload.call(elements(self), at - 1, half_to_float))
    if name == "log_softmax":
        raise RuntimeError("log_softmax(): not supported when reducing along the ragged dimension for NestedTensor")
    if self._array.lengths is not None:
        raise RuntimeError(
            "softmax(): not supported where lengths is not None if reducing across the ragged dimension for "
            "NestedTensor"
        )
    full: Tensor = padded(self, -math.inf)
    return rows_of_padded(self, overload.call(full, at, half_to_float))
