"""``torch.ao.nn.quantized.dynamic``: modules that quantize their input as it comes."""

from __future__ import annotations

from .linear import Linear as Linear
from .linear import LinearPackedParams as LinearPackedParams

__all__ = ["Linear", "LinearPackedParams"]
