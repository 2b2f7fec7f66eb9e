"""The layer of `FUNCTIONALIZE`: tensors made functional by hand, and the switch that makes new ones so."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from .. import python_dispatch
from ..dispatch.registry import Overload
from ..keys import (
    ADINPLACE_OR_VIEW,
    AUTOCAST,
    AUTOGRAD,
    FORWARD_GRAD,
    FUNCTIONALIZE,
    TRANSFORMED,
)
from ..plugins.protocols import CONTRACT
from ..state import excluding, tls
from ..tensor import Tensor
from ..thread_state import carried_over
from .calls import carried_out, parts_above, resized
from .tensors import FunctionalArray, functional, is_functional

__all__ = [
    "BY_HAND", "LAYER", "ByHand", "FunctionalizationLayer", "by_hand", "resume", "suspended", "switch_off", "switch_on",
    "to_functional",
]  # fmt: skip

#: What stands above functional tensors and has been done when a call comes to them.
_ABOVE = ADINPLACE_OR_VIEW | AUTOCAST | AUTOGRAD | FORWARD_GRAD | FUNCTIONALIZE


class _Settings(threading.local):
    reapplies_views = clones_for_libraries = False


_settings = carried_over(_Settings())


class ByHand:
    """The scope of tensors that were made functional by hand; there is one."""

    wrapper_keys = FUNCTIONALIZE
    is_alive = True

    @property
    def reapplies_views(self) -> bool:
        """Whether views of values are views, and no copies; a setting of the thread."""
        return _settings.reapplies_views

    @property
    def clones_for_libraries(self) -> bool:
        """Whether operators of libraries write to clones; a setting of the thread."""
        return _settings.clones_for_libraries

    def below(self) -> AbstractContextManager[Any]:
        return excluding(_ABOVE)

    def again(self) -> AbstractContextManager[Any]:
        return excluding(_ABOVE & ~FUNCTIONALIZE)

    def resized(self, tensor: Tensor, shape: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
        return resized(tensor, shape, strides, self)

    def text(self, array: FunctionalArray) -> str:
        return f"_to_functional_tensor({array.value!r})"


BY_HAND = ByHand()


class FunctionalizationLayer:
    """Carries calls out on what functional tensors stand for."""

    contract = CONTRACT
    dispatch_key = "FUNCTIONALIZE"

    def build(self, overload: Overload, call_keys: int, below: Callable[[], Any]) -> Callable[..., Any]:
        parts = parts_above(overload)
        if parts is not None:
            return parts
        if call_keys & TRANSFORMED:  # functional tensors are inside of what transforms take off first
            return below()

        def run(*args: Any) -> Any:
            return carried_out(overload, args, BY_HAND)

        return run

    def fallback(self, overload: Any, call_keys: int, below: Any, composite: Any) -> Callable[..., Any]:
        return self.build(overload, call_keys, below)


LAYER = FunctionalizationLayer()


def to_functional(tensor: Tensor) -> Tensor:
    """A functional tensor that stands for a tensor.

    Raises
    ------
    RuntimeError
        For a functional tensor.
    """
    if is_functional(tensor, BY_HAND):
        raise RuntimeError("_to_functional_tensor: the tensor is functional already")
    return functional(tensor, BY_HAND)


def switch_on(reapply_views: bool = False, clones_for_libraries: bool = False) -> None:
    """Let new tensors of this thread be functional.

    Parameters
    ----------
    reapply_views
        Views of values are views, and no copies.
    clones_for_libraries
        Operators of libraries that write are let write to clones, and not refused.

    Raises
    ------
    RuntimeError
        Where it is on.
    """
    if tls.include & FUNCTIONALIZE:
        raise RuntimeError(
            "multiple layers of mode-style functionalization nesting is not currently supported, outside of the "
            "functionalize() transform"
        )
    python_dispatch.arm()
    tls.include |= FUNCTIONALIZE
    tls.refresh()
    _settings.reapplies_views, _settings.clones_for_libraries = reapply_views, clones_for_libraries


def switch_off() -> None:
    """Let new tensors be ordinary ones again."""
    tls.include &= ~FUNCTIONALIZE
    tls.refresh()
    _settings.reapplies_views = _settings.clones_for_libraries = False


Settings = tuple[bool, bool]


def suspended() -> Settings | None:
    """What `switch_on` was told, for `resume`; None where it is off."""
    return (_settings.reapplies_views, _settings.clones_for_libraries) if tls.include & FUNCTIONALIZE else None


def resume(settings: Settings) -> None:
    """Switch on again with the settings of before."""
    switch_on(*settings)


class by_hand:
    """Context manager: new tensors are functional, with views as views, even where the key is left out."""

    __slots__ = ("_former",)

    def __enter__(self) -> None:
        python_dispatch.arm()
        self._former = tls.include, tls.exclude, _settings.reapplies_views, _settings.clones_for_libraries
        tls.include |= FUNCTIONALIZE
        tls.exclude &= ~FUNCTIONALIZE
        tls.refresh()
        _settings.reapplies_views, _settings.clones_for_libraries = True, True

    def __exit__(self, *exc_info: object) -> None:
        tls.include, tls.exclude, _settings.reapplies_views, _settings.clones_for_libraries = self._former
        tls.refresh()
