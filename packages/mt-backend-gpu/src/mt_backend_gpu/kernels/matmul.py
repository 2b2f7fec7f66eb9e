"""Products of floating types by cuBLAS, in the storage type: one call, which takes transposed matrices as they are."""

from __future__ import annotations

from typing import Any

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import bfloat16, float16, float32, float64

from ..products import product
from ..registry import kernel

_FLOATING = Accepts(dtypes={bfloat16, float16, float32, float64})


@kernel("mm", "bmm", half="native", accepts=_FLOATING)
def mm(self: Any, mat2: Any) -> Any:
    """self (*, M, K), mat2 (*, K, N) -> (*, M, N)."""
    return product(self, mat2)


@kernel("addmm", "baddbmm", half="native", accepts=_FLOATING)
def addmm(self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    """self broadcast to (*, M, N), mat1 (*, M, K), mat2 (*, K, N) -> (*, M, N); rounded once."""
    return product(mat1, mat2, float(beta), float(alpha), self)


@kernel("_linear_of_rows", half="native", accepts=_FLOATING)
def linear_of_rows(bias: Any, input: Any, weight: Any) -> Any:
    """bias (N,), input (M, K), weight (N, K) -> (M, N); rounded once."""
    return product(input, weight.T, 1.0, 1.0, bias)
