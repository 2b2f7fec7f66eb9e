"""Adding a gradient to a leaf's ``.grad``."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

from mt_core.autograd_state import is_grad_enabled
from mt_core.block import block_of
from mt_core.dispatch.memory import is_dense
from mt_core.formats import contiguous_format
from mt_core.keys import AUTOGRAD, COMPOUND, FORWARD_GRAD, HOLLOW, MULTI_VIEW, NO_GRAD_VIEW, PYTHON, SPARSE, STRIDED
from mt_core.sparse.tensors import coordinates, is_coo
from mt_core.state import tls
from mt_core.tensor import Tensor

__all__ = ["accumulate", "add_to", "new_gradient", "summed"]

#: One backward at a time adds to a ``.grad``: leaves are shared by the graphs of several threads.
_lock = threading.Lock()


def _references(holder: Sequence[Any]) -> int:
    return sys.getrefcount(holder[0])


#: What `_references` counts for an object that nothing but the sequence refers to. Asked of Python itself, because the
#: references that a call adds differ between its versions. A gradient with that count belongs to the caller alone: no
#: hook, no other edge and no user can see it become ``.grad`` instead of being copied.
_UNSHARED = _references([object()])


def _references_at(items: Sequence[Any], index: int) -> tuple[Any, int]:
    """An item, and how many references there are to it."""
    item = items[index]
    return item, sys.getrefcount(items[index])


def _references_of_base(tensor: Any) -> tuple[Any, int]:
    """The base of a view, and how many references there are to it."""
    base = tensor._base
    return base, sys.getrefcount(tensor._base)


def _references_of_block(cell: Any) -> tuple[Any, int]:
    """The block of a cell, and how many references there are to it."""
    block = cell.block
    return block, sys.getrefcount(cell.block)


def _references_of_memory(tensor: Any, memory_of: Callable[[Any], Any]) -> int:
    """How many references there are to what owns the memory of a tensor's array."""
    memory = memory_of(tensor._array)
    return sys.getrefcount(memory)


#: What these count where there are no others.
_UNSHARED_AT = _references_at([object()], 0)[1]
_UNSHARED_BASE = _references_of_base(SimpleNamespace(_base=object()))[1]
_UNSHARED_BLOCK = _references_of_block(SimpleNamespace(block=object()))[1]
_UNSHARED_MEMORY = _references_of_memory(SimpleNamespace(_array=object()), lambda array: array)


def add_to(sums: list[Any], index: int, grad: Tensor, results: Sequence[Any]) -> None:
    """Add a gradient to the one at an index of `sums`; `results` is what the caller holds of both besides.

    The sum is made in place where nobody else has what it is added to: that saves its memory, and is what PyTorch
    does, whose gradients count these writes.
    """
    present, references = _references_at(sums, index)
    held = _UNSHARED_AT + sum([result is present for result in results])
    if (
        not is_grad_enabled()
        and not tls.include & PYTHON  # handlers are told of a sum that is new, as in PyTorch
        and references == held
        and present is not grad
        and present.__class__ is grad.__class__ is Tensor
        and not (present._keys | grad._keys) & HOLLOW  # of lanes of a batch, say, what they share takes no sum
        and present._base is None
        and _is_alone(present)
        and (not present._keys & STRIDED or is_dense(present))
    ):
        present.add_(grad)
    else:
        sums[index] = summed(present, grad)


def summed(present: Tensor, grad: Tensor) -> Tensor:
    """The sum of two gradients; of a sparse and a dense one it is dense, and wants the dense one first."""
    return grad + present if present._keys & ~grad._keys & SPARSE else present + grad


def _is_alone(tensor: Tensor) -> bool:
    """Whether no other tensor, storage or array lies on the tensor's memory, but a base that nobody has any more."""
    base, references = _references_of_base(tensor)
    cell = tensor._cell
    if cell is None:
        return _has_memory_alone(tensor, 0)
    if cell.is_exported or base is not None and references != _UNSHARED_BASE:
        return False
    block, references = _references_of_block(cell)
    if block is not None and (block.attributes or references != _UNSHARED_BLOCK or len(block.tensors()) > 2):
        return False
    if len(cell.tensors()) != (1 if base is None else 2):
        return False
    return _has_memory_alone(tensor if base is None else base, (base is not None) + (block is not None))


def _has_memory_alone(tensor: Tensor, known: int) -> bool:
    """Whether the backend has no other array on the memory of a tensor that is no view than its own and `known` others.

    A kernel may have made it of its argument's memory (``_unsafe_view``), which the core does not see. Where the
    backend does not tell whose the memory is, it counts as somebody else's.
    """
    memory_of = getattr(tensor._backend, "memory_of", None)
    return memory_of is not None and _references_of_memory(tensor, memory_of) == _UNSHARED_MEMORY + known


class _Alone:
    """Held by one thread for a variable: handlers of operators may wait for other threads that accumulate, too."""

    #: Number of the variable -> its lock, and how many threads are about to take it or have it.
    _locks: ClassVar[dict[int, list[Any]]] = {}

    def __init__(self, variable: Tensor) -> None:
        self._key = id(variable)

    def __enter__(self) -> None:
        with _lock:
            entry = self._locks.setdefault(self._key, [threading.RLock(), 0])
            entry[1] += 1
        entry[0].acquire()

    def __exit__(self, *exc_info: object) -> None:
        with _lock:
            entry = self._locks[self._key]
            entry[0].release()
            entry[1] -= 1
            if not entry[1]:
                del self._locks[self._key]


def accumulate(variable: Tensor, grads: Sequence[Any]) -> None:
    """Add the only item of `grads`, if it is a gradient, to the variable's ``.grad``.

    `grads` must be all that the caller holds of the gradient: where nobody else does, the tensor itself becomes
    ``.grad``. With grad mode on (``create_graph``) the sum is out of place and keeps its history; else it is in place.
    """
    if grads[0] is None or not variable._keys & AUTOGRAD:
        return
    with _Alone(variable) if variable._keys & PYTHON else _lock:
        state = variable._autograd
        old = state.grad  # type: ignore[union-attr]
        if old is None:
            state.grad = _first_gradient(variable, grads)  # type: ignore[union-attr]
        elif old._keys & SPARSE and not grads[0]._keys & SPARSE:
            state.grad = summed(old, grads[0])  # type: ignore[union-attr]
        elif is_grad_enabled():
            state.grad = old + grads[0]  # type: ignore[union-attr]
        else:
            old += grads[0]


def _first_gradient(variable: Tensor, grads: Sequence[Any]) -> Tensor:
    unshared = _references(grads) == _UNSHARED
    grad = grads[0]
    if grad._keys & SPARSE:
        return _first_sparse_gradient(grad, unshared)
    if grad._keys & COMPOUND:
        return grad.clone()  # type: ignore[no-any-return]
    if (grad._keys | tls.include) & PYTHON and not grad._keys & HOLLOW:
        taken = not is_grad_enabled() and unshared and _has_layout_of(grad, variable)
        return grad.detach() if taken else new_gradient(grad, variable)  # type: ignore[no-any-return]
    if (
        not is_grad_enabled()
        and unshared
        and grad.__class__ is Tensor
        and not grad._keys & (FORWARD_GRAD | HOLLOW)
        and _has_layout_of(grad, variable)
        and _is_alone(grad)
    ):
        if grad._base is not None:
            block_of(grad)  # found by the base, which goes
            grad._base = None
        grad._autograd = None
        grad._keys &= ~(AUTOGRAD | NO_GRAD_VIEW | MULTI_VIEW)
        return grad  # type: ignore[no-any-return]
    recorded = is_grad_enabled() or not grad._keys & FORWARD_GRAD  # as in PyTorch, a copy that is not has no tangent
    made = new_gradient(grad if recorded else grad.detach(), variable)
    if not is_grad_enabled() and unshared and made._cell is not None and _has_layout_of(grad, variable):
        # PyTorch takes it although others lie on its memory. A copy is safe, and counts the writes as that does.
        made._cell.version = 0 if grad._cell is None else grad._cell.version
    return made


def _first_sparse_gradient(grad: Tensor, unshared: bool) -> Tensor:
    """A copy, or the parts where nobody else has them; of coordinates it is forgotten that they are sorted."""
    array: Any = grad._array
    if is_grad_enabled() or not unshared or not is_coo(grad):
        return grad.clone()
    if not (array.indices.is_contiguous() and array.values.is_contiguous()):
        return grad.clone()  # expanded values could not be written to one by one
    return coordinates(array.indices, array.values, array.shape)


def _has_layout_of(grad: Tensor, variable: Tensor) -> bool:
    plain = not (grad._keys | variable._keys) & STRIDED and grad._array.size
    if plain and grad._array.strides == variable._array.strides:
        return True
    if not is_dense(variable):
        return grad.is_contiguous()
    # PyTorch takes a stride of 0 for the sign of a view.
    both = zip(grad.shape, grad.stride(), variable.stride(), strict=True)
    return all(a != 0 if size == 1 else a == b for size, a, b in both)


def new_gradient(grad: Tensor, variable: Tensor) -> Tensor:
    """A copy of a gradient in the layout that ``.grad`` has: the variable's strides if it is dense, else row-major."""
    if not is_dense(variable):
        return grad.clone(memory_format=contiguous_format)
    return grad.new_empty_strided(variable.shape, variable.stride()).copy_(grad)
