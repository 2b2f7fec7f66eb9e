"""Registering CPU kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from mt_core.dispatch.registry import register_kernel
from mt_core.keys import CPU

__all__ = ["kernel", "kernels", "short_form"]

F = TypeVar("F", bound=Callable[..., Any])


def kernel(*names: str, half: str = "float32", ufunc: bool = False, fast: Any = None, short: Any = None,
           row_major: bool = False,
           mixed: bool = False, inplace: Any = None) -> Callable[[F], F]:  # fmt: skip
    """Decorator: the function is the CPU kernel of these overloads (`mt_core.dispatch.registry.KernelDef`)."""

    def enter(function: F) -> F:
        register_kernel(
            CPU,
            names,
            function,
            half=half,
            ufunc=ufunc,
            fast=fast,
            short=short,
            row_major=row_major,
            mixed=mixed,
            inplace=inplace,
        )
        return function

    return enter


def kernels(table: dict[str, Any], *, half: str = "float32", ufunc: bool = True) -> None:
    """Enter a table of overload name -> function; by default NumPy ufuncs, which take ``out=``."""
    for name, function in table.items():
        register_kernel(CPU, (name,), function, half=half, ufunc=ufunc)


def short_form(name: str, *, mixed: bool = False) -> Callable[[F], F]:
    """Decorator: the function is a composite's fused form, used where nothing is recorded (`KernelDef.short`)."""

    def enter(function: F) -> F:
        register_kernel(CPU, (name,), None, short=function, mixed=mixed)  # type: ignore[arg-type]
        return function

    return enter
