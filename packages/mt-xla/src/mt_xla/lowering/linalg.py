"""Factorizations and solutions, of float32 and float64."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from ..calls import Call, Value
from .table import lower

__all__: list[str] = []


@lower("linalg_cholesky_ex")
def _cholesky(call: Call, self: Value, upper: bool, check_errors: bool) -> list[Value]:
    if check_errors:
        raise call.refuse("with check_errors=True")
    lower_factor = lax.linalg.cholesky(jnp.tril(self) + _transposed(jnp.tril(self, -1)), symmetrize_input=False)
    failed = jnp.isnan(lower_factor).any((-2, -1))
    return [_transposed(lower_factor) if upper else lower_factor, call.result(failed, 1)]


def _transposed(x: Value) -> Value:
    return jnp.conj(x.swapaxes(-2, -1))


@lower("linalg_solve_triangular")
def _solve_triangular(call: Call, self: Value, B: Value, upper: bool, left: bool, unitriangular: bool) -> Value:
    shape = jnp.broadcast_shapes(self.shape[:-2], B.shape[:-2])
    a, b = (jnp.broadcast_to(x, (*shape, *x.shape[-2:])) for x in (self, B))
    return lax.linalg.triangular_solve(a, b, left_side=left, lower=not upper, unit_diagonal=unitriangular)


@lower("linalg_inv_ex")
def _inverse(call: Call, A: Value, check_errors: bool) -> list[Value]:
    if check_errors:
        raise call.refuse("with check_errors=True")
    found = jnp.linalg.inv(A)
    return [found, call.result(~jnp.isfinite(found).all((-2, -1)), 1)]
