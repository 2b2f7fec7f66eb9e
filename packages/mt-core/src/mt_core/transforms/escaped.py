"""Tensors of transforms that have outlived their level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dispatch.registry import Overload
from ..plugins.protocols import CONTRACT
from .batched import BatchedArray
from .wrapped import WrappedArray, alive, mapped

__all__ = ["EscapedLayer"]


class EscapedLayer:
    """The layer of `OF_TRANSFORM`: wrappers of ended levels stand for what they wrap, all others are refused."""

    contract = CONTRACT
    dispatch_key = "OF_TRANSFORM"

    def build(self, overload: Overload, call_keys: int, below: Callable[[], Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            return overload.call(*mapped(overload, args, _let_out))

        return run

    def fallback(self, overload: Any, call_keys: int, below: Any, composite: Any) -> Callable[..., Any]:
        return self.build(overload, call_keys, below)


def _let_out(tensor: Any) -> Any:
    tensor = alive(tensor)
    if tensor._array.__class__ is BatchedArray:
        raise RuntimeError(
            "Either your tensor may have escaped from inside a function being vmapped and this is a user error (see "
            "https://pytorch.org/functorch/stable/ux_limitations.html), or there is an internal functorch error in "
            "`gen_vmap_plumbing` Please file an issue if it looks like the latter"
        )
    if tensor._array.__class__ is WrappedArray:
        raise RuntimeError(
            "A tensor of an inner transform is used further out: in the forward of a custom function, or where levels "
            "were entered by hand. Give it to the function as an argument."
        )
    return tensor
