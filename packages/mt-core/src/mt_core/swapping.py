"""Exchanging two tensors: each object becomes what the other was."""

from __future__ import annotations

import weakref
from typing import Any

from .cell import Cell
from .dispatch.dispatcher import layer_for
from .keys import AUTOGRAD
from .tensor import Tensor

__all__ = ["swap_tensors"]

_PARTS = ("_array", "_dtype", "_keys", "_autograd", "_cell", "_base")


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange class, attributes, memory, gradient and history of two tensors, in place.

    Whoever refers to one of the objects sees what the other was. Views follow the memory that they are views of.
    Backward through a graph that used or saved one of the tensors raises, for its object is another tensor now.

    Raises
    ------
    RuntimeError
        Where weak references lead to one of them (those without a callback are seen only as long as the tensor has no
        views), their classes have different slots, or one retains the gradient of an operation's result.
    """
    _refuse_retained(t1, t2)
    _refuse_weak_references(t1, "t1")
    _refuse_weak_references(t2, "t2")
    slots = _slots_of(t1)
    if slots != _slots_of(t2):
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    version = 1 + max(t1._version, t2._version)
    followers = _tensors_beside(t1, t2)
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    for name in ("__dict__", *_PARTS, *sorted(slots)):
        _exchange(name, t1, t2)
    _let_follow(followers, t1, t2)
    required_grad = (t1._keys | t2._keys) & AUTOGRAD
    for tensor in (t1, t2):
        if required_grad:
            layer_for(AUTOGRAD).leave_identity(tensor)
        if tensor._cell is None:
            tensor._cell = Cell(tensor)
        tensor._cell.version = version


def _refuse_weak_references(tensor: Tensor, name: str) -> None:
    members = () if tensor._cell is None else tensor._cell.members
    if any(all(found is not member for member in members) for found in weakref.getweakrefs(tensor)):
        raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")


def _slots_of(tensor: Tensor) -> frozenset[str]:
    """The slots that subclasses added."""
    added: set[str] = set()
    for cls in type(tensor).__mro__:
        if cls is Tensor:
            break
        own = vars(cls).get("__slots__", ())
        added.update((own,) if isinstance(own, str) else own)
    return frozenset(added - {"__dict__", "__weakref__"})


def _refuse_retained(*tensors: Tensor) -> None:
    for tensor in tensors:
        if tensor.retains_grad:
            raise RuntimeError(
                "swap_tensors does not support tensors that retain the gradient of an operation (retain_grad). "
                "Detach it, or swap it before retain_grad() is called"
            )


def _exchange(name: str, t1: Tensor, t2: Tensor) -> None:
    missing = object()
    first, second = getattr(t1, name, missing), getattr(t2, name, missing)
    for tensor, value in ((t1, second), (t2, first)):
        if value is not missing:
            setattr(tensor, name, value)
        elif hasattr(tensor, name):
            delattr(tensor, name)


def _tensors_beside(t1: Tensor, t2: Tensor) -> list[tuple[Any, Tensor]]:
    """The views of both, each with what it is a view of."""
    cells = {id(cell): cell for cell in (t1._cell, t2._cell) if cell is not None}
    beside = [tensor for cell in cells.values() for tensor in cell.tensors()]
    return [(tensor, tensor._base) for tensor in beside if tensor._base is t1 or tensor._base is t2]


def _let_follow(followers: list[tuple[Any, Tensor]], t1: Tensor, t2: Tensor) -> None:
    other = {id(t1): t2, id(t2): t1}
    for tensor, base in followers:
        # A tensor that was itself exchanged has handed its base on.
        holder = other.get(id(tensor), tensor)
        holder._base = other[id(base)]
    cells = {id(tensor._cell): tensor._cell for tensor in (t1, t2) if tensor._cell is not None}
    for cell in cells.values():
        cell.members = [weakref.ref(other.get(id(tensor), tensor)) for r in cell.members if (tensor := r()) is not None]
