"""``torch.onnx.symbolic_helper``: what libraries decorate their functions for ONNX with."""

from __future__ import annotations

from typing import NoReturn

from ._symbolic import parse_args, refuse_member

__all__ = ["parse_args"]


def __getattr__(name: str) -> NoReturn:
    refuse_member(__name__, name)
