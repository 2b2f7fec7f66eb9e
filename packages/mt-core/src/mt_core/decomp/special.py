"""Special functions written in other operators."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..dispatch.registry import register_composite as composite
from ..dispatch.writing import check_castable
from ._aliases import register_aliases
from ._numbers import times

register_aliases("special")


@composite("special_ndtr")
def ndtr(self: Any) -> Any:
    return times(1 + ops.erf(times(self, math.sqrt(0.5))), 0.5)


@composite("polygamma_")
def polygamma_(self: Any, n: int) -> Any:
    # The derivative needs the value from before it is overwritten.
    result = ops.polygamma(n, self.clone() if self.requires_grad else self)
    check_castable(result.dtype, self.dtype)
    return self.copy_(result)


@composite("mvlgamma", explicit=True)
def mvlgamma(self: Any, p: int) -> Any:
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if self.dtype is dtypes.bool:
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    self = self.contiguous()
    total = ops.lgamma(self)
    for k in range(1, p):
        total = total + ops.lgamma(self - 0.5 * k)
    return total + p * (p - 1) / 4 * math.log(math.pi)


@composite("special_round")
def round_(self: Any, decimals: int) -> Any:
    return ops.round(self, decimals=decimals)


@composite("special_softmax")
def softmax(self: Any, dim: int, dtype: Any) -> Any:
    return ops.softmax(self, dim, dtype)


@composite("special_log_softmax")
def log_softmax(self: Any, dim: int, dtype: Any) -> Any:
    return ops.log_softmax(self, dim, dtype)
