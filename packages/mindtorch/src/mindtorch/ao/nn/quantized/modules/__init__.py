"""``torch.ao.nn.quantized.modules``: the modules where floating-point numbers become quantized, and come back."""

from __future__ import annotations

from typing import Any

from mt_nn.modules import MaxPool2d

from .conversion import DeQuantize, Quantize

__all__ = ["DeQuantize", "MaxPool2d", "Quantize"]


def __getattr__(name: str) -> Any:
    """Refuse PyTorch's other modules by name, when they are asked for."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise AttributeError(
        f"torch.ao.nn.quantized.modules.{name} is not supported: of quantized modules there are Quantize, DeQuantize "
        "and dynamic.Linear"
    )
