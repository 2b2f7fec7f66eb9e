"""Linear algebra of matrices: dimensions of a batch may be split."""

from __future__ import annotations

from ..placement_types import Shard
from ..strategies import Call, Strategy, rule
from ._common import R, everywhere

#: Operator -> how many results, all of which begin with the dimensions of the batch.
_RESULTS = {"linalg_inv_ex": 2, "linalg_cholesky_ex": 2, "linalg_qr": 2, "linalg_svd": 3, "_linalg_svd": 3,
            "linalg_eigh": 2, "_linalg_eigh": 2, "_linalg_det": 3, "_linalg_slogdet": 4, "linalg_lu_factor_ex": 3,
            "linalg_eig": 2, "linalg_solve_triangular": 1, "linalg_matrix_exp": 1}  # fmt: skip


@rule(*_RESULTS)
def of_matrices(call: Call) -> list[Strategy]:
    results = _RESULTS[call.name.partition(".")[0]]
    found = [everywhere(call, results)]
    if any(call.shape(index)[:-2] != call.shape()[:-2] for index in range(len(call.tensors))):
        return found
    for dim in range(call.ndim() - 2):
        found.append(Strategy((Shard(dim),) * results, (Shard(dim),) * len(call.tensors)))
    return found


@rule("linalg_solve_ex", "_linalg_solve_ex")
def solved(call: Call) -> list[Strategy]:
    return [everywhere(call, 2 if call.name.startswith("linalg") else 4)]


@rule("_linalg_check_errors")
def checked(call: Call) -> list[Strategy]:
    return [Strategy((R,), (R,))]  # all ranks raise, or none


@rule("diag_embed")
def diagonal_matrices(call: Call) -> list[Strategy]:
    ndim = call.ndim() + 1
    found = [everywhere(call)]
    if {call.args["dim1"] % ndim, call.args["dim2"] % ndim} == {ndim - 2, ndim - 1}:
        found += [Strategy((Shard(dim),), (Shard(dim),)) for dim in range(ndim - 2)]
    return found


@rule("diagonal")
def diagonals(call: Call) -> list[Strategy]:
    gone = {call.args["dim1"] % call.ndim(), call.args["dim2"] % call.ndim()}
    left = [dim for dim in range(call.ndim()) if dim not in gone]
    return [everywhere(call), *(Strategy((Shard(at),), (Shard(dim),)) for at, dim in enumerate(left))]
