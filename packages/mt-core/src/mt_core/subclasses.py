"""What sets a tensor subclass apart: the key bit of those that override functions."""

from __future__ import annotations

from .keys import TORCH_FUNCTION
from .overriding import arm, asking, disabled_torch_dispatch
from .overriding import disabled_torch_function as disabled_torch_function
from .tensor import Tensor

__all__ = ["disabled_torch_function", "subclass_keys"]


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
