"""The stack of transforms, and the dispatch layer that hands every call to the innermost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dispatch.registry import Overload
from ..keys import AUTOGRAD, FUNCTION_TRANSFORM, OF_TRANSFORM, TRANSFORMED
from ..plugins.protocols import CONTRACT
from ..state import tls, unqueued

__all__ = ["FrontLayer", "Interpreter", "below", "depth_of", "innermost", "outside", "within"]


class Interpreter:
    """One transform that a thread is inside of, from ``with`` to its end.

    Attributes
    ----------
    name : str
        PyTorch's word for its kind: ``Vmap``, ``Grad``, ``Jvp``, ``Functionalize``.
    is_alive : bool
        Whether the thread is still inside. Wrappers of a transform that has ended stand for what they wrap.
    grad_enabled : bool or None
        The grad mode of the levels further out, where this one has its own; None where it shares theirs.
    own : int
        Keys that are in dispatch inside even where a program leaves them out around it: those by which the level
        records.
    """

    name = ""
    own = 0

    def __init__(self) -> None:
        self.is_alive = True
        self.grad_enabled: bool | None = None
        self._left_out = 0

    def process(self, overload: Overload, args: tuple[Any, ...]) -> Any:
        """Carry a call out; `args` are all of the schema's, in order."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        self._unqueued = unqueued()  # what levels wrap has a value
        self._unqueued.__enter__()
        tls.transforms.append(self)
        tls.include |= FUNCTION_TRANSFORM
        self._left_out = tls.exclude & self.own
        tls.exclude &= ~self.own
        tls.refresh()
        return self

    def __exit__(self, *exc_info: object) -> None:
        tls.transforms.remove(self)
        self.is_alive = False
        tls.exclude |= self._left_out
        if not tls.transforms:
            tls.include &= ~FUNCTION_TRANSFORM
        tls.refresh()
        self._unqueued.__exit__()


def innermost() -> Interpreter | None:
    """The transform that sees a call first; None outside of all."""
    return tls.transforms[-1] if tls.transforms else None


def depth_of(level: Interpreter) -> int:
    """The number of a level, counted from 1 outside in; -1 of one that has ended."""
    return tls.transforms.index(level) + 1 if level in tls.transforms else -1


class within:
    """Context manager: what is called stays inside the innermost level, whose wrappers stay on."""

    __slots__ = ("_include", "_exclude")

    def __enter__(self) -> None:
        self._include, self._exclude = tls.include, tls.exclude
        tls.include |= TRANSFORMED
        tls.exclude |= FUNCTION_TRANSFORM | OF_TRANSFORM
        tls.refresh()

    def __exit__(self, *exc_info: object) -> None:
        tls.include, tls.exclude = self._include, self._exclude
        tls.refresh()


class outside:
    """Context manager: what is called goes on to the next level outwards, as if the innermost were not there."""

    __slots__ = ("_level", "_include", "_exclude", "_grad_enabled", "_inference", "_mode")

    def __enter__(self) -> None:
        self._include, self._exclude, self._grad_enabled = tls.include, tls.exclude, tls.grad_enabled
        self._inference, self._mode = tls.inference, tls.mode
        self._level = level = tls.transforms.pop()
        tls.exclude = tls.exclude & ~(FUNCTION_TRANSFORM | OF_TRANSFORM | AUTOGRAD | level.own) | level._left_out
        tls.include &= ~TRANSFORMED
        if not tls.transforms:
            tls.include &= ~FUNCTION_TRANSFORM
        if level.grad_enabled is not None:
            tls.grad_enabled = level.grad_enabled
        tls.refresh()

    def __exit__(self, *exc_info: object) -> None:
        tls.transforms.append(self._level)
        tls.include, tls.exclude, tls.grad_enabled = self._include, self._exclude, self._grad_enabled
        if tls.inference is self._inference:
            tls.mode = self._mode
        else:
            tls.refresh()


class below:
    """Context manager: what is called goes on to the next level outwards of one, wherever the thread is inside of it.

    Where the level has ended, nothing changes.
    """

    __slots__ = ("_of", "_levels")

    def __init__(self, level: Interpreter) -> None:
        self._of = level

    def __enter__(self) -> None:
        self._levels: list[outside] = []
        while self._of in tls.transforms:
            self._levels.append(outside())
            self._levels[-1].__enter__()

    def __exit__(self, *exc_info: object) -> None:
        for level in reversed(self._levels):
            level.__exit__(*exc_info)


class FrontLayer:
    """The layer of `FUNCTION_TRANSFORM`: hands every call to the innermost transform."""

    contract = CONTRACT
    dispatch_key = "FUNCTION_TRANSFORM"

    def build(self, overload: Overload, call_keys: int, below: Callable[[], Any]) -> Callable[..., Any]:
        stack = tls

        def run(*args: Any) -> Any:
            return stack.transforms[-1].process(overload, args)

        return run

    def fallback(self, overload: Any, call_keys: int, below: Any, composite: Any) -> Callable[..., Any]:
        return self.build(overload, call_keys, below)
