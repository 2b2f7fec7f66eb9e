"""What sets a tensor subclass apart: the key bit of those that override functions."""

from __future__ import annotations

from .keys import TORCH_FUNCTION
from .overriding import arm, asking
from .overriding import disabled_torch_function as disabled_torch_function
from .tensor import Tensor

__all__ = ["disabled_torch_function", "subclass_keys"]


def subclass_keys(cls: type[Tensor]) -> int:
    """Key bits that mark instances of a tensor class for ``__torch_function__``."""
    if cls is Tensor or not asking(cls):
        return 0
    arm()
    return TORCH_FUNCTION
