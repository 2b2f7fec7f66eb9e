"""``torch.backends.quantized``: which library computes with quantized tensors: none of PyTorch's."""

from __future__ import annotations

import sys
from types import ModuleType

from .._unsupported import refusal

__all__ = ["engine", "supported_engines"]

engine = "none"
supported_engines = ["none"]


class _Module(ModuleType):
    """Refuses engines that are not there."""

    def __setattr__(self, name: str, value: object) -> None:
        if name == "engine" and value not in supported_engines:
            raise refusal(f"torch.backends.quantized.engine = {value!r}", "The kernels are mindtorch's own: 'none'.")
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Module
