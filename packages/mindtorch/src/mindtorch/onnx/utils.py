"""``torch.onnx.utils``: former homes of names of ``torch.onnx``."""

from __future__ import annotations

from typing import NoReturn

from . import export as export
from . import is_in_onnx_export as is_in_onnx_export
from ._symbolic import refuse_member
from ._symbolic import register_custom_op_symbolic as register_custom_op_symbolic
from ._symbolic import unregister_custom_op_symbolic as unregister_custom_op_symbolic

__all__: list[str] = []


def __getattr__(name: str) -> NoReturn:
    refuse_member(__name__, name)
