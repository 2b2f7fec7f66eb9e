"""``torch.utils._python_dispatch``: tensors that are made of other tensors."""

from __future__ import annotations

from typing import Any

from mt_core import Tensor

from .._unsupported import unsupported_class

__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass", "is_traceable_wrapper_subclass_type"]

TorchDispatchMode = unsupported_class(
    "torch.utils._python_dispatch.TorchDispatchMode", "Use torch.overrides.TorchFunctionMode to see calls of functions."
)


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether a class of tensors can be taken apart: it has ``__tensor_flatten__`` and ``__tensor_unflatten__``."""
    if not issubclass(t, Tensor) or t is Tensor:
        return False
    return hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether an object is a tensor that can be taken apart."""
    return isinstance(t, Tensor) and is_traceable_wrapper_subclass_type(type(t))
