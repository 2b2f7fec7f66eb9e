"""``torch.onnx``: nothing is exported to ONNX; every name says so when it is called.

The remedy is ``torch.export``, whose files PyTorch reads: it exports them to ONNX.
"""

from __future__ import annotations

from .._lazy import lazy_submodules
from .._unsupported import unsupported_class, unsupported_function
from ._symbolic import (
    REMEDY,
    OperatorExportTypes,
    TrainingMode,
    register_custom_op_symbolic,
    unregister_custom_op_symbolic,
)
from .errors import OnnxExporterError

__all__ = [
    "ExportableModule", "InputObserver", "ONNXProgram", "OnnxExporterError", "OperatorExportTypes", "TrainingMode",
    "export", "is_in_onnx_export", "register_custom_op_symbolic", "select_model_mode_for_export",
    "unregister_custom_op_symbolic",
]  # fmt: skip

ExportableModule = unsupported_class("torch.onnx.ExportableModule", REMEDY)
InputObserver = unsupported_class("torch.onnx.InputObserver", REMEDY)
ONNXProgram = unsupported_class("torch.onnx.ONNXProgram", REMEDY)
export = unsupported_function("torch.onnx.export", REMEDY)
select_model_mode_for_export = unsupported_function("torch.onnx.select_model_mode_for_export", REMEDY)


def is_in_onnx_export() -> bool:
    """Whether a program is being exported to ONNX: never."""
    return False


__getattr__, __dir__ = lazy_submodules(
    __name__, "errors ops symbolic_helper utils " + " ".join(f"symbolic_opset{version}" for version in range(9, 19))
)
