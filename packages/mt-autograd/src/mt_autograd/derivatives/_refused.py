"""Operators whose derivative does not exist or is not known, as in PyTorch."""

from __future__ import annotations

from typing import Any

from ..rules import derivative

__all__ = ["refused_argument", "refused_operator"]


def refused_operator(name: str, *arguments: str) -> None:
    """Declare that an operator may be recorded, and that differentiating through it raises RuntimeError."""
    message = f"derivative for aten::{name.partition('.')[0]} is not implemented"

    def refuse(grad: Any) -> Any:
        raise RuntimeError(message)

    packet = name.partition(".")[0]

    def refuse_tangent(t: Any) -> Any:
        raise NotImplementedError(f"Trying to use forward AD with aten::{packet} that does not support it.")

    refused: dict[str, Any] = dict.fromkeys(arguments, refuse)
    forward: dict[str, Any] = dict.fromkeys(arguments, refuse_tangent)
    derivative(name, node="torch::autograd::NotImplemented", forward=forward, **refused)


def refused_argument(what: str) -> Any:
    """The formula of one argument that cannot be differentiated: it raises NotImplementedError."""

    def refuse(grad: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{what}' is not implemented.")

    return refuse
