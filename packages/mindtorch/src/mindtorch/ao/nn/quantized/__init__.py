"""``torch.ao.nn.quantized``: of the modules with quantized weights, those that quantize their input as it comes."""

from __future__ import annotations

from typing import Any

from . import dynamic as dynamic

__all__ = ["dynamic"]


def __getattr__(name: str) -> Any:
    """Refuse PyTorch's other modules by name, when they are asked for."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise AttributeError(f"torch.ao.nn.quantized.{name} is not supported: of quantized modules there is dynamic.Linear")
