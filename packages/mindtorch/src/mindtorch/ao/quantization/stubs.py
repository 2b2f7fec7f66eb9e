"""Modules that mark where a network's quantized part begins and ends; until it is converted they do nothing."""

from __future__ import annotations

from typing import Any

import mt_core as mt
from mt_nn.modules import Module

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]


class _Mark(Module):
    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: mt.Tensor) -> mt.Tensor:
        """The argument itself."""
        return x


class QuantStub(_Mark):
    """Where tensors are to be quantized."""


class DeQuantStub(_Mark):
    """Where tensors are to be floating-point numbers again."""


class QuantWrapper(Module):
    """A module between a `QuantStub` and a `DeQuantStub`."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.quant, self.dequant, self.module = QuantStub(qconfig), DeQuantStub(qconfig), module
        self.train(module.training)

    def forward(self, X: mt.Tensor) -> mt.Tensor:
        """What the module makes of the argument."""
        return self.dequant(self.module(self.quant(X)))
