"""``torch.ao.nn``: modules with quantized weights."""

from __future__ import annotations

from . import quantized as quantized

__all__ = ["quantized"]
