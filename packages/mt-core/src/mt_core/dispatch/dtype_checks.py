"""The declared dtypes of operators that do not promote: ``dtypes=`` of a declaration, asked where a call is described.

Elementwise operators ask for their common dtype (``check=``); others for the dtype of their first tensor argument, or
for the common one where a promotion is declared, and factories for that of their result.
The half types count as accepted wherever float32 is, since they are computed in it: that is more than PyTorch does on
the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..promotion import result_type_of
from .registry import Overload

__all__ = ["asked_after", "asked_before"]

Callee = Callable[..., Any]


def asked_after(overload: Overload, rule: Callee) -> Callee:
    """A shape rule that refuses dtypes last, as PyTorch's kernels do: errors of shapes come first."""
    if overload.declaration.kind == "factory":
        return _asked_of_result(overload, rule)
    check = _check(overload)
    if check is None:
        return rule

    def described(*args: Any) -> Any:
        made = rule(*args)
        check(args)
        return made

    return described


def _asked_of_result(overload: Overload, rule: Callee) -> Callee:
    """The rule of a factory that is not written for every dtype."""
    supported = overload.declaration.dtypes
    if supported is None:
        return rule

    def described(*args: Any) -> Any:
        made = rule(*args)
        supported.require(args, made.dtype)
        return made

    return described


def asked_before(overload: Overload, composite: Callee) -> Callee:
    """A composite that refuses dtypes first: its parts may accept them."""
    check = _check(overload)
    if check is None:
        return composite

    def run(*args: Any) -> Any:
        check(args)
        return composite(*args)

    return run


def _check(overload: Overload) -> Callable[[tuple[Any, ...]], None] | None:
    """``check(args)`` raises for the first tensor's dtype; None where an operator declares nothing."""
    supported = overload.declaration.dtypes
    if supported is None:
        return None
    positions = overload.tensor_positions
    promotes = overload.declaration.promotion is not None
    accepted = supported.accepted if supported.also is None else frozenset()
    idle = supported.idle

    def check(args: tuple[Any, ...]) -> None:
        dtype = args[positions[0]]._dtype
        if promotes and any(args[position]._dtype is not dtype for position in positions):
            dtype = result_type_of(args[position] for position in positions)
        if dtype in accepted:
            return
        if idle and supported.is_idle(args[position] for position in positions if args[position] is not None):
            return
        supported(args, dtype)
        supported.require(args, dtype)

    return check
