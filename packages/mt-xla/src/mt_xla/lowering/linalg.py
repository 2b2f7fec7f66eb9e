"""Solutions. Factorizations tell at which minor they fail, which XLA's do not: these are not lowered."""

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
