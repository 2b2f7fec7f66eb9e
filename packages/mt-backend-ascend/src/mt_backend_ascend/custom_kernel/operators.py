"""Operators of kernels: outputs, and what autograd, meta tensors and ``torch.compile`` see of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import mt_core
from mt_core.plugins.discovery import PluginError
from mt_core.tensor import Tensor

from .places import DEVICE

__all__ = ["LIKE_FIRST", "alloc_like", "ascendc_op"]

#: As `fake` of `ascendc_op`: the output has the shape, dtype and device of the first input.
LIKE_FIRST = "like_first"


def alloc_like(tensor: Tensor, shape: Sequence[int] | None = None, dtype: Any = None) -> Tensor:
    """An uninitialized tensor for a kernel to write: row by row, on the same device, of the same shape and dtype.

    Parameters
    ----------
    shape, dtype
        Where they are others.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"alloc_like() takes a tensor, not {type(tensor).__name__}")
    size = tuple(tensor.shape) if shape is None else tuple(shape)
    return mt_core.empty(size, dtype=tensor.dtype if dtype is None else dtype, device=tensor.device)


def ascendc_op(
    name: str,
    *,
    mutates_args: str | Iterable[str] = (),
    schema: str | None = None,
    fake: str | Callable[..., Any] | None = None,
) -> Callable[[Callable[..., Any]], Any]:
    """Decorator: the function, which allocates outputs and launches kernels, is an operator on device ``npu``.

    It is a ``torch.library.custom_op``: `register_autograd`, `register_kernel` and `register_fake` of what comes out
    work as there.

    Parameters
    ----------
    name
        ``"namespace::name"``.
    mutates_args
        The names of the arguments that the kernels write to.
    schema
        ``"(Tensor x) -> Tensor"``; by default inferred from the annotations.
    fake
        What the outputs are, without computing them: a function as for `register_fake`, or ``"like_first"`` where the
        one output is like the first tensor argument, to which results are then held. None: nothing is known of them,
        and meta tensors are refused.

    Raises
    ------
    PluginError
        When mt-library is not installed.
    ValueError
        For another `fake`.
    """
    if not (fake is None or fake == LIKE_FIRST or callable(fake)):
        raise ValueError(f"fake is a function, {LIKE_FIRST!r} or None, not {fake!r}")

    def make(function: Callable[..., Any]) -> Any:
        custom_op, infer_schema = _of_library()
        text = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        run = _held_to_first(name, function) if fake == LIKE_FIRST else function
        operator = custom_op(name, run, mutates_args=mutates_args, device_types=DEVICE, schema=text)
        if fake == LIKE_FIRST:
            operator.register_fake(_like_first(name))
        elif callable(fake):
            operator.register_fake(fake)
        return operator

    return make


def _of_library() -> tuple[Any, Any]:
    try:
        from mt_library.custom_ops import custom_op  # optional: launching kernels needs no operators
        from mt_library.schema_inference import infer_schema
    except ModuleNotFoundError:
        raise PluginError(
            "ascendc_op needs mt-library, which is not installed: pip install packages/mt-library"
        ) from None
    return custom_op, infer_schema


def _first_tensor(name: str, args: Sequence[Any]) -> Tensor:
    for value in args:
        if isinstance(value, Tensor):
            return value
    raise TypeError(f"{name}: fake={LIKE_FIRST!r} needs a tensor among the arguments")


def _like_first(name: str) -> Callable[..., Any]:
    def fake(*args: Any, **kwargs: Any) -> Any:
        return alloc_like(_first_tensor(name, (*args, *kwargs.values())))

    return fake


def _held_to_first(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function; what it returns is compared with what `_like_first` says."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        first, result = _first_tensor(name, (*args, *kwargs.values())), function(*args, **kwargs)
        if not isinstance(result, Tensor) or (result.shape, result.dtype) != (first.shape, first.dtype):
            got = f"{tuple(result.shape)}, {result.dtype!r}" if isinstance(result, Tensor) else type(result).__name__
            raise RuntimeError(
                f"{name} is declared with fake={LIKE_FIRST!r}, so its output is {tuple(first.shape)}, {first.dtype!r}, "
                f"and it returned {got}: give a function as fake"
            )
        return result

    return run
