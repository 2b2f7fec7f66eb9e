"""Adding a gradient to a leaf's ``.grad``."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import Any

from mt_core.autograd_state import is_grad_enabled
from mt_core.dispatch.memory import is_dense
from mt_core.formats import contiguous_format
from mt_core.keys import AUTOGRAD, STRIDED
from mt_core.tensor import Tensor

__all__ = ["accumulate", "new_gradient"]

#: One backward at a time adds to a ``.grad``: leaves are shared by the graphs of several threads.
_lock = threading.Lock()


def _references(holder: Sequence[Any]) -> int:
    return sys.getrefcount(holder[0])


#: What `_references` counts for an object that nothing but the sequence refers to. Asked of Python itself, because the
#: references that a call adds differ between its versions. A gradient with that count belongs to the caller alone: no
#: hook, no other edge and no user can see it become ``.grad`` instead of being copied.
_UNSHARED = _references([object()])


def accumulate(variable: Tensor, grads: Sequence[Any]) -> None:
    """Add the only item of `grads`, if it is a gradient, to the variable's ``.grad``.

    `grads` must be all that the caller holds of the gradient: where nobody else does, the tensor itself becomes
    ``.grad``. With grad mode on (``create_graph``) the sum is out of place and keeps its history; else it is in place.
    """
    if grads[0] is None or not variable._keys & AUTOGRAD:
        return
    with _lock:
        state = variable._autograd
        old = state.grad  # type: ignore[union-attr]
        if old is None:
            state.grad = _first_gradient(variable, grads)  # type: ignore[union-attr]
        elif is_grad_enabled():
            state.grad = old + grads[0]  # type: ignore[union-attr]
        else:
            old += grads[0]


def _first_gradient(variable: Tensor, grads: Sequence[Any]) -> Tensor:
    unshared = _references(grads) == _UNSHARED
    grad = grads[0]
    if (
        not is_grad_enabled()
        and unshared
        and grad._cell is None
        and grad._base is None
        and _has_layout_of(grad, variable)
    ):
        grad._autograd = None
        grad._keys &= ~AUTOGRAD
        return grad  # type: ignore[no-any-return]
    return new_gradient(grad, variable)


def _has_layout_of(grad: Tensor, variable: Tensor) -> bool:
    if not (grad._keys | variable._keys) & STRIDED and grad._array.strides == variable._array.strides:
        return True
    if is_dense(variable):
        return grad.stride() == variable.stride()
    return grad.is_contiguous()


def new_gradient(grad: Tensor, variable: Tensor) -> Tensor:
    """A copy of a gradient in the layout that ``.grad`` has: the variable's strides if it is dense, else row-major."""
    if not is_dense(variable):
        return grad.clone(memory_format=contiguous_format)
    return grad.new_empty_strided(grad.shape, variable.stride()).copy_(grad)
