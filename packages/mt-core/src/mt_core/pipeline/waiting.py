"""What stands in a tensor while a queue has it: a layout in place of the array, and slots that are not there.

Two kinds of tensors wait: results that are still to be computed, and tensors that a queued call reads or writes, with
all who share their memory. Nobody gets at the memory of either without meeting one of three things, and each of them
has the queue flushed: the key `PIPELINE` in dispatch, a `WaitingArray` in place of the array, and the absence of the
slots `_autograd`, `_cell` and `_base`, which Python turns into a call of `__getattr__`. That method is attached to the
class of tensors while there are queues, and costs programs without them nothing.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any
from weakref import ref

from ..devices import backend_key
from ..keys import BACKEND_MASK, PIPELINE
from ..meta_array import HollowArray
from ..tensor import Tensor

if TYPE_CHECKING:
    from .queue import Queue

__all__ = [
    "WaitingArray", "fill", "give_back", "hide", "hide_state", "is_waiting", "may_wait", "slots_answer",
    "waiting_result",
]  # fmt: skip

#: The slots that a waiting tensor does not have.
_SLOTS = frozenset(("_autograd", "_cell", "_base"))
_ABSENT = object()
_new_object = object.__new__
_plainly = object.__getattribute__


class WaitingArray(HollowArray):
    """The layout of a tensor that waits.

    Attributes
    ----------
    queue : Queue
        Who has the tensor.
    shadow : Tensor
        A tensor of the meta device that has been through the same calls: layout, version, whether it requires grad.
    former : tuple or None
        (array, keys, autograd, cell, base) of a tensor that was there before; None of a result.
    first_keys : int
        The tensor's keys when it began to wait; later calls may make it require grad.
    failure : str or None
        Why there will never be a value.
    """

    __slots__ = ("queue", "shadow", "former", "failure", "first_keys", "_tensor")

    def __init__(
        self, tensor: Tensor, queue: Queue, shadow: Tensor, device: Any, former: tuple[Any, ...] | None
    ) -> None:
        layout = shadow._array
        self.shape, self.strides, self.offset = layout.shape, layout.strides, layout.offset
        if 0 in self.shape:
            self.strides = tuple([step * layout.itemsize for step in shadow.stride()])
        self.dtype, self.itemsize, self.nbytes_owned = layout.dtype, layout.itemsize, layout.nbytes_owned
        self.device = device
        self.queue = queue
        self.shadow = shadow
        self.former = former
        self.first_keys = tensor._keys
        self.failure: str | None = None
        self._tensor = ref(tensor)

    def stride(self) -> tuple[int, ...]:
        """Strides in elements."""
        return tuple([step // self.itemsize for step in self.strides])

    def settle(self) -> None:
        """Have the tensor's value computed, and its slots filled.

        Raises
        ------
        RuntimeError
            Where a call that it needs has failed, or the tensor shares this layout without the queue's knowledge.
        """
        if self.failure is None:
            self.queue.flush()
        tensor = self._tensor()
        if self.failure is None and (tensor is None or tensor._array is self):
            raise RuntimeError("a tensor that waits for a pipeline's flush was given to another one's slots")
        if self.failure is not None:
            raise RuntimeError(self.failure)

    def is_leaf(self) -> bool:
        """Whether the tensor will be a leaf."""
        return self.queue.asked(lambda: self.shadow.is_leaf)  # a view's history may have to be made anew

    def __getattr__(self, name: str) -> Any:
        """What an array has and a layout has not: asked for by a thread that was about to read the tensor."""
        if name.startswith("_") or name in WaitingArray.__slots__:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return getattr(self.elements_for("memory")._array, name)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self.elements_for("memory")._array.__array__(*args, **kwargs)

    def elements_for(self, use: str) -> Any:
        self.settle()
        return self._tensor()

    def text(self) -> str | None:
        self.settle()
        return None


def is_waiting(tensor: Any) -> bool:
    """Whether a tensor's value or memory is with a queue."""
    return tensor._array.__class__ is WaitingArray


def waiting_result(queue: Queue, shadow: Any, device: Any) -> Tensor:
    """A tensor that will be what its shadow describes, on a device."""
    made = _new_object(Tensor)
    made._dtype = shadow._dtype
    made._keys = shadow._keys & ~BACKEND_MASK | backend_key(device.type) | PIPELINE
    made._array = WaitingArray(made, queue, shadow, device, None)
    return made


def hide(tensor: Any, queue: Queue, shadow: Any) -> None:
    """Put a tensor that is there out of reach until the queue is flushed.

    A leaf keeps its autograd slot, which no queued call changes: its ``.grad`` can be read and set.
    """
    state = tensor._autograd
    tensor._array = WaitingArray(
        tensor, queue, shadow, tensor.device, (tensor._array, tensor._keys, state, tensor._cell, tensor._base)
    )
    tensor._keys |= PIPELINE
    del tensor._cell, tensor._base
    if state is None or not state.requires_grad or state.grad_fn is not None:
        del tensor._autograd


def hide_state(tensor: Any) -> None:
    """Put the autograd slot of a waiting tensor out of reach too, because a queued call changes it."""
    if _raw(tensor, "_autograd") is not _ABSENT:
        del tensor._autograd


def give_back(tensor: Any) -> None:
    """Undo `hide`."""
    former = tensor._array.former
    if former is None:
        raise RuntimeError("a result has nothing to be given back")
    tensor._array, tensor._keys, tensor._autograd, tensor._cell, tensor._base = former


def fill(tensor: Any, value: Any) -> None:
    """Make a waiting result what was computed: it takes the value's place among those who share its memory.

    Raises
    ------
    RuntimeError
        Where someone has filled a slot in between, which would be lost.
    """
    if _raw(tensor, "_autograd") is not _ABSENT or _raw(tensor, "_cell") is not _ABSENT:
        raise RuntimeError("the autograd slot or the memory of a tensor was set while it waited for a pipeline's flush")
    tensor._array, tensor._dtype, tensor._keys = value._array, value._dtype, value._keys
    tensor._autograd, tensor._cell, tensor._base = value._autograd, value._cell, value._base
    if value._cell is not None:
        value._cell.add(tensor)


def _raw(tensor: Any, slot: str) -> Any:
    try:
        return _plainly(tensor, slot)
    except AttributeError:
        return _ABSENT


def may_wait(tensor: Any) -> bool:
    """Whether a tensor's class lets its slots be absent; a subclass with a ``__getattr__`` of its own does not."""
    cls = tensor.__class__
    return cls is Tensor or cls.__getattr__ is _absent_slot


# Slots that are not there


def _absent_slot(self: Any, name: str) -> Any:
    if name in _SLOTS and _plainly(self, "_array").__class__ is WaitingArray:
        self._array.settle()
    return _plainly(self, name)


class _Answering:
    """Attaches `_absent_slot` to tensors while anyone needs it."""

    def __init__(self) -> None:
        self._users = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self._users += 1
            Tensor.__getattr__ = _absent_slot  # type: ignore[attr-defined]

    def __exit__(self, *exc_info: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                del Tensor.__getattr__  # type: ignore[attr-defined]

    def keep(self) -> None:
        """Leave it attached for good: there are tensors that will never have their slots."""
        with self._lock:
            self._users += 1


slots_answer = _Answering()
