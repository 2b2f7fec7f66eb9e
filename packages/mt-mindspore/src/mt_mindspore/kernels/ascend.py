"""Kernels of the device target Ascend: `ascend_calls`, as functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindspore.ops import auto_generate

from mt_core.dispatch.registry import find_overload

from ..registry import Table
from .ascend_calls import CALLS, Call

__all__ = ["TABLE"]

TABLE = Table()


def function_of(name: str, call: Call) -> Callable[..., Any]:
    """The kernel that calls a primitive."""
    names = [argument.name for argument in find_overload(name).schema.arguments]
    primitive = getattr(auto_generate, call.primitive)()

    def run(*args: Any) -> Any:
        return primitive(*call.given(names, args))

    return run


for _name, _call in CALLS.items():
    TABLE.functions({_name: function_of(_name, _call)}, numbers=_call.numbers)
