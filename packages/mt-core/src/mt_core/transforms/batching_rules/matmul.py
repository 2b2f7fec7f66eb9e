"""Batching rules: products. A factor that all lanes share makes one product of the rows of all lanes."""

from __future__ import annotations

import math
from typing import Any

from ... import dtypes
from ...decomp.matmul import combine
from ...dispatch.registry import find_overload
from ..batched import Lanes
from ._lanes import folded, is_shared, refuse_as_lane, require_ranks, unfolded
from ._rules import Batch, batching_rule


def _op(name: str) -> Any:
    return find_overload(name).call


def _product(batch: Batch, left: Lanes, right: Lanes) -> Any:
    """left (N, K), right (K, M) -> (B, N, M); (N, M) where all lanes share both."""
    if is_shared(left, right):
        return _op("mm")(left.value, right.value)
    if right.dim is None:
        rows = left.front()
        size, n, k = rows.shape
        return _op("mm")(rows.reshape((size * n, k)), right.value).reshape((size, n, right.shape[1]))
    return _op("bmm")(left.spread(batch.size), right.front())


def _added(self: Lanes, product: Any, rank: int, beta: Any, alpha: Any) -> Any:
    """beta * self + alpha * product, which has `rank` dimensions where all lanes share it."""
    made = combine(self.at_rank(rank), product, beta, alpha)
    return Lanes(made, None) if made.dim() == rank else made


def _require_one_dtype(batch: Batch, args: tuple[Any, ...]) -> None:
    if len({a.value._dtype for a in args if isinstance(a, Lanes)}) > 1:
        refuse_as_lane(batch, args)


def _require_factors(name: str, left: Lanes, right: Lanes, of_left: int, of_right: int) -> None:
    """Refuse factors of other numbers of dimensions.

    Raises
    ------
    RuntimeError
        In PyTorch's words under ``vmap``.
    """
    if (left.rank, right.rank) != (of_left, of_right):
        raise RuntimeError(
            f"Shape mismatch: Got incorrect dims for {name}(a, b). a has dim {left.rank}and b has dim {right.rank}but "
            f"expected them to have dim {of_left} and dim {of_right}"
        )


@batching_rule("mm")
def mm(batch: Batch, self: Lanes, mat2: Lanes) -> Any:
    _require_factors("mm", self, mat2, 2, 2)
    return _product(batch, self, mat2)


@batching_rule("_int_mm")
def int_mm(batch: Batch, self: Lanes, mat2: Lanes) -> Any:
    require_ranks(batch, (self, mat2), 2, 2)
    if any(a.value._dtype not in (dtypes.int8, dtypes.uint8) for a in (self, mat2)):
        refuse_as_lane(batch, (self, mat2))
    return _product(batch, *(Lanes(a.value.to(dtypes.int32), a.dim) for a in (self, mat2)))


@batching_rule("bmm")
def bmm(batch: Batch, self: Lanes, mat2: Lanes) -> Any:
    _require_factors("bmm", self, mat2, 3, 3)
    return _batched_product(batch, self, mat2)


def _batched_product(batch: Batch, left: Lanes, right: Lanes) -> Any:
    """left (C, N, K), right (C, K, M) -> (B, C, N, M); (C, N, M) where all lanes share both."""
    if is_shared(left, right):
        return _op("bmm")(left.value, right.value)
    if right.dim is not None:
        return unfolded(_op("bmm")(folded(left, batch.size), folded(right, batch.size)), batch.size, left.shape[0])
    count, n, k = left.shape
    rows = left.front().transpose(0, 1).reshape((count, batch.size * n, k))
    made = _op("bmm")(rows, right.value)
    return made.reshape((count, batch.size, n, made.shape[2])).transpose(0, 1)


@batching_rule("addmm")
def addmm(batch: Batch, self: Lanes, mat1: Lanes, mat2: Lanes, beta: Any, alpha: Any) -> Any:
    args = self, mat1, mat2, beta, alpha
    require_ranks(batch, args, min(self.rank, 2), 2, 2)
    if mat2.dim is not None:
        return _op("baddbmm")(self.at_rank(2), mat1.spread(batch.size), mat2.front(), beta, alpha)
    _require_one_dtype(batch, args)
    return _added(self, _product(batch, mat1, mat2), 2, beta, alpha)


@batching_rule("baddbmm")
def baddbmm(batch: Batch, self: Lanes, batch1: Lanes, batch2: Lanes, beta: Any, alpha: Any) -> Any:
    args = self, batch1, batch2, beta, alpha
    require_ranks(batch, args, min(self.rank, 3), 3, 3)
    _require_one_dtype(batch, args)
    return _added(self, _batched_product(batch, batch1, batch2), 3, beta, alpha)


@batching_rule("mv")
def mv(batch: Batch, self: Lanes, vec: Lanes) -> Any:
    _require_factors("mv", self, vec, 2, 1)
    return _general_product(batch, self, vec)


@batching_rule("addmv")
def addmv(batch: Batch, self: Lanes, mat: Lanes, vec: Lanes, beta: Any, alpha: Any) -> Any:
    args = self, mat, vec, beta, alpha
    require_ranks(batch, args, min(self.rank, 1), 2, 1)
    _require_one_dtype(batch, args)
    if not mat.value.numel() and beta != 0:
        return Lanes(self.front() * beta, None if self.dim is None else 0)
    product = _op("mv")(mat.value, vec.value) if is_shared(mat, vec) else _general_product(batch, mat, vec)
    return _added(self, product, 1, beta, alpha)


@batching_rule("dot")
def dot(batch: Batch, self: Lanes, tensor: Lanes) -> Any:
    if self.rank != 1 or tensor.rank != 1:
        raise RuntimeError("Got wrong shapes for dot")
    if self.shape != tensor.shape:
        refuse_as_lane(batch, (self, tensor))
    return _general_product(batch, self, tensor)


@batching_rule("vdot")
def vdot(batch: Batch, self: Lanes, other: Lanes) -> Any:
    require_ranks(batch, (self, other), 1, 1)
    if self.shape != other.shape:
        refuse_as_lane(batch, (self, other))
    return _general_product(batch, Lanes(self.value.conj(), self.dim), other)


@batching_rule("matmul")
def matmul(batch: Batch, self: Lanes, other: Lanes) -> Any:
    if not self.rank or not other.rank:
        refuse_as_lane(batch, (self, other))
    return _general_product(batch, self, other)


def _general_product(batch: Batch, left: Lanes, right: Lanes) -> Any:
    """left (*, N, K) or (K,), right (*, K, M) or (K,) -> (B, *, N, M) without the dimension that a vector has not."""
    _require_one_dtype(batch, (left, right))
    product = _op("matmul")
    if right.dim is None and right.rank <= 2:
        return product(left.front(), right.value)
    if left.dim is None and left.rank <= 2:
        if right.rank > 1:
            return product(left.value, right.front())
        return product(right.front(), left.value.mT if left.rank == 2 else left.value)
    rank = max(left.rank, right.rank, 2)
    made = product(_as_matrices(left, 1, rank), _as_matrices(right, 2, rank))
    if left.rank == 1:
        made = made.squeeze(-2)
    return made.squeeze(-1) if right.rank == 1 else made


def _as_matrices(lanes: Lanes, place: int, rank: int) -> Any:
    """A factor of `rank` dimensions behind that of the lanes; a vector gets a dimension at `place`."""
    value = lanes.front()
    if lanes.rank == 1:
        value = value.unsqueeze(place if lanes.dim is not None else place - 1)
    return Lanes(value, None if lanes.dim is None else 0).at_rank(rank)


@batching_rule("_linear_of_rows")
def linear_of_rows(batch: Batch, bias: Lanes, input: Lanes, weight: Lanes) -> Any:
    require_ranks(batch, (bias, input, weight), 1, 2, 2)
    return linear(batch, input, weight, bias)


@batching_rule("linear")
def linear(batch: Batch, input: Lanes, weight: Lanes, bias: Lanes | None) -> Any:
    if is_shared(weight, bias) and input.rank:
        return _op("linear")(input.front(), weight.value, None if bias is None else bias.value)
    if weight.rank == 2 and weight.dim is not None and input.rank and (bias is None or bias.rank == 1):
        return _linear_of_weights(batch, input, weight, bias)
    if not input.rank or not weight.rank or weight.rank > 2:
        refuse_as_lane(batch, (input, weight, bias))
    if is_shared(input, weight):
        made = _op("linear")(input.value, weight.value, None).unsqueeze(0)
    else:
        turned = weight.front().mT if weight.rank == 2 else weight.front()
        made = _general_product(batch, input, Lanes(turned, None if weight.dim is None else 0))
    return made if bias is None else made + bias.at_rank(made.dim() - 1)


def _linear_of_weights(batch: Batch, input: Lanes, weight: Lanes, bias: Lanes | None) -> Any:
    """input (*, K), weight (N, K) of each lane, bias (N,) -> (B, *, N), as one batched product.

    Of an input that all lanes share the weights are columns of one matrix: (*, B, N).
    """
    *lead, k = input.shape
    if input.dim is None and weight.shape[1] == k and (bias is None or bias.dim is not None):
        size, n = batch.size, weight.shape[0]
        columns = weight.front().reshape((size * n, k))
        made = _op("linear")(input.value, columns, None if bias is None else bias.front().reshape((size * n,)))
        return Lanes(made.view((*lead, size, n)), len(lead))
    rows = input.spread(batch.size)
    is_matrix = len(lead) == 1
    factors = rows if is_matrix else rows.reshape((batch.size, math.prod(lead), k)), weight.front().transpose(1, 2)
    made = _op("bmm")(*factors) if bias is None else _op("baddbmm")(bias.at_rank(2), *factors, 1, 1)
    return made if is_matrix else made.reshape((batch.size, *lead, weight.shape[0]))
