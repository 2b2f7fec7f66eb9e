"""What sets a tensor subclass apart: the key bit of those that override functions."""

from __future__ import annotations

import copyreg
from typing import Any

from .keys import TORCH_FUNCTION
from .overriding import arm, asking, disabled_torch_dispatch
from .overriding import disabled_torch_function as disabled_torch_function
from .tensor import Tensor

__all__ = ["disabled_torch_function", "slots_of", "subclass_keys"]


def subclass_keys(cls: type[Tensor]) -> int:
    """Key bits that mark instances of a tensor class for ``__torch_function__``.

    Raises
    ------
    NotImplementedError
        Of a class with a ``__torch_dispatch__`` of its own, which nothing would call.
    """
    if getattr(cls, "__torch_dispatch__", None) not in (None, disabled_torch_dispatch):
        raise NotImplementedError(
            f"{cls.__name__} has __torch_dispatch__, which is not supported by mindtorch: operators would not be "
            "handed to it. Override __torch_function__ instead"
        )
    if cls is Tensor or not asking(cls):
        return 0
    arm()
    return TORCH_FUNCTION


def slots_of(tensor: Tensor) -> dict[str, Any]:
    """The values that a tensor has in the ``__slots__`` of its subclass."""
    own = set(copyreg._slotnames(Tensor))  # type: ignore[attr-defined]
    names = [name for name in copyreg._slotnames(type(tensor)) if name not in own]  # type: ignore[attr-defined]
    return {name: getattr(tensor, name) for name in names if hasattr(tensor, name)}
