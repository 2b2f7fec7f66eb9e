"""What a captured program has read, and whether it still is so: the guards of a graph.

A program is captured by running it, so that each number, flag, list and object that it may have read is part of what
its graph means. All of that is noted before it is read: what the arguments and closures hold, and what the global names
in the code of each function hold that is run, through modules (``nn.Module``), containers and plain objects. Each
container is noted as a whole, by the identity of what is in it (`comparing` does so for all of them at once).

The same notes tell whether the program has changed something while it was captured: a graph cannot repeat that.
"""

from __future__ import annotations

import array
import builtins
import collections
import contextvars
import dis
import functools
import importlib.util
import os
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from mt_core import Tensor
from mt_core.capturing import OpenNumber, opened
from mt_nn import Module
from mt_nn.modules import _hooks
from mt_nn.optim import Optimizer

from .._capturing import is_library
from .checks import (
    ATOMS,
    Answer,
    Bytes,
    Check,
    Elements,
    Items,
    Layout,
    Name,
    QuickCheck,
    Rate,
    content_of,
    facts_besides_layout,
    same_value,
    tensor_facts,
)
from .comparing import MISSING
from .exc import GraphBreak

__all__ = ["ProgramState", "facts_besides_layout", "same_value", "tensor_facts"]

_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)
#: Modules whose objects hold what a program has put there; others of Python's and mindtorch's are not looked into.
_HOLDERS = (
    "types",
    "collections",
    "weakref",
    "argparse",
    "optparse",
    "configparser",
    "string",
    "contextlib",
    "functools",
)
_OWN_HOLDERS = ("torch.optim.", "torch.amp.", "torch.distributions.", "torch.cuda.amp", "torch.cpu.amp")
#: What a class may define that is called without being named.
_UNNAMED = ("forward",)
_MEMBERS = (types.FunctionType, property, classmethod, staticmethod)
#: Hooks of all modules.
_GLOBAL_HOOKS = {
    name: held for name, held in vars(_hooks).items() if name.startswith("_global_") and isinstance(held, dict)
}


class ProgramState:
    """What a program reads besides its arguments, noted while it is captured.

    Parameters
    ----------
    compares
        Refuse what cannot be compared; without, such values are left as they are (`restore` alone is asked for).
    opens_rates
        Have learning rates of optimizers be inputs of the graph, so that schedules may change them (`Rate`). The
        program may do nothing with them by itself then. They are numbers again after `close_rates`.

    Attributes
    ----------
    tensors
        id -> (where it is found, the tensor), of each tensor that was met.
    rates
        id of the tensor -> the rate.
    has_run
        Whether the program has come to its end.
    stop
        Why the capture has ended, where the program did something with a rate.
    """

    def __init__(self, compares: bool = True, opens_rates: bool = False) -> None:
        self._compares, self._opens_rates = compares, opens_rates
        self.rates: dict[int, Rate] = {}
        self._open_groups: set[int] = set()
        self.has_run = False
        self.stop: GraphBreak | None = None
        self.tensors: dict[int, tuple[str, Tensor]] = {}
        self._checks: list[Check] = []
        self._layouts: list[Check] = []
        self._quick: QuickCheck | None = None
        self._seen: dict[int, Any] = {}  # holds what it has seen, so that no id is given again
        self._names: set[str] = set()
        self._classes: dict[type, None] = {}
        self._noted: set[tuple[int, str]] = set()
        self._imports: list[tuple[types.CodeType, str, set[str]]] = []
        self._lazy: list[tuple[types.ModuleType, set[str]]] = []

    def anew(self) -> ProgramState:
        """One that has noted nothing yet."""
        return ProgramState(self._compares, self._opens_rates)

    # Noting

    def note(self, value: Any, source: str) -> None:
        """Note a value with all that is found through it."""
        pending = [(value, source)]
        while pending:
            current, where = pending.pop()
            kind = type(current)
            if kind in ATOMS or id(current) in self._seen:
                continue
            self._seen[id(current)] = current
            found = list(self._inside(current, kind, where))
            pending.extend(reversed(found))

    def has_seen(self, value: Any) -> bool:
        """Whether an object was there before the program ran."""
        return id(value) in self._seen

    def close_rates(self) -> None:
        """Put numbers in the place of learning rates again."""
        for rate in self.rates.values():
            rate.close()

    def _open_rates(self, optimizer: Optimizer, source: str) -> None:
        for place, group in enumerate(optimizer.param_groups):
            # One that was met before is compared as it is, and so is a rate that is a tensor.
            if id(group) not in self._seen and type(group.get("lr")) is float:
                rate = Rate(group, f"{source}.param_groups[{place}]", self._refused_rate)
                self._open_groups.add(id(group))
                self.rates[id(rate.tensor)] = rate
                self._checks.append(rate)

    def _refused_rate(self) -> GraphBreak:
        stop = GraphBreak("reads a learning rate outside of the optimizer")
        self.stop = self.stop or stop
        return stop

    def needs_layout_of(self, tensor: Tensor, source: str) -> None:
        """Guard what the graph takes for granted of a tensor that it reads."""
        self._layouts.append(Layout(tensor, source))

    def _inside(self, value: Any, kind: type, source: str) -> Iterator[tuple[Any, str]]:
        if kind is OpenNumber:
            self.tensors[id(opened(value))] = source, opened(value)
        elif isinstance(value, Tensor):
            self.tensors[id(value)] = source, value
            if value.__dict__:
                self._checks.append(Items(value.__dict__, source))
                yield from ((inner, f"{source}.{name}") for name, inner in list(value.__dict__.items()))
        elif isinstance(value, type):
            self._note_class(value)
        elif isinstance(value, _FUNCTIONS):
            yield from self._inside_function(value, source)
        elif isinstance(value, np.ndarray):
            self._checks.append(Elements(value, source))
        elif isinstance(value, (bytearray, array.array, memoryview)):
            self._checks.append(Bytes(value, source))
        elif isinstance(value, (contextvars.ContextVar, weakref.ref)):
            answer = Answer.of(value, source)
            self._checks.append(answer)
            yield answer.value, f"{source}()"
        elif isinstance(value, (list, collections.deque, dict, types.MappingProxyType, set)):
            if id(value) not in self._open_groups:
                self._checks.append(Items(value, source))
            yield from _items_of(value, source)
            yield from self._attributes(value, kind, source)
        elif isinstance(value, (tuple, frozenset)):
            yield from _items_of(value, source)
            yield from self._attributes(value, kind, source)
        elif _draws_numbers(value) or isinstance(value, (Iterator, threading.local)):
            if self._compares:
                raise GraphBreak(f"{source} is a {kind.__name__}, of which the state cannot be compared")
        elif not isinstance(value, types.ModuleType):
            yield from self._attributes(value, kind, source)

    def _attributes(self, value: Any, kind: type, source: str) -> Iterator[tuple[Any, str]]:
        if is_library(kind.__module__) and not isinstance(value, (Module, Optimizer)) and not _holds_values(kind):
            return
        self._note_class(kind)
        if self._opens_rates and isinstance(value, Optimizer):
            self._open_rates(value, source)
        if isinstance(value, Module):
            for name, hooks in _GLOBAL_HOOKS.items():
                self.note(hooks, name)
        held = getattr(value, "__dict__", None)
        if isinstance(held, dict):
            self._checks.append(Items(held, source))
            self._seen[id(held)] = held
            for name, inner in list(held.items()):
                yield inner, f"{source}.{name}"
        for name in _slots_of(kind):
            inner = getattr(value, name, MISSING)
            if inner is not MISSING:
                self._checks.append(Name(value, name, inner, f"{source}.{name}"))
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
            content = content_of(cell)
            if content is not MISSING:
                self._checks.append(Name(cell, "cell_contents", content, f"{source}.{name}"))
                yield content, f"{source}.{name}"
        for part in ("__code__", "__defaults__", "__kwdefaults__"):
            value = getattr(function, part)
            self._checks.append(Name(function, part, value, f"{source}.{part}"))
            yield value, f"{source}.{part}"
        if function.__dict__:
            yield function.__dict__, f"{source}.__dict__"

    def _note_class(self, cls: type) -> None:
        for base in cls.__mro__:
            if base in self._classes:
                continue
            if not is_library(base.__module__):
                self._classes[base] = None
                self._note_members(base, {*self._names, *_called_unnamed(base)})
            elif issubclass(base, Module) and "forward" in vars(base):
                self._classes[base] = None
                self._note_name(base, "forward", vars(base)["forward"], f"{base.__qualname__}.forward")
        if type(cls) is not type and not is_library(type(cls).__module__):
            self._note_class(type(cls))

    def _note_members(self, cls: type, names: Iterable[str]) -> None:
        """Note what a class has of these names, and which of its bases' it does not hide."""
        if is_library(cls.__module__):
            return
        held = vars(cls)
        names = {*names}
        for name in held.keys() & names:
            self._note_name(cls, name, held[name], f"{cls.__qualname__}.{name}")
        for base in cls.__mro__[1:-1]:
            own = names if not is_library(base.__module__) else names.intersection(_UNNAMED)
            for name in (vars(base).keys() & own) - held.keys():
                self._note_name(cls, name, MISSING, f"{cls.__qualname__}.{name}")

    def note_code(self, code: types.CodeType, names_in: dict[str, Any]) -> None:
        """Note what the names that a function uses stand for, before it runs."""
        used = {*code.co_names, *_texts_of(code)}
        fresh = used - self._names
        self._names |= fresh
        for cls in list(self._classes):
            self._note_members(cls, fresh)
        for name in used:
            if name in names_in:
                value = names_in[name]
                self._note_name(names_in, name, value, f"G['{name}']")
                if isinstance(value, types.ModuleType):
                    self._note_module(value, used)
            elif hasattr(builtins, name):
                self._note_name(names_in, name, MISSING, f"G['{name}']")
        if _imports_of(code):
            self._imports.append((code, names_in.get("__package__") or "", used))
            self._note_imports(self._imports[-1:])

    def _note_imports(self, imports: list[tuple[types.CodeType, str, set[str]]]) -> None:
        for code, package, used in imports:
            for module in _imported_by(code, package):
                self._note_module(module, used)

    def note_answer(self, ask: Callable[[], Any], source: str) -> None:
        """Note what a function answers that the program asks."""
        if (id(ask), "") not in self._noted:
            self._noted.add((id(ask), ""))
            self._checks.append(Answer(ask, source))

    def note_late_modules(self) -> None:
        """Note what is read of modules that were loaded by being read or imported."""
        self._note_imports(self._imports)
        for module, used in list(self._lazy):
            self._note_module(module, used)

    def note_environment(self) -> None:
        """Note the environment variables, of which the program reads one."""
        self.note(os.environ._data, "os.environ")  # type: ignore[attr-defined]

    def _note_module(self, module: types.ModuleType, used: set[str]) -> None:
        """Note what is read of a module: those of its names that the function uses."""
        held = vars(module)
        if "__getattr__" in held and (module, used) not in self._lazy:
            self._lazy.append((module, used))
        for name in used & held.keys():
            value = held[name]
            if (id(held), name) in self._noted:
                continue
            if _draws_numbers(value):
                raise GraphBreak(f"reads {module.__name__}.{name}, which gives random numbers")
            if is_library(module.__name__):
                self._noted.add((id(held), name))
                self._checks.append(Name(held, name, value, f"{module.__name__}.{name}"))
                if type(value) is list:
                    self.note(value, f"{module.__name__}.{name}")
            else:
                self._note_name(held, name, value, f"{module.__name__}.{name}")
            if isinstance(value, types.ModuleType):
                self._note_module(value, used)

    def _note_name(self, owner: Any, name: str, value: Any, source: str) -> None:
        if (id(owner), name) in self._noted:
            return
        self._noted.add((id(owner), name))
        self._checks.append(Name(owner, name, value, source))
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
            self._quick = QuickCheck(self._checks, self._layouts)
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


def _draws_numbers(value: Any) -> bool:
    """Whether a value is NumPy's generator, module or function of random numbers, whose calls cannot be seen."""
    if isinstance(value, types.ModuleType):
        return value.__name__.startswith("numpy.random")
    owner = getattr(value, "__self__", None) if isinstance(value, types.BuiltinFunctionType) else value
    return type(owner).__module__.startswith("numpy.random")


_PARTS = ("func", "args", "keywords")


def _holds_values(kind: type) -> bool:
    module = kind.__module__
    return module in _HOLDERS or module.startswith(_OWN_HOLDERS)


def _called_unnamed(cls: type) -> set[str]:
    """What a class defines that is called by Python or by modules, and need not be named where it is."""
    found = {name for name, member in vars(cls).items() if isinstance(member, _MEMBERS) and name.startswith("__")}
    return found.union(_UNNAMED)


def _texts_of(code: types.CodeType) -> list[str]:
    """The texts in a function that asks for attributes by their names."""
    if {"getattr", "hasattr", "attrgetter", "methodcaller"}.isdisjoint(code.co_names):
        return []
    return [part for text in code.co_consts if type(text) is str for part in text.split(".") if part.isidentifier()]


@functools.lru_cache(maxsize=4096)
def _imports_of(code: types.CodeType) -> tuple[str, ...]:
    """What a function imports, a relative name with its dots."""
    found: list[str] = []
    numbers: list[Any] = []
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            level = next((value for value in reversed(numbers) if type(value) is int), 0)
            found.append("." * level + step.argval)
        elif step.opname in ("LOAD_CONST", "LOAD_SMALL_INT"):
            numbers.append(step.argval)
    return tuple(found)


def _imported_by(code: types.CodeType, package: str) -> Iterator[types.ModuleType]:
    """The modules that a function imports, as far as they are loaded, and those that they are in."""
    for name in _imports_of(code):
        name = importlib.util.resolve_name(name, package) if package else name.lstrip(".")
        while name:
            module = sys.modules.get(name)
            if isinstance(module, types.ModuleType):
                yield module
            name = name.rpartition(".")[0]


def _items_of(value: Any, source: str) -> Iterator[tuple[Any, str]]:
    if isinstance(value, Mapping):
        for index, (key, item) in enumerate(value.items()):
            yield key, f"list({source})[{index}]"
            # The text of a key that is an object is the program's to write, and of a tensor it tells elements.
            yield item, f"{source}[{key!r}]" if type(key) in ATOMS else f"{source}[list({source})[{index}]]"
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
