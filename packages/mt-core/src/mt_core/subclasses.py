"""What makes a tensor class a subclass for ``__torch_function__``, and what keeps one from being seen as such."""

from __future__ import annotations

from typing import Any

from .keys import TORCH_FUNCTION
from .state import excluding
from .tensor import Tensor

__all__ = ["disabled_torch_function", "subclass_keys"]


def subclass_keys(cls: type[Tensor]) -> int:
    """Key bits that mark instances of a tensor class for ``__torch_function__``."""
    return 0 if cls is Tensor or cls.__torch_function__ is disabled_torch_function else TORCH_FUNCTION


def disabled_torch_function(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """A ``__torch_function__`` that overrides nothing.

    Assign it in a subclass to keep the fast path (as `Parameter` does).
    """
    with excluding(TORCH_FUNCTION):
        return func(*args, **(kwargs or {}))
