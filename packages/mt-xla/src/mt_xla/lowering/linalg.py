"""Solutions and factorizations. Those that tell at which minor they fail are not lowered: XLA's do not tell."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from ..calls import Call, Value
from .table import lower

__all__: list[str] = []


@lower("linalg_solve_triangular")
def _solve_triangular(call: Call, self: Value, B: Value, upper: bool, left: bool, unitriangular: bool) -> Value:
    shape = jnp.broadcast_shapes(self.shape[:-2], B.shape[:-2])
    a, b = (jnp.broadcast_to(x, (*shape, *x.shape[-2:])) for x in (self, B))
    return lax.linalg.triangular_solve(a, b, left_side=left, lower=not upper, unit_diagonal=unitriangular)


@lower("linalg_qr")
def _qr(call: Call, A: Value, mode: str) -> list[Value]:
    if A.size == 0:
        raise call.refuse("of nothing")
    if mode == "r":
        return [call.result(jnp.zeros(0, A.dtype), 0), call.result(jnp.linalg.qr(A, "r"), 1)]
    q, r = jnp.linalg.qr(A, mode)
    return [call.result(q, 0), call.result(r, 1)]


@lower("linalg_eigh")
def _eigh(call: Call, self: Value, UPLO: str) -> list[Value]:
    values, vectors = jnp.linalg.eigh(self, UPLO=UPLO.upper(), symmetrize_input=False)
    call.check(jnp.isfinite(values).all() | ~jnp.isfinite(self).all(), RuntimeError, "linalg.eigh failed to converge")
    return [call.result(values, 0), call.result(vectors, 1)]


@lower("linalg_svd")
def _svd(call: Call, A: Value, full_matrices: bool, driver: str | None) -> list[Value]:
    if A.size == 0:
        raise call.refuse("of nothing")
    return [call.result(part, place) for place, part in enumerate(jnp.linalg.svd(A, full_matrices))]


@lower("_linalg_det", "linalg_slogdet")
def _determinant(call: Call, A: Value) -> Value | list[Value]:
    if call.name == "_linalg_det":
        return call.result(jnp.linalg.det(A))
    sign, logarithm = jnp.linalg.slogdet(A)
    return [call.result(sign, 0), call.result(logarithm, 1)]
