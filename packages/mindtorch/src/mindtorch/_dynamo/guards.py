"""What a captured program has read, and whether it still is so: the guards of a graph.

A program is captured by running it, so that each number, flag, list and object that it may have read is part of what
its graph means. All of that is noted before it is read: what the arguments and closures hold, and what the global names
in the code of each function hold that is run, through modules (``nn.Module``), containers and plain objects. Each
container is noted as a whole, by the identity of what is in it (`comparing` does so for all of them at once).

The same notes tell whether the program has changed something while it was captured: a graph cannot repeat that.
"""

from __future__ import annotations

import collections
import functools
import operator
import os
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from mt_core import Tensor
from mt_core.meta_array import MetaArray
from mt_nn import Module
from mt_nn.optim import Optimizer

from .._capturing import is_library
from .comparing import SameContainers, SameNames
from .exc import GraphBreak

__all__ = ["ProgramState", "same_value"]

_ATOMS = frozenset({int, float, complex, bool, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range})
_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)


def same_value(a: Any, b: Any) -> bool:
    """Whether one value may stand for another: the same object, or an equal one of a type without identity."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is float or kind is complex:
        return repr(a) == repr(b)  # 0.0 is not -0.0, and NaN is NaN
    if kind in _ATOMS:
        return bool(a == b)
    if kind is tuple or kind is frozenset:
        return len(a) == len(b) and all(map(same_value, a, b)) if kind is tuple else a == b
    return kind is types.MethodType and a.__func__ is b.__func__ and a.__self__ is b.__self__


def _all_same(values: Iterable[Any], saved: tuple[Any, ...]) -> bool:
    return all(map(operator.is_, values, saved)) or all(map(same_value, values, saved))


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


_MISSING = _Missing()


class _Items:
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


class _Name:
    """What a name of a module, a class or an object with slots stood for."""

    __slots__ = ("name", "owner", "source", "value")

    def __init__(self, owner: Any, name: str, value: Any, source: str) -> None:
        self.owner, self.name, self.value, self.source = owner, name, value, source

    def holds(self) -> bool:
        return same_value(_looked_up(self.owner, self.name), self.value)

    def restore(self) -> None:
        if isinstance(self.owner, dict):
            self.owner[self.name] = self.value
        else:
            setattr(self.owner, self.name, self.value)


def _looked_up(owner: Any, name: str) -> Any:
    if isinstance(owner, dict):
        return owner.get(name, _MISSING)
    if isinstance(owner, type):
        return vars(owner).get(name, _MISSING)
    if isinstance(owner, types.CellType):
        return _content_of(owner)
    return getattr(owner, name, _MISSING)


class _Elements:
    """The elements of a NumPy array as they were."""

    __slots__ = ("array", "source", "value")

    def __init__(self, array: Any, source: str) -> None:
        self.array, self.value, self.source = array, array.copy(), source

    def holds(self) -> bool:
        same = self.array.shape == self.value.shape and self.array.dtype == self.value.dtype
        return same and self.array.tobytes() == self.value.tobytes()

    def restore(self) -> None:
        self.array[...] = self.value


class _Layout:
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


Check = _Items | _Name | _Elements | _Layout


class ProgramState:
    """What a program reads besides its arguments, noted while it is captured.

    Parameters
    ----------
    compares
        Refuse what cannot be compared; without, such values are left as they are (`restore` alone is asked for).

    Attributes
    ----------
    tensors
        id -> (where it is found, the tensor), of each tensor that was met.
    """

    def __init__(self, compares: bool = True) -> None:
        self._compares = compares
        self.tensors: dict[int, tuple[str, Tensor]] = {}
        self._checks: list[Check] = []
        self._layouts: list[Check] = []
        self._quick: _QuickCheck | None = None
        self._seen: dict[int, Any] = {}  # holds what it has seen, so that no id is given again
        self._names: set[str] = set()
        self._classes: dict[type, None] = {}
        self._noted: set[tuple[int, str]] = set()

    # Noting

    def note(self, value: Any, source: str) -> None:
        """Note a value with all that is found through it."""
        pending = [(value, source)]
        while pending:
            current, where = pending.pop()
            kind = type(current)
            if kind in _ATOMS or id(current) in self._seen:
                continue
            self._seen[id(current)] = current
            found = list(self._inside(current, kind, where))
            pending.extend(reversed(found))

    def has_seen(self, value: Any) -> bool:
        """Whether an object was there before the program ran."""
        return id(value) in self._seen

    def needs_layout_of(self, tensor: Tensor, source: str) -> None:
        """Guard what the graph takes for granted of a tensor that it reads."""
        self._layouts.append(_Layout(tensor, source))

    def _inside(self, value: Any, kind: type, source: str) -> Iterator[tuple[Any, str]]:
        if isinstance(value, Tensor):
            self.tensors[id(value)] = source, value
        elif isinstance(value, type):
            self._note_class(value)
        elif isinstance(value, _FUNCTIONS):
            yield from self._inside_function(value, source)
        elif isinstance(value, np.ndarray):
            self._checks.append(_Elements(value, source))
        elif isinstance(value, (list, collections.deque, dict, types.MappingProxyType, set)):
            self._checks.append(_Items(value, source))
            yield from _items_of(value, source)
            yield from self._attributes(value, kind, source)
        elif isinstance(value, (tuple, frozenset)):
            yield from _items_of(value, source)
        elif _draws_numbers(value) or isinstance(value, Iterator):
            if self._compares:
                raise GraphBreak(f"{source} is a {kind.__name__}, of which the state cannot be compared")
        elif not isinstance(value, types.ModuleType):
            yield from self._attributes(value, kind, source)

    def _attributes(self, value: Any, kind: type, source: str) -> Iterator[tuple[Any, str]]:
        if is_library(kind.__module__) and not isinstance(value, (Module, Optimizer)):
            return
        self._note_class(kind)
        held = getattr(value, "__dict__", None)
        if isinstance(held, dict):
            self._checks.append(_Items(held, source))
            self._seen[id(held)] = held
            for name, inner in list(held.items()):
                yield inner, f"{source}.{name}"
        for name in _slots_of(kind):
            inner = getattr(value, name, _MISSING)
            if inner is not _MISSING:
                self._checks.append(_Name(value, name, inner, f"{source}.{name}"))
                yield inner, f"{source}.{name}"

    def _inside_function(self, value: Any, source: str) -> Iterator[tuple[Any, str]]:
        if isinstance(value, types.MethodType):
            yield value.__self__, f"{source}.__self__"
            yield value.__func__, f"{source}.__func__"
        elif isinstance(value, functools.partial):
            yield from (
                (part, f"{source}.{name}") for part, name in zip(value.__reduce__()[2][:3], _PARTS, strict=True)
            )
        elif not is_library(value.__module__):
            yield from self._of_python_function(value, source)

    def _of_python_function(self, function: Any, source: str) -> Iterator[tuple[Any, str]]:
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            content = _content_of(cell)
            if content is not _MISSING:
                self._checks.append(_Name(cell, "cell_contents", content, f"{source}.{name}"))
                yield content, f"{source}.{name}"
        for part in ("__code__", "__defaults__", "__kwdefaults__"):
            value = getattr(function, part)
            self._checks.append(_Name(function, part, value, f"{source}.{part}"))
            yield value, f"{source}.{part}"
        if function.__dict__:
            yield function.__dict__, f"{source}.__dict__"

    def _note_class(self, cls: type) -> None:
        for base in cls.__mro__:
            if base not in self._classes and not is_library(base.__module__):
                self._classes[base] = None
                self._note_members(base, self._names)

    def _note_members(self, cls: type, names: Iterable[str]) -> None:
        held = vars(cls)
        for name in held.keys() & set(names):
            self._note_name(cls, name, held[name], f"{cls.__qualname__}.{name}")

    def note_code(self, code: types.CodeType, names_in: dict[str, Any]) -> None:
        """Note what the names that a function uses stand for, before it runs."""
        used = set(code.co_names)
        fresh = used - self._names
        self._names |= fresh
        for cls in list(self._classes):
            self._note_members(cls, fresh)
        for name in used & names_in.keys():
            value = names_in[name]
            self._note_name(names_in, name, value, f"G['{name}']")
            if isinstance(value, types.ModuleType):
                self._note_module(value, used)

    def note_environment(self) -> None:
        """Note the environment variables, of which the program reads one."""
        self.note(os.environ._data, "os.environ")  # type: ignore[attr-defined]

    def _note_module(self, module: types.ModuleType, used: set[str]) -> None:
        """Note what is read of a module: those of its names that the function uses."""
        held = vars(module)
        for name in used & held.keys():
            value = held[name]
            if (id(held), name) in self._noted:
                continue
            if _draws_numbers(value):
                raise GraphBreak(f"reads {module.__name__}.{name}, which gives random numbers")
            if is_library(module.__name__):
                self._noted.add((id(held), name))
                self._checks.append(_Name(held, name, value, f"{module.__name__}.{name}"))
            else:
                self._note_name(held, name, value, f"{module.__name__}.{name}")
            if isinstance(value, types.ModuleType):
                self._note_module(value, used)

    def _note_name(self, owner: Any, name: str, value: Any, source: str) -> None:
        if (id(owner), name) in self._noted:
            return
        self._noted.add((id(owner), name))
        self._checks.append(_Name(owner, name, value, source))
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        self.note(value, source)

    # Asking

    def holds(self) -> bool:
        """Whether all is as it was."""
        quick = self._quick
        if quick is not None and quick.holds() and all(check.holds() for check in quick.others):
            return True
        if quick is None:
            self._quick = _QuickCheck(self._checks, self._layouts)
        return all(check.holds() for check in self._checks) and all(check.holds() for check in self._layouts)

    def first_difference(self) -> str | None:
        """Where something has changed."""
        return next((check.source for check in (*self._checks, *self._layouts) if not check.holds()), None)

    def restore(self) -> list[str]:
        """Put back what has changed, and tell where that was."""
        changed = [check for check in self._checks if not check.holds()]
        for check in changed:
            check.restore()
        return [check.source for check in changed]


class _QuickCheck:
    """Whether the same objects are in the same places: asked before all checks one by one.

    Attributes
    ----------
    others
        The checks of what it does not compare.
    """

    def __init__(self, checks: list[Check], layouts: list[Check]) -> None:
        containers = [check for check in checks if isinstance(check, _Items) and SameContainers.covers(check.container)]
        names = [check for check in checks if isinstance(check, _Name) and type(check.owner) is dict]
        compared = {id(check) for check in (*containers, *names)}
        self.others = [*(check for check in checks if id(check) not in compared), *layouts]
        self._containers = SameContainers([(check.container, check.keys, check.values) for check in containers])
        self._names = SameNames(
            [check.owner for check in names], [check.name for check in names], [check.value for check in names]
        )

    def holds(self) -> bool:
        return self._containers.holds() and self._names.holds()


def _draws_numbers(value: Any) -> bool:
    """Whether a value is NumPy's generator, module or function of random numbers, whose calls cannot be seen."""
    if isinstance(value, types.ModuleType):
        return value.__name__.startswith("numpy.random")
    owner = getattr(value, "__self__", None) if isinstance(value, types.BuiltinFunctionType) else value
    return type(owner).__module__.startswith("numpy.random")


_PARTS = ("func", "args", "keywords")


def _content_of(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # an empty cell
        return _MISSING


def _items_of(value: Any, source: str) -> Iterator[tuple[Any, str]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield key, f"{source}.keys"
            yield item, f"{source}[{key!r}]"
    else:
        for index, item in enumerate(value):
            yield item, f"{source}[{index}]"


@functools.lru_cache(maxsize=1024)
def _slots_of(kind: type) -> tuple[str, ...]:
    found: list[str] = []
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        found += [slots] if isinstance(slots, str) else list(slots)
    return tuple(name for name in found if name not in ("__dict__", "__weakref__") and not name.startswith("__"))
