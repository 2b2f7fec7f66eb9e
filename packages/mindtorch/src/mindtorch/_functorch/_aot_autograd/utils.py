"""Calls of compiled graphs, which take their arguments as a list that they may empty."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["call_compiled", "make_boxed_compiler", "make_boxed_func"]


def make_boxed_func(f: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    """A function of a list that calls another one with what is in it."""

    def g(args: list[Any]) -> Any:
        return f(*args)

    g._boxed_call = True  # type: ignore[attr-defined]
    return g


def make_boxed_compiler(compiler: Callable[..., Any]) -> Callable[..., Any]:
    """A compiler that gives functions of a list, by one that gives functions of arguments."""

    @functools.wraps(compiler)
    def boxed(graph: Any, inputs: Any) -> Any:
        made = compiler(graph, inputs)
        return None if made is None else make_boxed_func(made)

    return boxed


def call_compiled(f: Callable[..., Any], args: list[Any], warns: bool = False) -> Sequence[Any]:
    """What a compiled graph gives, as a sequence; a function of a list is handed the list."""
    if getattr(f, "_boxed_call", False):
        result = f(args)
    elif not warns:
        result = f(*args)
    else:
        warnings.warn(
            "Your compiler for AOTAutograd is returning a function that doesn't take boxed arguments. Please wrap it "
            "with functorch.compile.make_boxed_func or handle the boxed arguments yourself. See "
            "https://github.com/pytorch/pytorch/pull/83137#issuecomment-1211320670 for rationale.",
            stacklevel=2,
        )
        result = f(*args)
    return result if isinstance(result, (tuple, list)) else [result]
