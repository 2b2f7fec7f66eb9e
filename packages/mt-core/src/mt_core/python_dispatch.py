"""Who is handed operators: subclasses with a ``__torch_dispatch__``, and the modes that a thread has entered.

Tensors of such a class carry the key `PYTHON`, and a thread includes it while a mode is on. The layer of the key (found
by its entry point) calls the handlers; what is kept here is the state that tensors and modes share with it. Nothing of
this is asked for in a program that has neither: members of a tensor that are no operators (``item``, ``detach``) are
exchanged for ones that go through dispatch when the first class or mode turns up (`mt_core.dispatched_members`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from .keys import FUNCTIONALIZE, PYTHON, TORCH_FUNCTION, WIDTH
from .overriding import disabled_torch_dispatch
from .state import effective_keys, excluding, tls
from .tensor_types import tensors_in

__all__ = [
    "arm", "as_written", "call", "dispatch_modes", "dispatches", "handing_over", "handlers_among", "has_handler",
    "has_modes", "lifts", "mode_of_kind", "pop_dispatch_mode", "pop_mode_of_kind", "push_dispatch_mode",
    "put_in_place_of_loaded", "reentrant", "refresh_modes", "when_armed", "without_modes",
]  # fmt: skip

#: What is to be done when the first dispatching class or mode turns up.
when_armed: list[Any] = []


def arm() -> None:
    """Let the members of a tensor go through dispatch from now on."""
    while when_armed:
        when_armed.pop()()


def has_handler(cls: type) -> bool:
    """Whether a class has a ``__torch_dispatch__`` that takes part in dispatch."""
    return getattr(cls, "__torch_dispatch__", disabled_torch_dispatch) is not disabled_torch_dispatch


def dispatches(tensor: Any) -> bool:
    """Whether a member of a tensor is to be handed to a handler, and no override of functions is to be asked first."""
    keys = tensor._keys | tls.mode
    if not (keys & PYTHON or keys >> WIDTH):
        return False
    return effective_keys(keys) & (PYTHON | TORCH_FUNCTION) == PYTHON


def handlers_among(values: Iterable[Any]) -> list[Any]:
    """Tensors whose class has a handler, one for each class in order, subclasses before their bases."""
    found: list[Any] = []
    for tensor in tensors_in(tuple(values)):
        cls = tensor.__class__
        if not tensor._keys & PYTHON or any(other.__class__ is cls for other in found):
            continue
        at = next((i for i, other in enumerate(found) if isinstance(tensor, other.__class__)), len(found))
        found.insert(at, tensor)
    return found


# What is left out while a handler runs


class _Snapshots(threading.local):
    #: What this thread left out before each of the handlers that it is in, the outermost first.
    excluded: tuple[int, ...] = ()


_snapshots = _Snapshots()


class handing_over(excluding):
    """Context manager: leave keys out while a handler runs, which `reentrant` may let in again."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = _snapshots.excluded
        _snapshots.excluded = (*self._before, tls.exclude)
        super().__enter__()

    def __exit__(self, *exc_info: object) -> None:
        _snapshots.excluded = self._before
        super().__exit__(*exc_info)


class reentrant:
    """Context manager: in a handler, calls are recorded, cast and transformed as the one that it was handed was."""

    __slots__ = ("_previous",)

    def __enter__(self) -> None:
        self._previous = tls.exclude
        if _snapshots.excluded:
            tls.exclude = _snapshots.excluded[-1]
            tls.refresh()

    def __exit__(self, *exc_info: object) -> None:
        tls.exclude = self._previous
        tls.refresh()


# Options of factories


class _Call(threading.local):
    #: Whether the factory that is being called was called as an operator: handlers are told its options as they are.
    is_written = False


call = _Call()


class as_written:
    """Context manager: the next factory's options are handed over as they are given.

    Functions such as ``torch.zeros`` tell handlers where the tensor is to be, whether that was said or not.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        call.is_written = True

    def __exit__(self, *exc_info: object) -> None:
        call.is_written = False


# Modes


def dispatch_modes() -> list[Any]:
    """The modes of this thread, the outermost first."""
    return tls.dispatch_modes


def push_dispatch_mode(mode: Any) -> None:
    """Make a mode the innermost of this thread; one of a kind of PyTorch's own stands outside of all that have none."""
    arm()
    modes, rank = tls.dispatch_modes, _rank(mode)
    if rank == _UNRANKED:
        modes.append(mode)
    else:
        modes.insert(sum(_rank(other) <= rank for other in modes), mode)
    refresh_modes()


#: Above the ranks of all kinds.
_UNRANKED = 1 << 8


def _rank(mode: Any) -> int:
    kind = getattr(mode, "_mode_key", None)
    return _UNRANKED if kind is None else kind.value  # type: ignore[no-any-return]


def mode_of_kind(kind: Any) -> Any:
    """The mode of a kind (``_mode_key``) in this thread, of which there is one at most; or None."""
    return next((mode for mode in tls.dispatch_modes if getattr(mode, "_mode_key", None) is kind), None)


def pop_mode_of_kind(kind: Any) -> Any:
    """Take the mode of a kind of this thread away, and return it."""
    mode = mode_of_kind(kind)
    tls.dispatch_modes.remove(mode)
    refresh_modes()
    return mode


def pop_dispatch_mode() -> Any:
    """Take the innermost mode of this thread away, and return it."""
    mode = tls.dispatch_modes.pop()
    refresh_modes()
    return mode


def refresh_modes() -> None:
    """Recompute the thread's keys after the stack of modes has changed."""
    tls.include = tls.include | PYTHON if tls.dispatch_modes else tls.include & ~PYTHON
    tls.refresh()


def has_modes() -> bool:
    """Whether a mode of this thread is handed operators."""
    return bool(tls.dispatch_modes) and not tls.exclude & PYTHON


def put_in_place_of_loaded(tensor: Any) -> Any:
    """What this thread's modes put in place of a tensor from a file (``replace_loaded``), most of them nothing."""
    for mode in reversed(tls.dispatch_modes):
        replace = getattr(mode, "replace_loaded", None)
        tensor = tensor if replace is None else replace(tensor)
    return tensor


def lifts() -> bool:
    """Whether tensors of Python data go through dispatch in this thread: for its modes, or to become functional."""
    if tls.include & FUNCTIONALIZE and not tls.exclude & FUNCTIONALIZE:
        return True
    return has_modes() or any(level.name == "Functionalize" for level in tls.transforms)


class without_modes:
    """Context manager: this thread has no modes; ``as`` gives those that it had, the outermost first."""

    __slots__ = ("_modes",)

    def __enter__(self) -> list[Any]:
        self._modes = tls.dispatch_modes
        tls.dispatch_modes = []
        refresh_modes()
        return self._modes

    def __exit__(self, *exc_info: object) -> None:
        tls.dispatch_modes = self._modes
        refresh_modes()
