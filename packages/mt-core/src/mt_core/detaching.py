"""``detach``: a second tensor on the same memory, outside the graph."""

from __future__ import annotations

from typing import Any

from .block import block_of
from .cell import cell_of
from .keys import AUTOGRAD, MULTI_VIEW, NO_GRAD_VIEW, TORCH_FUNCTION
from .overrides import call_override
from .state import effective_keys, tls
from .tensor import Tensor, new_tensor

__all__ = ["detach"]

#: What an alias outside the graph does not have of its origin: a place in the graph, and a class of its own.
_NOT_INHERITED = AUTOGRAD | NO_GRAD_VIEW | MULTI_VIEW | TORCH_FUNCTION


def detach(self: Tensor) -> Any:
    """A tensor with the same memory and version counter that takes no part in differentiation."""
    if self._keys & TORCH_FUNCTION and effective_keys(self._keys | tls.mode) & TORCH_FUNCTION:
        return call_override(detach, (self,), {})
    cell = cell_of(self)
    if self._base is not None:
        block_of(self)  # the new tensor has no base to find the block from
    alias = new_tensor(self._array, self._dtype, self._keys & ~_NOT_INHERITED)
    alias._cell = cell
    cell.add(alias)
    return alias
