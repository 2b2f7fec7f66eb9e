"""What factories do with their options ``layout=``, ``pin_memory=`` and ``requires_grad=``, also beside ``out=``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .dtypes import scalar_type_name
from .formats import layout, strided
from .pinned import pinned_factory_result
from .schema import Schema
from .tensor import Tensor

__all__ = ["call_factory", "check_flag", "check_options", "check_out_options", "pin_position", "requiring_grad"]

_LAYOUT_NAMES = {"sparse_coo": "Sparse", "sparse_csr": "SparseCsr", "sparse_csc": "SparseCsc"}


def check_options(requested: layout | None, pin_memory: bool | None) -> None:
    """Refuse layouts that do not exist here, and pinning, which is done around an operator (`call_factory`).

    Raises
    ------
    NotImplementedError
    """
    if requested is not None and requested is not strided:
        raise NotImplementedError(f"tensors of layout {requested!r} are not supported: here only torch.strided is")
    if pin_memory:
        raise NotImplementedError(
            "pin_memory=True is for factories as Python functions: call Tensor.pin_memory() instead"
        )


def pin_position(schema: Schema) -> int:
    """Where a factory's schema has ``pin_memory``; -1 for what is no factory."""
    return next((i for i, a in enumerate(schema.arguments) if a.name == "pin_memory"), -1)


def call_factory(call: Callable[..., Any], bound: list[Any], pin_at: int) -> Any:
    """Call an operator with arguments that may say ``pin_memory=True`` at position `pin_at`.

    Raises
    ------
    RuntimeError
        As `mt_core.pinned.pinned_factory_result`.
    """
    if pin_at < 0 or not bound[pin_at]:
        return call(*bound)
    return pinned_factory_result(call(*bound[:pin_at], None, *bound[pin_at + 1 :]))


def check_flag(function: str, name: str, value: Any) -> None:
    """Refuse what is neither bool nor None.

    Raises
    ------
    TypeError
        In PyTorch's words.
    """
    if not isinstance(value, (bool, type(None))):
        raise TypeError(f"{function}(): argument '{name}' must be bool, not {type(value).__name__}")


def requiring_grad(tensor: Tensor) -> Tensor:
    """A new tensor that requires grad from now on.

    Raises
    ------
    RuntimeError
        For integers, in the words that PyTorch has for factories.
    """
    if not (tensor._dtype.is_floating_point or tensor._dtype.is_complex):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return tensor._set_requires_grad()


def check_out_options(out: Tensor, options: dict[str, Any]) -> None:
    """Refuse an ``out`` of another dtype, layout or device than the options say.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    d, where, laid_out = options.get("dtype"), options.get("device"), options.get("layout")
    if d is not None and d is not out._dtype:
        raise RuntimeError(
            f"dtype {scalar_type_name(d)} does not match dtype of out parameter ({scalar_type_name(out._dtype)})"
        )
    if laid_out is not None and laid_out is not strided:
        name = _LAYOUT_NAMES.get(repr(laid_out).removeprefix("torch."), repr(laid_out))
        raise RuntimeError(f"layout {name} does not match layout of out parameter (Strided)")
    if where is not None and where.type != out.device.type:
        raise RuntimeError(f"device type {where.type} does not match device type of out parameter ({out.device.type})")
