"""Triangles of matrices for backends that have a kernel for ``where``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..api import _functions as ops
from ..construct import tensor
from ..dispatch.registry import register_composite as composite


def _below(self: Any, diagonal: int) -> Any:
    """self (*, M, N) -> (M, N), where elements lie on a diagonal or below it: made on the host."""
    rows, columns = self._array.shape[-2:]
    return tensor(np.arange(rows)[:, None] + diagonal >= np.arange(columns), device=self.device)


@composite("tril", explicit=True)
def tril(self: Any, diagonal: int) -> Any:
    """self (*, M, N) -> (*, M, N)."""
    return ops.where(_below(self, diagonal), self, self.new_zeros(()))


@composite("triu", explicit=True)
def triu(self: Any, diagonal: int) -> Any:
    """self (*, M, N) -> (*, M, N)."""
    return ops.where(_below(self, diagonal - 1), self.new_zeros(()), self)
