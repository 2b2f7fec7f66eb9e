"""Declares operators of the namespace ``npu``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch as torch

__all__ = ["operator", "unsupported"]

_LIBRARY = torch.library.Library("npu", "DEF")


def operator(schema: str) -> Callable[[Callable[..., Any]], Any]:
    """Decorator: the function, written in operators, is what an operator does on every device, gradients included.

    Returns
    -------
    callable
        The operator, ``torch.ops.npu.<name>``, by its packet.
    """

    def declare(function: Callable[..., Any]) -> Any:
        name = schema.partition("(")[0]
        _LIBRARY.define(schema)
        _LIBRARY.impl(name, function, "CompositeImplicitAutograd")
        called = getattr(torch.ops.npu, name.partition(".")[0])
        called.__doc__ = function.__doc__
        return called

    return declare


def unsupported(operator: str, **given: Any) -> None:
    """Refuse arguments that an operator has no composite for.

    Raises
    ------
    NotImplementedError
        Naming the first that is given.
    """
    for name, value in given.items():
        if value:
            raise NotImplementedError(f"torch_npu.{operator}: {name}={value!r} is not supported")
