"""What one guard compares: a container, a name, the elements of an array, the layout of a tensor, an answer.

`guards.ProgramState` notes what a program reads, one of these for each; `comparing` asks many of them at once.
"""

from __future__ import annotations

import array
import collections
import contextvars
import operator
import types
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mt_core import Tensor
from mt_core.capturing import OpenNumber
from mt_core.meta_array import MetaArray
from mt_core.tensor import from_array

from .comparing import MISSING, SameContainers, SameNames

__all__ = [
    "ATOMS", "Answer", "Bytes", "Check", "Elements", "Items", "Layout", "Name", "QuickCheck", "Rate", "content_of",
    "facts_besides_layout", "same_value", "tensor_facts",
]  # fmt: skip

ATOMS = frozenset({int, float, complex, bool, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range})


def same_value(a: Any, b: Any) -> bool:
    """Whether one value may stand for another: the same object, or an equal one of a type without identity."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is float or kind is complex:
        return repr(a) == repr(b)  # 0.0 is not -0.0, and NaN is NaN
    if kind in ATOMS:
        return bool(a == b)
    if kind is tuple or kind is frozenset:
        return len(a) == len(b) and all(map(same_value, a, b)) if kind is tuple else a == b
    return kind is types.MethodType and a.__func__ is b.__func__ and a.__self__ is b.__self__


def _all_same(values: Iterable[Any], saved: Sequence[Any]) -> bool:
    return all(map(operator.is_, values, saved)) or all(map(same_value, values, saved))


class Items:
    """A list, deque, dict or set as it was."""

    __slots__ = ("container", "keys", "source", "values")

    def __init__(self, container: Any, source: str) -> None:
        self.container, self.source = container, source
        mapping = isinstance(container, Mapping)
        self.keys = tuple(container) if mapping else ()
        self.values = tuple(container.values()) if mapping else tuple(container)

    def holds(self) -> bool:
        container, saved = self.container, self.values
        if len(container) != len(saved):
            return False
        if self.keys:
            if not _all_same(container, self.keys):
                return False
            container = container.values()
        return _all_same(container, saved)

    def restore(self) -> None:
        container = self.container
        if isinstance(container, collections.abc.MutableMapping):
            container.clear()
            container.update(zip(self.keys, self.values, strict=True))
        elif isinstance(container, set):
            container.clear()
            container.update(self.values)
        else:
            container.clear()
            container.extend(self.values)


class Rate:
    """The options of some parameters as they were, but for their learning rate: it is a number, and the graph's input.

    While the program is captured, an `OpenNumber` stands in its place; of the graph it is a tensor of float64.
    """

    __slots__ = ("container", "given", "is_open", "keys", "number", "source", "tensor", "values")

    def __init__(self, container: dict[str, Any], source: str, refuse: Callable[[], Exception]) -> None:
        self.container, self.source = container, source
        self.given = container["lr"]
        self.tensor = self.read()
        self.number = container["lr"] = OpenNumber(self.tensor, refuse)
        self.keys = tuple(container)
        self.values = [value for key, value in container.items() if key != "lr"]
        self.is_open = True

    def read(self, *_: Any) -> Tensor:
        """The rate that there is now."""
        return from_array(np.asarray(self.container["lr"]))

    def close(self) -> None:
        """Put the rate back: the capture has ended."""
        if self.container.get("lr") is self.number:
            self.container["lr"] = self.given
        self.is_open = False

    def holds(self) -> bool:
        rate = self.container.get("lr")
        if rate is not self.number if self.is_open else type(rate) is not float:
            return False
        values = [value for key, value in self.container.items() if key != "lr"]
        return tuple(self.container) == self.keys and _all_same(values, self.values)

    def restore(self) -> None:
        others = iter(self.values)
        saved = {key: self.number if key == "lr" else next(others) for key in self.keys}
        self.container.clear()
        self.container.update(saved)


class Name:
    """What a name of a module, a class or an object with slots stood for."""

    __slots__ = ("name", "owner", "source", "value")

    def __init__(self, owner: Any, name: str, value: Any, source: str) -> None:
        self.owner, self.name, self.value, self.source = owner, name, value, source

    def holds(self) -> bool:
        return same_value(_looked_up(self.owner, self.name), self.value)

    def restore(self) -> None:
        if self.value is MISSING:
            if isinstance(self.owner, dict):
                del self.owner[self.name]
            else:
                delattr(self.owner, self.name)
        elif isinstance(self.owner, dict):
            self.owner[self.name] = self.value
        else:
            setattr(self.owner, self.name, self.value)


def _looked_up(owner: Any, name: str) -> Any:
    if isinstance(owner, dict):
        return owner.get(name, MISSING)
    if isinstance(owner, type):
        return vars(owner).get(name, MISSING)
    if isinstance(owner, types.CellType):
        return content_of(owner)
    return getattr(owner, name, MISSING)


class Elements:
    """The elements of a NumPy array as they were."""

    __slots__ = ("array", "source", "value")

    def __init__(self, array: Any, source: str) -> None:
        self.array, self.value, self.source = array, array.copy(), source

    def holds(self) -> bool:
        same = self.array.shape == self.value.shape and self.array.dtype == self.value.dtype
        return same and self.array.tobytes() == self.value.tobytes()

    def restore(self) -> None:
        self.array[...] = self.value


class Bytes:
    """The elements of a bytearray, an array or a view of memory as they were."""

    __slots__ = ("owner", "source", "value")

    def __init__(self, owner: bytearray | array.array[Any] | memoryview, source: str) -> None:
        self.owner, self.source = owner, source
        self.value = self._content()

    def _content(self) -> bytes:
        return memoryview(self.owner).tobytes()

    def holds(self) -> bool:
        return self._content() == self.value

    def restore(self) -> None:
        if isinstance(self.owner, memoryview):
            self.owner.cast("B")[:] = self.value
        elif isinstance(self.owner, bytearray):
            self.owner[:] = self.value
        else:
            self.owner[:] = array.array(self.owner.typecode, self.value)


class Answer:
    """What a function without arguments answers: what a reference refers to, a setting, a context variable's value."""

    __slots__ = ("ask", "source", "value")

    def __init__(self, ask: Callable[[], Any], source: str) -> None:
        self.ask, self.source, self.value = ask, source, ask()

    @classmethod
    def of(cls, value: contextvars.ContextVar[Any] | weakref.ref[Any], source: str) -> Answer:
        """What a reference or a context variable stands for."""
        if isinstance(value, contextvars.ContextVar):
            return cls(lambda: value.get(MISSING), source)
        return cls(value, source)

    def holds(self) -> bool:
        return same_value(self.ask(), self.value)

    def restore(self) -> None:
        """Whatever sets one is not captured."""


class Layout:
    """What a graph takes for granted of a tensor that the program holds.

    A tensor is laid out otherwise by giving it another array or other keys. Layouts without data change themselves, and
    the history of a view with that of its base: of such tensors all is asked each time.
    """

    __slots__ = ("facts", "insides", "source", "tensor")

    def __init__(self, tensor: Tensor, source: str) -> None:
        self.tensor, self.source, self.facts = tensor, source, tensor_facts(tensor)
        settled = tensor._base is None and not isinstance(tensor._array, MetaArray)
        insides = type(tensor), tensor._array, tensor._keys, tensor._dtype, _history(tensor)
        self.insides = insides if settled else None

    def holds(self) -> bool:
        tensor, insides = self.tensor, self.insides
        if insides is not None:
            kind, array, keys, dtype, history = insides
            if tensor._array is array and tensor._keys == keys and tensor._dtype is dtype and type(tensor) is kind:
                return _history(tensor) == history
        return tensor_facts(tensor) == self.facts

    def restore(self) -> None:
        """A tensor's layout is never changed while a program is captured: it runs on fakes."""


def _history(tensor: Tensor) -> Any:
    """Whether a tensor is a leaf, and what its gradient looks like."""
    state = tensor._autograd
    if state is None:
        return True
    if state.grad is None:
        return state.grad_fn is None
    return state.grad_fn is None, tensor_facts(state.grad)


def tensor_facts(tensor: Tensor) -> tuple[Any, ...]:
    """What is part of a graph's meaning of each tensor that it is given, its elements apart."""
    return tuple(tensor.shape), tuple(tensor.stride()), *facts_besides_layout(tensor)


def facts_besides_layout(tensor: Tensor) -> tuple[Any, ...]:
    """The same without sizes and strides."""
    return (
        type(tensor), tensor.dtype, tensor.device, tensor.requires_grad, tensor.is_leaf, tensor.is_conj(),
        tensor.is_neg(), tensor.is_inference(), tensor.layout, tensor._base is None, _grad_facts(tensor),
    )  # fmt: skip


def _grad_facts(tensor: Tensor) -> tuple[Any, ...] | None:
    grad = tensor.grad if tensor.is_leaf and tensor.requires_grad else None
    return None if grad is None else (tuple(grad.shape), grad.dtype, tuple(grad.stride()), grad.requires_grad)


Check = Items | Rate | Name | Elements | Bytes | Answer | Layout


def content_of(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # an empty cell
        return MISSING


class QuickCheck:
    """Whether the same objects are in the same places: asked before all checks one by one.

    Attributes
    ----------
    others
        The checks of what it does not compare.
    """

    def __init__(self, checks: list[Check], layouts: list[Check]) -> None:
        containers = [check for check in checks if isinstance(check, Items) and SameContainers.covers(check.container)]
        names = [check for check in checks if isinstance(check, Name) and isinstance(check.owner, (dict, type))]
        compared = {id(check) for check in (*containers, *names)}
        self.others = [*(check for check in checks if id(check) not in compared), *layouts]
        self._containers = SameContainers([(check.container, check.keys, check.values) for check in containers])
        self._names = SameNames(
            [check.owner for check in names], [check.name for check in names], [check.value for check in names]
        )

    def holds(self) -> bool:
        return self._containers.holds() and self._names.holds()
