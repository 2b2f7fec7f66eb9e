"""Derivatives of indexing: what reads elements scatters its gradient, what writes them gathers it."""

from __future__ import annotations

from typing import Any

from mt_core.api import _functions as ops
from mt_core.autograd_state import is_grad_enabled
from mt_core.dispatch.registry import find_overload
from mt_core.dtypes import bool as bool_
from mt_core.hollow import has_elements
from mt_core.sparse.construct import sparse_coo_tensor
from mt_core.tensor import wrap_dim

from ..function import DelayedError
from ..rules import derivative, forward_rule, non_differentiable, real_only, refuse_integers
from ._refused import refused_operator
from ._written import written


def _put_back(grad: Any, self_spec: Any, indices: Any) -> Any:
    return written(grad.new_zeros(self_spec.shape), "index_put", list(indices), grad, True)


def _values(grad: Any, indices: Any, values_spec: Any) -> Any:
    return find_overload("index.Tensor").call(grad, list(indices)).sum_to_size(values_spec.shape)


def _kept(grad: Any, indices: Any, values_spec: Any, accumulate: bool) -> Any:
    if accumulate:
        return grad
    return grad.index_put(list(indices), grad.new_zeros((1,) * max(len(values_spec.shape), 1)), False)


derivative("index.Tensor", self=_put_back)
derivative("index_put", self=_kept, values=_values)
refuse_integers("index_put")
derivative(
    "index_select",
    self=lambda grad, self_spec, dim, index: written(grad.new_zeros(self_spec.shape), "index_add", dim, index, grad),
)


def _gathered(grad: Any, self: Any, dim: int, index: Any, sparse_grad: bool) -> Any:
    if not sparse_grad:
        return written(grad.new_zeros(self.shape), "scatter_add", dim, index, grad)
    rank = len(self.shape)
    if not rank:
        return sparse_coo_tensor(index.new_empty((0, grad.numel())), grad.reshape(-1), ())
    index, taken = index.reshape(index.shape or (1,)), wrap_dim(dim, rank)
    places = [index if d == taken else _counted(size, rank - 1 - d, index) for d, size in enumerate(index.shape)]
    where = ops.stack([place.reshape(-1) for place in places])
    return sparse_coo_tensor(where, grad.reshape(-1), self.shape)


def _counted(size: int, behind: int, like: Any) -> Any:
    """0, 1, ... along the dimension that has so many behind it, in the shape of an index."""
    return ops.arange(size, device=like.device).reshape([-1, *[1] * behind]).expand(like.shape)


derivative("gather", self=_gathered)
derivative(
    "scatter.src",
    self=lambda grad, dim, index: grad.scatter(dim, index, 0),
    src=lambda grad, dim, index: grad.gather(dim, index),  # which PyTorch, too, refuses where src is larger
)
derivative("scatter.value", self=lambda grad, dim, index: grad.scatter(dim, index, 0))
derivative("scatter_add", self=lambda grad: grad, src=lambda grad, dim, index: grad.gather(dim, index))


def _scatter_reduce_self(
    grad: Any, self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool, result: Any
) -> Any:
    return _reduce_gradients(grad, self, dim, index, src, reduce, include_self, result, _SCATTERED)[0]


def _scatter_reduce_src(
    grad: Any, self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool, result: Any
) -> Any:
    return _reduce_gradients(grad, self, dim, index, src, reduce, include_self, result, _SCATTERED)[1]


#: The operator and its source in refusals.
_SCATTERED = "scatter_reduce", "src"
_INDEXED = "index_reduce", "source"


def _reduce_gradients(
    grad: Any, self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool, result: Any,
    names: tuple[str, str],
) -> tuple[Any, Any]:  # fmt: skip
    """(gradient of self, gradient of src) of `scatter_reduce`."""
    if reduce == "sum":
        grad_self, grad_src = grad, grad.gather(dim, index)
    elif reduce == "prod":
        grad_self, grad_src = _product_gradients(grad, self, dim, index, src, include_self, result, names)
    elif reduce == "mean":
        count = ops.ones_like(grad) if include_self else ops.zeros_like(grad)
        count = count.scatter_add(dim, index, ops.ones_like(src))
        count = count.masked_fill(count == 0, 1)
        grad_self, grad_src = grad / count, (grad / count).gather(dim, index)
    else:
        chosen_self = (self == result).to(grad.dtype)
        chosen_src = (src == result.gather(dim, index)).to(grad.dtype)
        kept = chosen_self if include_self else chosen_self.scatter(dim, index, 0)
        count = kept.scatter_add(dim, index, chosen_src)
        count = count.masked_fill(count == 0, 1)
        grad_self, grad_src = grad * chosen_self / count, (grad / count).gather(dim, index) * chosen_src
    return grad_self if include_self else grad_self.scatter(dim, index, 0), grad_src


def _product_gradients(
    grad: Any, self: Any, dim: int, index: Any, src: Any, include_self: bool, result: Any, names: tuple[str, str]
) -> tuple[Any, Any]:
    """Products of all other factors.

    A single zero among them is taken out of the product that its own gradient needs. Of several zeros each has the
    gradient 0, but it cannot be differentiated again.
    """
    zero_self = self == 0
    masked_self = self.masked_fill(zero_self, 1)
    grad_self = grad * masked_self.scatter_reduce(dim, index, src, "prod", include_self=True) / masked_self
    zero_src = src == 0
    zeros = ops.zeros_like(self).scatter_add(dim, index, zero_src.to(self.dtype)).gather(dim, index)
    single = zero_src & (zeros == 1)
    without = src.masked_fill(single, 1)
    alone = (grad * self.scatter_reduce(dim, index, without, "prod", include_self=include_self)).gather(dim, index)
    others = (grad * result).gather(dim, index) / src.masked_fill(zero_src, 1)
    grad_src = ops.where(single, alone, others.masked_fill(zero_src & ~single, 0))
    if is_grad_enabled() and has_elements(zeros) and bool((zeros > 1).any()):
        return grad_self, _refused_twice(grad_src, *names)
    return grad_self, grad_src


def _refused_twice(gradient: Any, operator: str, source: str) -> Any:
    return DelayedError(
        f"{operator}(): Double backward is unsupported for {source} when >1 zeros in {source} are scattered to the "
        "same position in self",
        1,
    )(gradient)


refused_operator("scatter.reduce", "self", "src")
refused_operator("scatter.value_reduce", "self")
refused_operator("scatter_.reduce", "self", "src")
refused_operator("scatter_.value_reduce", "self")


derivative("scatter_reduce.two", self=_scatter_reduce_self, src=_scatter_reduce_src)


def _index_source(grad: Any, dim: int, index: Any, source: Any) -> Any:
    return (
        grad.index_select(dim, index.reshape(-1)).expand(source.shape)
        if source.shape
        else grad.index_select(dim, index.reshape(-1)).reshape(())
    )


derivative(
    "index_add",
    self=lambda grad: grad,
    source=lambda grad, dim, index, alpha, source: _index_source(grad, dim, index, source) * alpha,
)
derivative(
    "index_copy",
    self=lambda grad, dim, index: grad.index_fill(dim, index, 0),
    source=lambda grad, dim, index, source: _index_source(grad, dim, index, source),
)
derivative("index_fill.int_Scalar", self=lambda grad, dim, index: grad.index_fill(dim, index, 0))
derivative(
    "index_fill.int_Tensor",
    self=lambda grad, dim, index: grad.index_fill(dim, index, 0),
    value=lambda grad, dim, index: _filled(grad, dim, index).sum(),
)


def _filled(grad: Any, dim: int, index: Any) -> Any:
    """The gradient where an index of a dimension is named, each once, and zeros."""
    named = ops.zeros_like(grad, dtype=bool_).index_fill(dim, index, True)
    return ops.where(named, grad, ops.zeros_like(grad))


def _index_reduce(
    grad: Any, self: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool, result: Any
) -> tuple[Any, Any]:
    at = wrap_dim(dim, self.dim())
    if not self.dim():
        spread, shaped = index.reshape(-1), source.reshape(-1)
        a, b = _reduce_gradients(
            grad.reshape(1), self.reshape(1), 0, spread, shaped, reduce, include_self, result.reshape(1), _INDEXED
        )
        return a.reshape(()), b.reshape(source.shape)
    spread = index.reshape([-1 if i == at else 1 for i in range(self.dim())]).expand(source.shape)
    return _reduce_gradients(grad, self, at, spread, source, reduce, include_self, result, _INDEXED)


derivative(
    "index_reduce",
    self=lambda grad, self, dim, index, source, reduce, include_self, result: _index_reduce(
        grad, self, dim, index, source, reduce, include_self, result
    )[0],
    source=lambda grad, self, dim, index, source, reduce, include_self, result: _index_reduce(
        grad, self, dim, index, source, reduce, include_self, result
    )[1],
)
derivative("masked_fill.Scalar", self=lambda grad, mask: grad.masked_fill(mask, 0))
derivative(
    "masked_fill.Tensor",
    self=lambda grad, mask: grad.masked_fill(mask, 0),
    value=lambda grad, mask: ops.where(mask, grad, 0).sum(),
)
refuse_integers("masked_fill.Tensor", "index_fill.int_Tensor")


def _masked_select(grad: Any, self: Any, mask: Any) -> Any:
    shape = (mask | ops.zeros(self.shape, dtype=mask.dtype, device=mask.device)).shape
    return written(grad.new_zeros(shape), "masked_scatter", mask.expand(shape), grad)


derivative("masked_select", self=_masked_select)


def _masked_source(grad: Any, mask: Any, source_spec: Any) -> Any:
    taken = grad.masked_select(mask)
    whole = grad.new_zeros((source_spec.numel(),))
    whole.narrow(0, 0, taken.numel()).copy_(taken)
    return whole.reshape(source_spec.shape)


derivative("masked_scatter", self=lambda grad, mask: grad.masked_fill(mask, 0), source=_masked_source)
derivative("take", self=lambda grad, self, index: grad.new_zeros(self.shape).put_(index, grad, True))
derivative(
    "put",
    self=lambda grad, index, source, accumulate: (
        grad if accumulate else grad.put(index, grad.new_zeros(source.shape), False)
    ),
    source=lambda grad, index, source: grad.take(index).reshape(source.shape),
)
non_differentiable("nonzero", "nonzero_static", "count_nonzero", "count_nonzero.dim_IntList")


def _embedding(
    grad: Any, indices: Any, weight_spec: Any, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> Any:
    if sparse:
        return find_overload("embedding_sparse_backward").call(
            grad, indices, weight_spec.shape[0], padding_idx, scale_grad_by_freq
        )
    return ops.embedding_dense_backward(grad, indices, weight_spec.shape[0], padding_idx, scale_grad_by_freq)


derivative("embedding", weight=_embedding, forward="linear")
real_only("embedding")


def _embedding_twice(grad: Any, indices: Any, padding_idx: int, scale_grad_by_freq: bool, grad_output_spec: Any) -> Any:
    if scale_grad_by_freq:
        raise RuntimeError("embedding_backward: double backward is not supported with scale_grad_by_freq")
    rows = grad.index_select(0, indices.reshape(-1)).reshape(grad_output_spec.shape)
    if padding_idx >= 0:
        rows = rows.masked_fill((indices == padding_idx).unsqueeze(-1), 0)
    return rows


derivative("embedding_dense_backward", grad_output=_embedding_twice)
real_only("scatter_reduce.two", "index_reduce")

forward_rule(
    "linear",
    "gather", "index.Tensor", "index_select", "index_copy", "index_add", "index_put", "masked_select",
    "scatter.src", "scatter_add", "take", "masked_fill.Tensor",
)  # fmt: skip
