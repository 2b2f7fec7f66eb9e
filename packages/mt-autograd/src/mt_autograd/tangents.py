"""Tangents of forward mode: where they are kept, and the levels that they belong to.

A *level* is one differentiation by forward mode: everything that is made of a dual tensor while the level is open has a
tangent there. A tensor keeps its tangents by the number of their level (``AutogradState.tangents``), and has the
dispatch key `FORWARD_GRAD` exactly as long as it has one.

Levels nest. A level that is entered later has a larger number, and is the inner one: the layer
(`mt_autograd.forward_layer`) takes the tangents of the largest number among a call's first, and runs the operator and
the formula of its tangent *below* that level, where only tangents of smaller numbers are seen. So the tangent of an
inner level has tangents of its own at the outer ones, and no level is confused with another.

For those who build on it (interpreters of ``torch.func``, ``torch.autograd.forward_ad``)::

    number = enter_level()
    try:
        dual = make_dual(primal, tangent, number)   # a view of primal, with that tangent
        result = function(dual)
        value, tangent = unpack(result, number)     # a view without tangents of this level, the tangent or None
    finally:
        exit_level(number)                          # tangents of this level are forgotten everywhere

What a level makes of a wrapper that stands for tensors of an outer transform is up to the wrapper: operators and
formulas are dispatched on whatever tensor the primal and the tangent are, with the key `FORWARD_GRAD` left out (at the
outermost level) or its level hidden (at inner ones). `below` hides a level for calls of one's own.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Iterable
from functools import cache
from typing import Any
from weakref import ref

from mt_core.autograd_state import AutogradState
from mt_core.dispatch.dispatcher import register_layer
from mt_core.dispatch.registry import overload
from mt_core.hollow import is_hollow
from mt_core.keys import CONJUGATE, FORWARD_GRAD, NEGATIVE, STRIDED, TORCH_FUNCTION
from mt_core.state import excluding, tls
from mt_core.tensor import Tensor
from mt_core.thread_state import carried_over
from mt_core.transforms.batched import hidden_from

__all__ = [
    "below", "enter_level", "exit_level", "give", "give_all", "laid_out_as", "make_dual",
    "refuse_other_shape", "stored_as", "tangent_of", "top_level", "unpack",
]  # fmt: skip

_alias = overload("alias", "view")
_zeros_like = overload("zeros_like", "creation")
_READ_OTHERWISE = CONJUGATE | NEGATIVE


class _Level:
    """An open level: the tensors that have a tangent there, for when it is left."""

    __slots__ = ("_members", "_sweep_at", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self._members: list[ref[Tensor]] = []
        self._sweep_at = 64

    def add(self, tensor: Tensor) -> None:
        members = self._members
        members.append(ref(tensor))
        if len(members) > self._sweep_at:
            members[:] = [member for member in members if member() is not None]
            self._sweep_at = max(64, 2 * len(members))

    def close(self) -> None:
        for member in self._members:
            tensor = member()
            if tensor is not None:
                _forget(tensor, self.number)


_numbers = itertools.count()
_open: dict[int, _Level] = {}


class _View(threading.local):
    """Below which level this thread is; tangents from there on are not seen."""

    def __init__(self) -> None:
        self.limit = math.inf


_view = carried_over(_View())


@cache
def _register() -> None:
    """Enter the layer, before the first level of all: a program without levels pays nothing.

    It is entered by the name of its entry point, for its module keeps tangents by this one.
    """
    register_layer(FORWARD_GRAD, "forward")


# Levels


def enter_level() -> int:
    """Open a level inside of all that are open; its number."""
    _register()
    number = next(_numbers)
    _open[number] = _Level(number)
    return number


def exit_level(number: int) -> None:
    """Close a level: its tangents are gone."""
    _open.pop(number).close()


class below:
    """Context manager: the tangents of a level, and of those inside of it, are not seen in this thread."""

    __slots__ = ("_exclude", "_level", "_limit", "has_more")

    def __init__(self, level: int) -> None:
        self._level = level
        #: Whether there are levels further out, whose tangents are seen.
        self.has_more = any(number < level for number in _open)

    def __enter__(self) -> below:
        self._limit, self._exclude = _view.limit, tls.exclude
        _view.limit = self._level
        if not self.has_more:
            tls.exclude |= FORWARD_GRAD
            tls.refresh()
        return self

    def __exit__(self, *exc_info: object) -> None:
        _view.limit, tls.exclude = self._limit, self._exclude
        tls.refresh()


# Tangents


def tangent_of(tensor: Any, level: int) -> Any:
    """The tangent that a tensor has at a level; None where it has none, or is no tensor."""
    if not getattr(tensor, "_keys", 0) & FORWARD_GRAD:
        return None
    return tensor._autograd.tangents.get(level)


def top_level(tensors: Iterable[Any]) -> int | None:
    """The largest number of a level, among those that are seen, at which one of the tensors has a tangent.

    In inference mode none is seen.
    """
    if tls.inference or tls.exclude & FORWARD_GRAD:
        return None
    top, limit = -1, _view.limit
    for tensor in tensors:
        if tensor._keys & FORWARD_GRAD:
            for level in tensor._autograd.tangents:
                if top < level < limit:
                    top = level
    return None if top < 0 else top


def give(tensor: Tensor, tangent: Tensor, level: int) -> None:
    """Let a tensor have a tangent, in place of the one that it may have."""
    state = tensor._autograd
    if state is None:
        state = tensor._autograd = AutogradState()
    if not tensor._keys & FORWARD_GRAD:
        state.tangents = {}
        tensor._keys |= FORWARD_GRAD
    if level not in state.tangents:
        _open[level].add(tensor)
    state.tangents[level] = tangent


def give_all(tensor: Tensor, tangents: dict[int, Tensor]) -> Tensor:
    """Let a tensor have the tangents of another; returns it."""
    for level, tangent in tangents.items():
        give(tensor, tangent, level)
    return tensor


def _forget(tensor: Tensor, level: int) -> None:
    if tensor._keys & FORWARD_GRAD:
        tangents = tensor._autograd.tangents  # type: ignore[union-attr]
        tangents.pop(level, None)
        if not tangents:
            tensor._keys &= ~FORWARD_GRAD


def make_dual(primal: Tensor, tangent: Tensor, level: int) -> Tensor:
    """A view of a tensor that has a tangent at a level, of its own shape and laid out as it is.

    Raises
    ------
    RuntimeError
        In PyTorch's words, for another shape, and where the tensor or the tangent has a tangent there.
    """
    if tangent_of(primal, level) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not "
            "supported."
        )
    if tangent_of(tangent, level) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level0 is not supported."
        )
    refuse_other_shape(primal, tangent)
    with below(level), excluding(TORCH_FUNCTION):
        dual = _alias.call(primal)
        if hidden_from(primal) - hidden_from(tangent):
            tangent = _zeros_like.call(primal, None, None, None, None, None) + tangent  # each lane may write to its own
        laid_out_alike = stored_as(laid_out_as(tangent, primal), primal)
    give(dual, laid_out_alike, level)
    return dual  # type: ignore[no-any-return]


def refuse_other_shape(primal: Tensor, tangent: Tensor) -> None:
    """Raise PyTorch's RuntimeError for a tangent of another shape than its primal."""
    if tuple(primal.shape) != tuple(tangent.shape):
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(primal.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )


def unpack(dual: Tensor, level: int) -> tuple[Tensor, Tensor | None]:
    """A view without the tangent of a level, and that tangent."""
    tangent = tangent_of(dual, level)
    with below(level), excluding(TORCH_FUNCTION):
        return _alias.call(dual), tangent


def laid_out_as(tangent: Tensor, primal: Tensor) -> Tensor:
    """The tangent itself, or a copy with the strides of its primal, so that views of one are views of the other."""
    if (tangent._keys ^ primal._keys) & _READ_OTHERWISE or not _has_strides_of(tangent, primal):
        laid_out = tangent.new_empty_strided(primal.shape, primal.stride())
        if primal._keys & CONJUGATE:
            laid_out = laid_out._conj()
        if primal._keys & NEGATIVE:
            laid_out = laid_out._neg_view()
        return laid_out.zero_().copy_(tangent)  # where indices share an element, each writes the same
    return tangent


def stored_as(tangent: Tensor, primal: Tensor) -> Tensor:
    """The tangent itself, or a copy in memory of the extent of its primal's, which ``as_strided`` may reach all of."""
    if _is_all_of_its_memory(primal) and _is_all_of_its_memory(tangent) or is_hollow(primal) or is_hollow(tangent):
        return tangent
    if primal.shape != tangent.shape or primal._dtype is not tangent._dtype or primal._keys & _READ_OTHERWISE:
        return tangent
    size, offset = primal.untyped_storage().nbytes(), primal.storage_offset()
    if not primal.numel() or size == tangent.untyped_storage().nbytes() and offset == tangent.storage_offset():
        return tangent
    memory = tangent.new_empty(size // primal._dtype.itemsize).zero_()
    return memory.as_strided(primal.shape, primal.stride(), offset).copy_(tangent)


def _is_all_of_its_memory(tensor: Tensor) -> bool:
    """Whether a tensor is known, without a look at its memory, to be all of it."""
    cell = tensor._cell
    if cell is None:
        return True
    first = cell.members[0]()
    return (
        cell.block is None and tensor._base is None and first is not None and first._array.shape == tensor._array.shape
    )


def _has_strides_of(tangent: Tensor, primal: Tensor) -> bool:
    if not (tangent._keys | primal._keys) & STRIDED:
        return True
    pairs = zip(primal.shape, tangent.stride(), primal.stride(), strict=True)
    return all(size < 2 or own == given for size, own, given in pairs)
