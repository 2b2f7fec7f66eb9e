"""``torch.onnx.errors``: the errors of an exporter that is not here."""

from __future__ import annotations

__all__ = ["OnnxExporterError", "OnnxExporterWarning", "SymbolicValueError", "UnsupportedOperatorError"]


class OnnxExporterWarning(UserWarning):
    """What an exporter warns of."""


class OnnxExporterError(RuntimeError):
    """What an exporter raises."""


class UnsupportedOperatorError(OnnxExporterError):
    """An operator that ONNX has not."""


class SymbolicValueError(OnnxExporterError):
    """A value that is not what an operator takes."""
