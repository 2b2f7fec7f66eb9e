"""Names of types in messages, as PyTorch writes them."""

from __future__ import annotations

from typing import Any

from mt_core import Tensor

__all__ = ["type_name"]


def type_name(value: Any) -> str:
    """``torch.FloatTensor`` for a float32 tensor; for anything else the full name of its type, or its own."""
    if isinstance(value, Tensor):
        return value.type()
    named = value if hasattr(value, "__qualname__") else type(value)
    module = getattr(named, "__module__", None) or "builtins"
    if module == "builtins":
        return named.__qualname__
    package, _, rest = module.partition(".")
    module = f"torch.nn.{rest}" if package == "mt_nn" else module
    return f"{module}.{named.__qualname__}"
