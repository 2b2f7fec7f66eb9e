"""``torch.ao.nn.quantized``: of the modules with quantized weights, those that quantize their input as it comes."""

from __future__ import annotations

from typing import Any

from mt_nn.modules import MaxPool2d

from . import dynamic as dynamic
from . import modules as modules
from .modules import DeQuantize, Quantize

__all__ = ["DeQuantize", "MaxPool2d", "Quantize", "dynamic", "modules"]


def __getattr__(name: str) -> Any:
    """Refuse PyTorch's other modules by name, when they are asked for."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise AttributeError(
        f"torch.ao.nn.quantized.{name} is not supported: of quantized modules there are Quantize, DeQuantize and "
        "dynamic.Linear"
    )
