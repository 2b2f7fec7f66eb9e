"""What fake tensors refuse, in PyTorch's classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = [
    "DataDependentOutputException", "DynamicOutputShapeException", "FakeTensorDeviceMismatchError",
    "MetadataMismatchError", "UnsupportedFakeTensorException", "UnsupportedOperatorException",
]  # fmt: skip


@dataclass
class UnsupportedFakeTensorException(RuntimeError):
    """A tensor that no fake tensor can stand for."""

    reason: str


@dataclass
class DynamicOutputShapeException(RuntimeError):
    """The shape of a result depends on elements, which fake tensors lack."""

    func: Any


@dataclass
class DataDependentOutputException(RuntimeError):
    """A result, which is no tensor, depends on elements, which fake tensors lack."""

    func: Any


@dataclass
class UnsupportedOperatorException(RuntimeError):
    """Nothing says what an operator returns but the operator itself."""

    func: Any


class MetadataMismatchError(RuntimeError):
    """A fake tensor is not what the real one is."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class FakeTensorDeviceMismatchError(RuntimeError):
    """Tensors of several devices meet in an operator."""
