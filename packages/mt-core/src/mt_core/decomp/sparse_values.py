"""Sums, softmax and its logarithm over what has indices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..api import _functions as ops
from ..dispatch.registry import find_overload
from ..dispatch.registry import register_composite as composite
from ..errors import no_kernel
from ..sparse.tensors import coordinates, flat_indices, is_coo, is_sparse, layout_name
from ..tensor import Tensor, wrap_dim


def _sorted(name: str, tensor: Any) -> Any:
    if not is_coo(tensor):
        raise no_kernel(f"Could not run 'aten::{name}' with arguments from the '{layout_name(tensor)}CPU' backend.")
    return tensor.coalesce()._array


@composite("_sparse_sum")
def _sparse_sum(self: Any) -> Any:
    return self.coalesce().values().sum()


@composite("_sparse_sum.dtype")
def _sparse_sum_dtype(self: Any, dtype: Any) -> Any:
    return self.coalesce().values().sum(dtype=dtype)


@composite("_sparse_sum.dim_dtype")
def _sparse_sum_dim_dtype(self: Any, dim: Any, dtype: Any) -> Any:
    return find_overload("_sparse_sum.dim").call(self.to(dtype), dim)


def _dims(dim: Sequence[int], tensor: Any) -> list[int]:
    wrapped = [wrap_dim(d, tensor.dim()) for d in dim]
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError(f"dim {wrapped} appears multiple times in the list of dims")
    return wrapped


@composite("_sparse_sum.dim", explicit=True)
def _sparse_sum_dim(self: Any, dim: Any) -> Any:
    """Dense where no sparse dimension is left, else coordinates of the dimensions that are."""
    array = _sorted("_sparse_sum.dim", self)
    n, dims = array.sparse_dim, _dims(dim, self)
    within = [d - n + 1 for d in dims if d >= n]
    values = array.values.sum(within) if within else array.values
    front = [d for d in range(n) if d not in dims]
    shape = [size for d, size in enumerate(array.shape) if d not in dims]
    if not front:
        return values.sum(0)
    kept = array.indices.index_select(0, array.indices.new_tensor(front))
    if len(front) == n:
        return coordinates(kept.clone(), values.clone() if not within else values, shape, True)
    return coordinates(kept, values, shape).coalesce()  # type: ignore[attr-defined]


@composite("_sparse_sum_backward", explicit=True)
def _sparse_sum_backward(grad: Any, self: Any, dim: Any) -> Any:
    """Each value's gradient is that of the sum that it went into."""
    array = _sorted("_sparse_sum_backward", self)
    n, dims = array.sparse_dim, _dims(dim, self)
    front = [d for d in range(n) if d not in dims]
    dense = grad.to_dense() if is_sparse(grad) else grad
    if front:
        rows = dense[tuple(array.indices[d] for d in front)]
    else:
        rows = dense.unsqueeze(0).expand((array.nnz, *dense.shape))
    for d in sorted(d for d in dims if d >= n):
        rows = rows.unsqueeze(d - n + 1)
    return coordinates(array.indices.clone(), rows.expand(array.values.shape).clone(), array.shape, True)


# Softmax


def _float(tensor: Any, dtype: Any) -> Any:
    return tensor if dtype is None else tensor.to(dtype)


@composite("_sparse_softmax.int")
def _sparse_softmax_of(self: Any, dim: int, dtype: Any) -> Any:
    return find_overload("_sparse_softmax").call(_float(self, dtype), dim, False)


@composite("_sparse_log_softmax.int")
def _sparse_log_softmax_of(self: Any, dim: int, dtype: Any) -> Any:
    return find_overload("_sparse_log_softmax").call(_float(self, dtype), dim, False)


def _pools(array: Any, dim: int) -> tuple[Tensor, int]:
    """Which values stand in one line along a sparse dimension: the number of its line for each, and how many lines."""
    sizes = array.shape[: array.sparse_dim]
    others = [d for d in range(array.sparse_dim) if d != dim]
    kept = array.indices.index_select(0, array.indices.new_tensor(others)) if others else array.indices[:0]
    flat = (
        flat_indices(kept, [sizes[d] for d in others]) if others else array.indices.new_zeros(array.indices.shape[1:])
    )
    lines, place = ops.unique_dim(flat, 0, True, True, False)[:2]
    return place, int(lines.numel())


def _log_softmax_values(array: Any, dim: int) -> Tensor:
    n = array.sparse_dim
    if dim >= n:
        return array.values.log_softmax(dim - n + 1)  # type: ignore[no-any-return]
    place, lines = _pools(array, dim)
    values = array.values
    zeros = values.new_full((lines, *values.shape[1:]), -math.inf)
    highest = zeros.index_reduce(0, place, values, "amax").index_select(0, place)
    lowered = values - highest
    sums = values.new_zeros((lines, *values.shape[1:])).index_add_(0, place, lowered.exp())
    return lowered - sums.log().index_select(0, place)  # type: ignore[no-any-return]


@composite("_sparse_softmax", explicit=True)
def _sparse_softmax(self: Any, dim: int, half_to_float: bool) -> Any:
    """Of what has indices: the rest counts as minus infinity."""
    array = _sorted("_sparse_softmax", self)
    wrapped = wrap_dim(dim, self.dim())
    if wrapped >= array.sparse_dim:
        values = array.values.softmax(wrapped - array.sparse_dim + 1)
    else:
        values = _log_softmax_values(array, wrapped).exp()
    return coordinates(array.indices.clone(), values, array.shape, True)


@composite("_sparse_log_softmax", explicit=True)
def _sparse_log_softmax(self: Any, dim: int, half_to_float: bool) -> Any:
    array = _sorted("_sparse_log_softmax", self)
    return coordinates(array.indices.clone(), _log_softmax_values(array, wrap_dim(dim, self.dim())), array.shape, True)


def _line_sums(array: Any, dim: int, values: Tensor) -> Tensor:
    """For each value, the sum of its line."""
    if dim >= array.sparse_dim:
        return values.sum(dim - array.sparse_dim + 1, keepdim=True)
    place, lines = _pools(array, dim)
    return values.new_zeros((lines, *values.shape[1:])).index_add_(0, place, values).index_select(0, place)  # type: ignore[no-any-return]


def _given(grad_output: Any, output: Any) -> Any:
    return grad_output.sparse_mask(output)._array.values


@composite("_sparse_softmax_backward_data", explicit=True)
def _sparse_softmax_backward_data(grad_output: Any, output: Any, dim: int, self: Any) -> Any:
    array = output._array
    weighted = _given(grad_output, output) * array.values
    wrapped = wrap_dim(dim, output.dim())
    values = weighted - array.values * _line_sums(array, wrapped, weighted)
    return coordinates(array.indices.clone(), values, array.shape, True)


@composite("_sparse_log_softmax_backward_data", explicit=True)
def _sparse_log_softmax_backward_data(grad_output: Any, output: Any, dim: int, self: Any) -> Any:
    array = output._array
    given = _given(grad_output, output)
    values = given - array.values.exp() * _line_sums(array, wrap_dim(dim, output.dim()), given)
    return coordinates(array.indices.clone(), values, array.shape, True)
