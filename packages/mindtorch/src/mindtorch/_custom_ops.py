"""``torch._custom_ops``: the deprecated way to declare operators and register what belongs to them, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mt_library.fake import get_ctx as get_ctx
from mt_library.legacy_ops import custom_op as custom_op
from mt_library.legacy_ops import destroy as _destroy  # noqa: F401 - PyTorch's name
from mt_library.legacy_ops import find_or_take

__all__ = ["custom_op", "get_ctx", "impl", "impl_abstract", "impl_backward", "impl_save_for_backward"]


def _applied(decorator: Callable[..., Any], func: Callable[..., Any] | None) -> Any:
    return decorator if func is None else decorator(func)


def impl(qualname: str, *, device_types: str | Sequence[str] = ("cpu", "cuda"), func: Any = None) -> Any:
    """Register the kernel of some device types; without the function, returns a decorator.

    Raises
    ------
    ValueError
        For other devices than ``cpu`` and ``cuda``, and for an operator that does not exist.
    RuntimeError
        Where there is a kernel already.
    """
    return _applied(find_or_take(qualname).impl(device_types, _stacklevel=2), func)


def impl_abstract(qualname: str, *, func: Any = None) -> Any:
    """Register what the operator gives for tensors without memory; without the function, returns a decorator."""
    return _applied(find_or_take(qualname).impl_abstract(_stacklevel=2), func)


def impl_save_for_backward(qualname: str, *, func: Any = None) -> Any:
    """Register ``save(inputs, output)``: what it returns is what the backward gets.

    Raises
    ------
    RuntimeError
        For operators that write, return views or nothing, or have a derivative already.
    """
    return _applied(find_or_take(qualname).impl_save_for_backward(_stacklevel=2), func)


def impl_backward(qualname: str, output_differentiability: list[bool] | None = None, *, func: Any = None) -> Any:
    """Register ``backward(ctx, saved, *grads)``, which returns a dict of the gradients of tensor arguments.

    Raises
    ------
    RuntimeError
        As `impl_save_for_backward`, and for an `output_differentiability` that does not fit the results.
    """
    return _applied(find_or_take(qualname).impl_backward(output_differentiability, _stacklevel=2), func)
