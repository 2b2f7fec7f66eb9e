"""Sums and norms."""

from __future__ import annotations

from typing import Any

from ...decomp import _compressed
from ...dispatch.registry import find_overload
from ...tensor import Tensor
from ..layer import parts, rule
from ..tensors import Compressed, is_coo


@rule("sum")
def sum_(self: Tensor, dtype: Any) -> Tensor:
    """All values; of coordinates, sorted first."""
    values = (self.coalesce() if is_coo(self) else self)._array.values  # type: ignore[attr-defined]
    return values.sum() if dtype is None else values.sum(dtype=dtype)


@rule("sum.dim_IntList")
def sum_dims(self: Any, dim: Any, keepdim: bool, dtype: Any) -> Tensor:
    if isinstance(self._array, Compressed):
        return _rows_summed(self, dim, keepdim, dtype)
    if keepdim:
        raise RuntimeError("sum: keepdim=True is not supported for sparse tensors")
    dims = list(range(self.dim())) if not dim else list(dim)
    if dtype is not None:
        return find_overload("_sparse_sum.dim_dtype").call(self, dims, dtype)  # type: ignore[no-any-return]
    return find_overload("_sparse_sum.dim").call(self, dims)  # type: ignore[no-any-return]


def _rows_summed(self: Any, dim: Any, keepdim: bool, dtype: Any) -> Tensor:
    if not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    dims = sorted({d % 2 for d in (dim or (0, 1))})
    coo = _compressed.to_coordinates(self._array)
    values = coo.to_dense().sum(dims, keepdim=True, dtype=dtype)  # type: ignore[attr-defined]
    return _compressed.compress(values.to_sparse(), self.layout)


@rule("norm.Scalar")
def norm(self: Any, p: Any) -> Tensor:
    return self.coalesce()._array.values.norm(p)  # type: ignore[no-any-return]


@rule("norm.ScalarOpt_dim")
def norm_dim(self: Any, p: Any, dim: Any, keepdim: bool) -> Tensor:
    if keepdim:
        raise RuntimeError("norm_sparse currently does not support keepdim=True")
    if dim and sorted(d % self.dim() for d in dim) != list(range(self.dim())):
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain all "
            "dimensions of the input"
        )
    return self.coalesce()._array.values.norm(2 if p is None else p)  # type: ignore[no-any-return]


@rule("native_norm")
def native_norm(self: Any, p: Any) -> Tensor:
    return norm(self, p)


@parts("linalg_vector_norm")
def vector_norm(self: Any, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Tensor:
    """Of all values, which is the norm of the tensor for orders above zero."""
    if dim is not None and sorted(d % self.dim() for d in dim) != list(range(self.dim())) or keepdim or ord <= 0:
        raise RuntimeError("linalg_vector_norm of sparse tensors is over all dimensions, and of an order above 0")
    sorted_ = self.coalesce() if is_coo(self) else self
    return find_overload("linalg_vector_norm").call(sorted_.values(), ord, None, False, dtype)  # type: ignore[no-any-return]
