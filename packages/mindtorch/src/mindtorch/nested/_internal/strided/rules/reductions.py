"""Sums, softmax, and normalization."""

from __future__ import annotations

from typing import Any

from mt_core.tensor import wrap_dim

from ....._compound.layer import elements
from ..layouts import contiguous_layout
from ..strided_tensor import RULES, StridedNestedTensor, around, buffer, components, joined, like


@RULES.rule("sum.dim_IntList")
def sum_(overload: Any, self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    dims = list(range(self.dim())) if dim is None else list(dim)
    if len(dims) != 1:
        raise RuntimeError("NestedTensor only allows reduction of a single dimension for now.")
    at = wrap_dim(dims[0], self.dim())
    if at != self.dim() - 1:
        raise RuntimeError(
            f"NestedTensor can only be reduced across the last dimension for now got dimension {dims[0]} instead."
        )
    if not keepdim:
        raise RuntimeError("NestedTensor always requires keepdim=True for now.")
    if dtype is not None:
        raise RuntimeError("NestedTensor does not support dtype argument for now.")
    if not self._array.placed.sizes:
        return self
    return joined([overload.call(part, [-1], True, None) for part in components(self)])


@RULES.rule("_softmax", "_safe_softmax")
def softmax(overload: Any, self: Any, dim: int, *args: Any) -> Any:
    if not self._array.placed.sizes:
        return like(self, elements(self).clone())
    at = wrap_dim(dim, self.dim())
    if not at:
        raise RuntimeError("Cannot apply softmax across nested dimension 0")
    return joined([overload.call(part, at - 1, *args) for part in components(self)])


@RULES.rule("layer_norm")
def layer_norm(overload: Any, self: Any, shape: Any, weight: Any, bias: Any, eps: float, *args: Any) -> Any:
    if weight is None or bias is None:
        raise ValueError("NestedTensor layer_norm requires weight and bias")
    placed, inner = self._array.placed, list(shape)
    if not placed.is_contiguous():
        raise RuntimeError("Expected nested_tensor_impl_is_contiguous(nt_input) to be true, but got false.")
    refuse_misfits(self, inner)
    made = overload.call(buffer(self).reshape(-1, *inner), inner, weight, bias, eps, *args)
    return around(made.reshape(-1), contiguous_layout(placed.sizes))


def refuse_misfits(self: Any, inner: list[int]) -> None:
    """Refuse a shape that is not that of the last dimensions of every component.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    placed = self._array.placed
    if not inner:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    first = placed.rank - len(inner)
    if first < 0 or any(placed.regular(d) is None for d in range(first, placed.rank)):
        raise RuntimeError("normalized_shape extends into irregular dimensions for the nested tensor")
    for at, n in enumerate(inner):
        if placed.regular(first + at) != n:
            raise RuntimeError(f"The shape at dimension {at}of normalized_shape doesn't match the input")


@RULES.rule("embedding")
def embedding(overload: Any, weight: Any, indices: Any, *args: Any) -> Any:
    if isinstance(weight, StridedNestedTensor):
        raise RuntimeError("get_nested_tensor_impl requires a NestedTensor.")
    if indices.dim() != 2:
        raise RuntimeError("Expected indices.dim() < 3 to be true, but got false.")
    made = overload.call(weight, buffer(indices), *args)
    sizes = [(*size, weight.shape[1]) for size in indices._array.placed.sizes]
    return around(made.reshape(-1), contiguous_layout(sizes))
