"""``torch.ao``: quantization; of it, what `quantization` and `nn` have."""

from __future__ import annotations

from . import nn as nn
from . import quantization as quantization

__all__ = ["nn", "quantization"]
