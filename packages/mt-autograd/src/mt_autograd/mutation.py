"""Saved tensors that may be changed: copied when somebody is about to write to their memory.

While a `MutationContext` is active, what is saved for backward is a `Handle`, and a layer below autograd sees every
operator that writes: what has been saved of the memory that it writes to is cloned first, each state of a tensor once.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

from mt_core.cell import Cell, cell_of
from mt_core.dispatch.dispatcher import register_layer
from mt_core.dispatch.registry import Overload
from mt_core.dispatch.view_steps import noting
from mt_core.keys import ADINPLACE_OR_VIEW
from mt_core.plugins.protocols import CONTRACT, FALLTHROUGH
from mt_core.state import including
from mt_core.tensor import Tensor
from mt_core.tensor_types import tensors_in
from mt_core.thread_state import carried_over

from .modes import recording
from .node import NO_EDGE
from .saved import check_version, version_of

__all__ = ["MutationContext", "allowing_mutation", "is_active", "register"]

Callee = Callable[..., Any]


class Handle:
    """Stands for a saved tensor in the graph: while it lives, backward may ask for the tensor."""

    __slots__ = ("__weakref__", "identity")

    def __init__(self, identity: tuple[int, int]) -> None:
        self.identity = identity


class MutationContext:
    """What is saved under one ``allow_mutation_on_saved_tensors``; all of it is forgotten at its end.

    Attributes
    ----------
    original : WeakKeyDictionary of Handle to Tensor
        What has been saved and not been written to since.
    cloned : WeakKeyDictionary of Handle to Tensor
        The copies of what has been written to since.
    tid_to_weakhandle : WeakValueDictionary of (int, int) to Handle
        The handle of each tensor, by its identity and version, so that what is saved twice is copied once.
    """

    def __init__(self) -> None:
        self.original: WeakKeyDictionary[Handle, tuple[Tensor, int]] = WeakKeyDictionary()
        self.cloned: WeakKeyDictionary[Handle, Tensor] = WeakKeyDictionary()
        self.tid_to_weakhandle: WeakValueDictionary[tuple[int, int], Handle] = WeakValueDictionary()
        self._on_memory: WeakKeyDictionary[Cell, WeakSet[Handle]] = WeakKeyDictionary()

    def pack(self, tensor: Tensor) -> Handle:
        """The handle to save in place of a tensor."""
        cell = cell_of(tensor)
        identity = (id(tensor), cell.version)
        handle = self.tid_to_weakhandle.get(identity)
        if handle is None:
            handle = self.tid_to_weakhandle[identity] = Handle(identity)
            self.original[handle] = tensor, cell.version
            self._on_memory.setdefault(cell, WeakSet()).add(handle)
        return handle

    def unpack(self, handle: Handle) -> Tensor:
        """The tensor as it was when it was saved.

        Raises
        ------
        AssertionError
            When it was saved in another context, or this one has ended.
        RuntimeError
            When its memory was changed by something that is no operator.
        """
        clone = self.cloned.get(handle)
        if clone is not None:
            return clone
        if handle not in self.original:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph was "
                "originally recorded."
            )
        tensor, version = self.original[handle]
        check_version(tensor, version_of(tensor), version, NO_EDGE)
        return tensor

    def about_to_write(self, tensor: Tensor) -> None:
        """Clone what has been saved of the tensor's memory."""
        cell = tensor._cell
        for handle in self._on_memory.pop(cell, ()) if cell is not None else ():
            with recording(False):
                self.cloned[handle] = self.original.pop(handle)[0].clone()
            # The next tensor of this identity is another one.
            del self.tid_to_weakhandle[handle.identity]

    def clear(self) -> None:
        for table in (self.original, self.cloned, self.tid_to_weakhandle, self._on_memory):
            table.clear()  # type: ignore[attr-defined]


class _Active(threading.local):
    context: MutationContext | None = None


_active = carried_over(_Active())


class MutationLayer:
    """Tells the thread's context of every operator that writes, and keeps by which calls views are made."""

    contract = CONTRACT
    dispatch_key = "ADINPLACE_OR_VIEW"

    def build(self, overload: Overload, call_keys: int, below: Callable[[], Callee]) -> Callee:
        written = [i for i, argument in enumerate(overload.schema.arguments) if argument.writes]
        if not written:
            return noting(overload, below()) or FALLTHROUGH
        handled = below()

        def run(*args: Any) -> Any:
            context = _active.context
            if context is not None:
                for tensor in tensors_in([args[i] for i in written]):
                    context.about_to_write(tensor)
            return handled(*args)

        return run

    def fallback(
        self, overload: Overload, call_keys: int, below: Callable[[], Callee], composite: Callee | None
    ) -> Callee:
        return below()


@cache
def register() -> None:
    """Enter the layer: from the first context on, as programs without one pay nothing."""
    register_layer(ADINPLACE_OR_VIEW, MutationLayer())


def is_active() -> bool:
    """Whether this thread is in a context."""
    return _active.context is not None


@contextlib.contextmanager
def allowing_mutation() -> Iterator[MutationContext]:
    """A context for this thread, of which the layer is told.

    Raises
    ------
    RuntimeError
        In PyTorch's words, where one is active.
    """
    if _active.context is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    register()
    context = _active.context = MutationContext()
    try:
        with including(ADINPLACE_OR_VIEW):
            yield context
    finally:
        context.clear()
        _active.context = None
