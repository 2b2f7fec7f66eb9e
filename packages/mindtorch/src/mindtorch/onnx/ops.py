"""``torch.onnx.ops``: operators of ONNX, which are not carried out."""

from __future__ import annotations

from .._unsupported import unsupported_function
from ._symbolic import REMEDY

__all__ = ["attention", "rotary_embedding", "symbolic", "symbolic_multi_out"]

attention = unsupported_function("torch.onnx.ops.attention", REMEDY)
rotary_embedding = unsupported_function("torch.onnx.ops.rotary_embedding", REMEDY)
symbolic = unsupported_function("torch.onnx.ops.symbolic", REMEDY)
symbolic_multi_out = unsupported_function("torch.onnx.ops.symbolic_multi_out", REMEDY)
