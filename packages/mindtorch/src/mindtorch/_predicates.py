"""Questions about Python objects that PyTorch answers at the top level."""

from __future__ import annotations

from typing import Any

from mt_core import Tensor
from mt_core.storage import UntypedStorage
from mt_core.typed_storage import TypedStorage

__all__ = ["is_storage", "is_tensor", "typename"]


def is_tensor(obj: Any) -> bool:
    """Whether the object is a tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj: Any) -> bool:
    """Whether the object is a storage, typed or untyped."""
    return isinstance(obj, (TypedStorage, UntypedStorage))


def typename(obj: Any) -> str:
    """The dotted name of a type, a function, or an object's type; ``torch.FloatTensor`` for a float32 tensor."""
    if isinstance(obj, Tensor):
        return obj.type()
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", None)
    return named.__qualname__ if module in (None, "builtins") else f"{module}.{named.__qualname__}"
