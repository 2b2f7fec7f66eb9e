"""Batching rules: linear algebra. Matrices come in batches; lanes are one more dimension in front of these."""

from __future__ import annotations

from typing import Any

from ..batched import Lanes
from ._lanes import refuse_as_lane
from ._rules import Batch, batching_rule, leading, over_dims


def _leading(batch: Batch, *args: Any) -> Any:
    """As `leading`; nothing, which stands for what was not asked for, stays nothing."""
    made = batch.overload.call(*(a.spread(batch.size) if isinstance(a, Lanes) else a for a in args))
    return tuple(_as_placeholder(batch, item) for item in made) if isinstance(made, (tuple, list)) else made


def _as_placeholder(batch: Batch, result: Any) -> Any:
    return Lanes(result, None) if batch.size and tuple(result.shape) == (0,) else result


leading(
    "_linalg_det", "geqrf", "linalg_cholesky_ex", "linalg_eig", "linalg_eigh", "linalg_eigvals", "linalg_inv_ex",
    "linalg_ldl_factor_ex", "linalg_lu_factor_ex", "linalg_matrix_exp", "linalg_slogdet", "linalg_svd",
    "linalg_householder_product", "cholesky_inverse",
)  # fmt: skip
batching_rule("linalg_qr", "lu_unpack")(_leading)
over_dims("linalg_vector_norm", "_norm_over")


def _at_one_rank(batch: Batch, *args: Any) -> Any:
    """Matrices whose batches are broadcast against each other."""
    tensors = [a for a in args if isinstance(a, Lanes)]
    if min(lanes.rank for lanes in tensors) < 2:
        refuse_as_lane(batch, args)
    rank = max(lanes.rank for lanes in tensors)
    return batch.overload.call(*(a.at_rank(rank) if isinstance(a, Lanes) else a for a in args))


batching_rule("linalg_solve_triangular", "cholesky_solve")(_at_one_rank)


def _aligned(lanes: Lanes, size: int, missing: int) -> Any:
    """With lanes in front, and so many dimensions of size 1 behind them."""
    value = lanes.spread(size)
    for _ in range(missing):
        value = value.unsqueeze(1)
    return value


@batching_rule("_linalg_check_errors")
def check_errors(batch: Batch, info: Lanes, api_name: str, is_matrix: bool) -> None:
    batch.overload.call(info.spread(batch.size), api_name, False)


@batching_rule("linalg_ldl_solve")
def ldl_solve(batch: Batch, LD: Lanes, pivots: Lanes, B: Lanes, hermitian: bool) -> Any:
    if min(LD.rank, B.rank) < 2:
        refuse_as_lane(batch, (LD, pivots, B, hermitian))
    missing = max(B.rank - LD.rank, 0)
    factors = [_aligned(lanes, batch.size, missing) for lanes in (LD, pivots)]
    return batch.overload.call(*factors, _aligned(B, batch.size, max(LD.rank - B.rank, 0)), hermitian)


@batching_rule("linalg_solve_ex")
def solve_ex(batch: Batch, A: Lanes, B: Lanes, left: bool, check_errors: bool) -> Any:
    if A.rank < 2 or not B.rank:
        refuse_as_lane(batch, (A, B, left, check_errors))
    size, is_vector = batch.size, B.rank == 1 or A.rank - 1 == B.rank and B.shape == A.shape[:-1]
    if is_vector:
        B = Lanes(B.front().unsqueeze(-1), None if B.dim is None else 0)
    missing = B.rank - A.rank
    result, info = batch.overload.call(
        _aligned(A, size, max(missing, 0)), _aligned(B, size, max(-missing, 0)), left or is_vector, check_errors
    )
    return result.squeeze(-1) if is_vector else result, info.reshape((size, *A.shape[:-2]))


@batching_rule("linalg_lstsq")
def lstsq(batch: Batch, self: Lanes, b: Lanes, rcond: Any, driver: Any) -> Any:
    if self.rank < 2 or not 0 <= self.rank - b.rank <= 1:
        return NotImplemented
    return _leading(batch, self, b, rcond, driver)


@batching_rule("linalg_pinv.atol_rtol_tensor")
def pinv(batch: Batch, self: Lanes, atol: Lanes | None, rtol: Lanes | None, hermitian: bool) -> Any:
    rank = self.rank - 2
    if rank < 0:
        refuse_as_lane(batch, (self, atol, rtol, hermitian))
    tolerances = [None if lanes is None else lanes.at_rank(rank) for lanes in (atol, rtol)]
    extra = max([lanes.rank - rank for lanes in (atol, rtol) if lanes is not None], default=0)
    value = self.at_rank(self.rank + extra) if extra > 0 else self.front()
    return batch.overload.call(value, *tolerances, hermitian)
