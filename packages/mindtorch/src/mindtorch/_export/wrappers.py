"""``torch._export.wrappers``: marks of constructors and of ``Function.apply`` for ``torch.export``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import compiler

__all__ = ["allow_in_pre_dispatch_graph", "mark_subclass_constructor_exportable_experimental"]

_HERE = "torch._export.wrappers"


def mark_subclass_constructor_exportable_experimental(constructor_subclass: Callable[..., Any]) -> Callable[..., Any]:
    """Mark the ``__init__`` of a tensor subclass as one that an exported graph may hold; outside of export it is plain.

    Raises
    ------
    RuntimeError
        For another function than ``__init__``.
    NotImplementedError
        From the constructor, while a program is being exported: graphs hold no subclasses here.
    """
    if constructor_subclass.__name__ != "__init__":
        raise RuntimeError(
            f"{_HERE}.mark_constructor_exportable_experimental can only be applied on subclass tensor.__init__But, you "
            f"are adding it on {constructor_subclass.__name__} which is not supported. If __init__ doesn't exist on "
            "your subclass, please add it. Look at DTensor.__init__ implementation for example"
        )
    return _refused_while_exporting(constructor_subclass)


def allow_in_pre_dispatch_graph(func: Callable[..., Any]) -> Callable[..., Any]:
    """`mark_subclass_constructor_exportable_experimental`, and the same for the ``apply`` of a ``Function``.

    Raises
    ------
    RuntimeError
        For any other function.
    """
    if func.__name__ == "__init__":
        return mark_subclass_constructor_exportable_experimental(func)
    if func.__name__ != "apply":
        raise RuntimeError(
            f"{_HERE}.allow_in_pre_dispatch_graph can only be applied on subclass tensor.__init_ or "
            f"custom_autograd_function.apply. But, you are adding it on {func.__name__} which is not supported. If "
            "__init__ doesn't exist on your subclass, please add it. Look at DTensor.__init__ implementation for "
            "example. If you are adding it on custom autograd function, please add it on apply method. If anything "
            "else, file an issue on github and we may consider extending our support. "
        )
    return _refused_while_exporting(func)


def _refused_while_exporting(func: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        if compiler.is_exporting():
            raise NotImplementedError(f"torch.export: a graph cannot hold a call of {func.__qualname__}")
        return func(*args, **kwargs)

    return call
