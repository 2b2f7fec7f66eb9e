"""``torch.utils._contextlib``: context managers that are decorators too."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from mt_core.autograd_state import generator_within

__all__ = ["context_decorator"]


def context_decorator(ctx: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """A function each call of which runs in a context: `ctx` itself, or a fresh ``ctx()`` if it is callable.

    The body of a generator runs there, but not what consumes it.

    Raises
    ------
    RuntimeError
        For a class, which would be decorated as a whole.
    """
    if inspect.isclass(func):
        raise RuntimeError(f"Cannot decorate classes; it is ambiguous which of the methods of {func} are meant.")
    fresh = ctx if callable(ctx) else lambda: ctx

    if inspect.isgeneratorfunction(func):
        return generator_within(fresh, func)

    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with fresh():
            return func(*args, **kwargs)

    return decorated


class _DecoratorContextManager:
    """A context manager each use of which as a decorator makes a `clone` for every call."""

    def __call__(self, orig_func: Callable[..., Any]) -> Callable[..., Any]:
        return context_decorator(self.clone, orig_func)

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        raise NotImplementedError

    def clone(self) -> _DecoratorContextManager:
        """Another one like this; to be overridden where making one takes arguments."""
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One that decorates without being called first: ``@no_grad``."""

    def __new__(cls, orig_func: Callable[..., Any] | None = None) -> Any:
        return super().__new__(cls) if orig_func is None else cls()(orig_func)
