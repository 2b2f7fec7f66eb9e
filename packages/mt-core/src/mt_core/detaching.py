"""``detach``: a second tensor on the same memory, outside the graph."""

from __future__ import annotations

from typing import Any

from .block import block_of
from .cell import cell_of
from .keys import AUTOGRAD, MULTI_VIEW, NO_GRAD_VIEW
from .tensor import Tensor, new_tensor

__all__ = ["detach"]


def detach(self: Tensor) -> Any:
    """A tensor with the same memory and version counter that takes no part in differentiation."""
    cell = cell_of(self)
    if self._base is not None:
        block_of(self)  # the new tensor has no base to find the block from
    alias = new_tensor(self._array, self._dtype, self._keys & ~(AUTOGRAD | NO_GRAD_VIEW | MULTI_VIEW))
    alias._cell = cell
    cell.add(alias)
    return alias
