"""Elementwise operators: functions that keep zero, on the values; sums and products of two tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...api import _functions as ops
from ...decomp import _compressed
from ...decomp.sparse import check_within
from ...dispatch.registry import find_overload
from ...layout import broadcast_shapes
from ...promotion import result_type_of
from ...tensor import Tensor
from ..layer import rule
from ..tensors import Compressed, coordinates, flat_indices, is_coo, is_sparse

#: Functions that are 0 at 0. Coordinates are sorted first, as two values at one place count as their sum.
_KEEPING_ZERO = """
    abs asin asinh atan atanh ceil conj_physical deg2rad erf erfinv expm1 floor frac isinf isnan isneginf isposinf
    log1p nan_to_num positive rad2deg relu round round.decimals sgn sign signbit sin sinh sqrt square tan tanh trunc
    real imag
""".split()
#: Linear ones: these act on each value alone.
_LINEAR = ["neg"]


def with_values(tensor: Tensor, values: Tensor) -> Tensor:
    """Other values at the same indices."""
    array: Any = tensor._array
    if isinstance(array, Compressed):
        return _compressed.with_values(array, values)
    return coordinates(array.indices, values, array.shape, array.is_coalesced)


def sorted_(tensor: Tensor) -> Tensor:
    """The tensor, sorted where it is of coordinates."""
    return tensor.coalesce() if is_coo(tensor) else tensor  # type: ignore[attr-defined,no-any-return]


def _of_values(name: str, sort: bool) -> Callable[..., Any]:
    operator = find_overload(name)

    def run(self: Tensor, *others: Any) -> Tensor:
        held = sorted_(self) if sort else self
        return with_values(held, operator.call(held._array.values, *others))

    return run


for _name in _KEEPING_ZERO:
    rule(_name)(_of_values(_name, True))
for _name in _LINEAR:
    rule(_name)(_of_values(_name, False))


@rule("threshold_backward")
def threshold_backward(grad_output: Any, self: Any, threshold: Any) -> Any:
    """Of sparse tensors with the same indices: the gradient of `relu`."""
    if not is_sparse(self):
        return grad_output * (self > threshold)
    held = sorted_(self)
    given = grad_output.sparse_mask(held)._array.values
    return with_values(held, ops.threshold_backward(given, held._array.values, threshold))


@rule("pow.Tensor_Scalar")
def power(self: Tensor, exponent: Any) -> Tensor:
    """Of powers, those that keep zero.

    Raises
    ------
    RuntimeError
        For an exponent of zero, as in PyTorch.
    """
    if exponent == 0:
        raise RuntimeError("pow(): power of zero is not supported for sparse tensors as it would make them dense")
    held = sorted_(self)
    return with_values(held, held._array.values.pow(exponent))


# Sums


@rule("add.Tensor")
def add(self: Any, other: Any, alpha: Any) -> Tensor:
    """Sparse and sparse, or dense and sparse."""
    if is_sparse(self) and not is_sparse(other):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if not is_sparse(self):
        return _added_to_dense(self, other, alpha)
    if tuple(self.shape) != tuple(other.shape):
        raise RuntimeError(
            f"add: expected sizes of 'self' and 'other' to match, but {list(self.shape)} != {list(other.shape)}"
        )
    d = result_type_of((self, other))
    if isinstance(self._array, Compressed) or isinstance(other._array, Compressed):
        return _added_compressed(self, other, alpha, d)
    a, b = self._array, other._array
    if a.sparse_dim != b.sparse_dim:
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same density, but "
            f"'self' has {a.sparse_dim} sparse dimensions while 'other' has {b.sparse_dim} sparse dimensions"
        )
    if not b.nnz:
        return coordinates(a.indices.clone(), a.values.to(d, copy=True), a.shape, a.is_coalesced)
    scaled = b.values.to(d) if alpha == 1 else b.values.to(d) * alpha
    if not a.nnz:
        return coordinates(b.indices.clone(), scaled.clone() if alpha == 1 else scaled, a.shape, b.is_coalesced)
    if a.nnz == b.nnz and bool((a.indices == b.indices).all()):
        return coordinates(a.indices.clone(), a.values.to(d) + scaled, a.shape, a.is_coalesced and b.is_coalesced)
    return _merged(a, b, a.values.to(d), scaled)


def _merged(a: Any, b: Any, left: Tensor, right: Tensor) -> Tensor:
    """The coordinates of both, merged as if both were sorted: whichever comes first is taken, equal ones are one.

    Of those that are not sorted, equal ones that do not meet stay apart.
    """
    sizes = a.shape[: a.sparse_dim]
    if a.is_coalesced and b.is_coalesced:
        flat = ops.cat([flat_indices(a.indices, sizes), flat_indices(b.indices, sizes)])
        at = ops.unique_dim(flat, 0, True, True, False)[1].tolist()
        places, n = at, max(at) + 1
    else:
        here, there = flat_indices(a.indices, sizes).tolist(), flat_indices(b.indices, sizes).tolist()
        places, n = _walk(here, there)
    where = left.new_tensor(places, dtype=a.indices.dtype)
    values = left.new_zeros((n, *left.shape[1:])).index_add_(0, where, ops.cat([left, right]))
    indices = a.indices.new_zeros((a.sparse_dim, n)).index_copy_(1, where, ops.cat([a.indices, b.indices], 1))
    return coordinates(indices, values, a.shape, a.is_coalesced and b.is_coalesced)


def _walk(here: list[int], there: list[int]) -> tuple[list[int], int]:
    """Where the items of two lists go that are merged by comparing their heads, and how many places there are."""
    i = j = n = 0
    first, second = [0] * len(here), [0] * len(there)
    while i < len(here) and j < len(there):
        x, y = here[i], there[j]
        if x <= y:
            first[i] = n
            i += 1
        if y <= x:
            second[j] = n
            j += 1
        n += 1
    for rest, items in ((range(i, len(here)), first), (range(j, len(there)), second)):
        for k in rest:
            items[k] = n
            n += 1
    return first + second, n


def _added_compressed(self: Any, other: Any, alpha: Any, d: Any) -> Tensor:
    if self.layout is not other.layout:
        raise RuntimeError(
            f"add(sparse, sparse): expected tensors of one layout, got {self.layout!r} and {other.layout!r}"
        )
    summed = add(_compressed.to_coordinates(self._array), _compressed.to_coordinates(other._array), alpha)
    return _compressed.compress(summed.to(d), self.layout)


def _added_to_dense(dense: Tensor, sparse: Any, alpha: Any) -> Tensor:
    d = result_type_of((dense, sparse))
    if tuple(dense.shape) != tuple(sparse.shape):
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but self has size {list(dense.shape)} while other "
            f"has size {list(sparse.shape)} (FYI: dense-sparse addition does not currently support broadcasting)"
        )
    array = coordinates_array(sparse)
    sizes = array.shape[: array.sparse_dim]
    check_within(array.indices, sizes)
    made = dense.to(d, copy=True).contiguous()
    blocks = made.view((math.prod(sizes), *array.shape[len(sizes) :]))
    blocks.index_add_(0, flat_indices(array.indices, sizes), array.values.to(d), alpha=alpha)
    return made


def coordinates_array(tensor: Any) -> Any:
    """A sparse tensor's insides as coordinates."""
    array = tensor._array
    return _compressed.to_coordinates(array)._array if isinstance(array, Compressed) else array


@rule("sub.Tensor")
def sub(self: Any, other: Any, alpha: Any) -> Tensor:
    return add(self, other, -alpha)


# Products


@rule("mul.Tensor")
def mul(self: Any, other: Any) -> Tensor:
    """By a number, a dense tensor, or elementwise by a sparse one."""
    if not is_sparse(self):
        self, other = other, self
    if not is_sparse(other):
        return _times_dense(self, other)
    if isinstance(self._array, Compressed) or isinstance(other._array, Compressed):
        laid_out = self.layout if isinstance(self._array, Compressed) else other.layout
        product = mul(coordinates_of(self), coordinates_of(other))
        return _compressed.compress(product, laid_out)
    shape = _product_shape(self._array, other._array)
    d = result_type_of((self, other))
    a, b = self._array, sorted_(other)._array  # type: ignore[var-annotated]
    sizes = a.shape[: a.sparse_dim]
    here, there = flat_indices(a.indices, sizes), flat_indices(b.indices, sizes)
    if not there.numel() or not here.numel():
        none = a.values.new_zeros((0, *shape[a.sparse_dim :]), dtype=d)
        return coordinates(a.indices[:, :0].clone(), none, shape)
    at = ops.searchsorted(there, here).clamp(max=int(there.numel()) - 1)
    kept = ops.nonzero(there.index_select(0, at) == here).reshape(-1)
    values = a.values.index_select(0, kept).to(d) * b.values.index_select(0, at.index_select(0, kept)).to(d)
    return coordinates(a.indices.index_select(1, kept), values, shape, a.is_coalesced)


def _product_shape(a: Any, b: Any) -> tuple[int, ...]:
    """The shape of a product of coordinates: the sparse sizes of both, and the dense ones as they broadcast."""
    if a.sparse_dim != b.sparse_dim:
        raise RuntimeError(
            f"mul(sparse, sparse): expected as many sparse dimensions, got {a.sparse_dim} and {b.sparse_dim}"
        )
    sparse, dense = (
        (a.shape[: a.sparse_dim], b.shape[: b.sparse_dim]),
        (a.shape[a.sparse_dim :], b.shape[b.sparse_dim :]),
    )
    fits = sparse[0] == sparse[1] and len(dense[0]) == len(dense[1])
    if not fits or any(n != m and 1 not in (n, m) for n, m in zip(*dense, strict=True)):
        raise RuntimeError(
            f"mul(sparse, sparse): expected operands of one size, got {list(a.shape)} and {list(b.shape)}"
        )
    return (*sparse[0], *(m if n == 1 else n for n, m in zip(*dense, strict=True)))


def coordinates_of(tensor: Any) -> Tensor:
    """A sparse tensor as coordinates."""
    array = tensor._array
    return _compressed.to_coordinates(array) if isinstance(array, Compressed) else tensor


def _as_factor(tensor: Any, other: Any) -> Any:
    """A number, or a tensor without dimensions; None for other operands."""
    if not isinstance(other, Tensor) or not other.dim():
        return other
    return None


def _times_dense(self: Any, other: Any) -> Tensor:
    factor = _as_factor(self, other)
    if factor is not None:
        d = result_type_of((self, other))
        return with_values(self, (self._array.values * factor).to(d))
    shape = broadcast_shapes([tuple(self.shape), tuple(other.shape)])
    if tuple(shape) != tuple(self.shape):
        raise RuntimeError(
            f"mul(sparse, dense): a sparse tensor of shape {list(self.shape)} cannot be "
            f"broadcast to {list(shape)}: only the dense operand can"
        )
    return with_values(self, self._array.values * gathered(self, other.expand(shape)))


def gathered(sparse: Any, dense: Tensor) -> Tensor:
    """A dense tensor's elements at a sparse tensor's indices, in the shape of its values."""
    array = sparse._array
    where = _compressed.indices_of(array) if isinstance(array, Compressed) else array.indices
    check_within(where, array.shape[: where.shape[0]])
    if not int(where.shape[0]):
        return dense.reshape(array.values.shape)
    return dense[tuple(where)].reshape(array.values.shape)


@rule("div.Tensor")
def div(self: Any, other: Any) -> Tensor:
    return _divided(self, other, lambda values: values / other)


@rule("div.Tensor_mode")
def div_mode(self: Any, other: Any, rounding_mode: Any) -> Tensor:
    held = sorted_(self) if rounding_mode is not None and is_sparse(self) else self
    return _divided(held, other, lambda values: ops.div(values, other, rounding_mode=rounding_mode))


@rule("floor_divide")
def floor_divide(self: Any, other: Any) -> Tensor:
    return _divided(
        sorted_(self) if is_sparse(self) else self,
        other,
        lambda values: ops.floor_divide(values, other),
        "floor division",
    )


def _divided(self: Any, other: Any, divide: Callable[[Tensor], Tensor], name: str = "division") -> Tensor:
    if is_sparse(other) or _as_factor(self, other) is None:
        shape = list(other.shape)
        raise RuntimeError(
            f"Sparse {name} requires a scalar or zero-dim dense tensor divisor (got shape {shape} for divisor)"
        )
    return with_values(self, divide(self._array.values))


@rule("any")
def any_(self: Tensor) -> Tensor:
    return self._array.values.any()  # type: ignore[no-any-return]
