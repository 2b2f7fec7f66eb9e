"""Views that are no window of their own."""

from __future__ import annotations

from ..dispatch.registry import register_contract_kernel as contract_kernel
from ..dispatched_members import plain_detach
from ..tensor import Tensor

__all__: list[str] = []


@contract_kernel("lift_fresh")
def lift_fresh(self: Tensor) -> Tensor:
    """self -> itself: it tells handlers of a tensor that was made of Python data."""
    return self


@contract_kernel("detach")
def detach(self: Tensor) -> Tensor:
    """self -> the same memory without history."""
    return plain_detach(self)  # type: ignore[no-any-return]
