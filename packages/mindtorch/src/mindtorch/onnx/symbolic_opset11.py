"""``torch.onnx.symbolic_opset11``: its functions describe operators to ONNX; there are none, and each name says so."""

from __future__ import annotations

from typing import NoReturn

from ._symbolic import refuse_member


def __getattr__(name: str) -> NoReturn:
    refuse_member(__name__, name)
