"""Capturing a program: it is run once on fake tensors, and what it does to them is a graph.

What the graph takes for granted, its guards know: the arguments, compared at each call, and what else the program has
read. A program that does what no graph can repeat, and no guard can compare, is not captured.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mt_core import Size, Tensor, pytree
from mt_core.layers.autocast import settings
from mt_core.pytree.nodes import is_namedtuple_instance
from mt_core.symbolic import SYMBOLIC, has_symbols, plain
from mt_nn import Module

from .._capturing import compiling
from ..amp.autocast_mode import autocast
from ..fx.graph_module import GraphModule
from .exc import GraphBreak
from .guards import ProgramState, facts_besides_layout, tensor_facts
from .output_graph import CONSTANTS, GraphInput, Recorder
from .sizes import Symbols, marks_of
from .watching import Watcher

__all__ = ["Arguments", "Captured", "capture"]

_ATOMS = (int, float, complex, bool, str, bytes, type(None), type(Ellipsis))


# Arguments


class Arguments:
    """The arguments of a call: the tensors in them, and what else there is.

    Attributes
    ----------
    tensors
        Each tensor once, in the order in which they are met.
    integers
        Each integer, in the order in which they are met.
    objects
        What is compared by identity.
    key
        Equal for calls that one graph serves, as far as the arguments go.
    open_key
        Equal for calls that one graph may serve whose sizes and integers vary.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.tensors: list[Tensor] = []
        self.objects: list[Any] = []
        self.integers: list[int] = []
        self._numbers: dict[int, int] = {}
        self.args, self.kwargs = args, kwargs
        described = [self._described(value) for value in (*args, *kwargs.values())]
        self.key = (len(args), tuple(kwargs), tuple(described))

    @functools.cached_property
    def open_key(self) -> Any:
        described = [self._openly(value) for value in (*self.args, *self.kwargs.values())]
        return len(self.args), tuple(self.kwargs), tuple(described)

    def _openly(self, value: Any) -> Any:
        """What is the same for calls that differ in sizes and integers."""
        if isinstance(value, Tensor):
            return Tensor, self._numbers[id(value)], value.dim(), facts_besides_layout(value)
        kind = type(value)
        if kind is int:
            return kind
        parts = None if kind is slice else _parts_of(value)
        if parts is not None:
            return kind, tuple((name, self._openly(part)) for name, part in parts)
        return self._described(value, met=True)

    def _described(self, value: Any, met: bool = False) -> Any:
        kind = type(value)
        if isinstance(value, Tensor):
            return self._tensor(value)
        if kind is int and not met:
            self.integers.append(value)
        if kind in (float, complex):
            return kind, repr(value)
        if kind in _ATOMS:
            return kind, value
        parts = _parts_of(value)
        if parts is not None:
            return kind, tuple((name, self._described(part, met or kind is slice)) for name, part in parts)
        if not met:
            self.objects.append(value)
        return kind, id(value)

    def _tensor(self, tensor: Tensor) -> Any:
        number = self._numbers.setdefault(id(tensor), len(self.tensors))
        if number == len(self.tensors):
            self.tensors.append(tensor)
        return Tensor, number, tensor_facts(tensor), marks_of(tensor)

    def sources(self, names: list[str]) -> dict[int, str]:
        """id -> where it is found, as PyTorch names it, of each tensor and object; `names` are those of parameters."""
        found: dict[int, str] = {}
        for source, value in self._places(names):
            found.setdefault(id(value), source)
        return found

    def integer_sources(self, names: list[str]) -> list[str]:
        """Where each integer is found."""
        return [source for source, value in self._places(names) if type(value) is int]

    def _places(self, names: list[str]) -> Iterator[tuple[str, Any]]:
        positional = zip(_with_rest(names, len(self.args)), self.args, strict=True)
        for name, value in (*positional, *self.kwargs.items()):
            yield from _leaves(value, f"L[{name!r}]")


def _leaves(value: Any, source: str) -> Iterator[tuple[str, Any]]:
    """Where each leaf of a value is found, and the leaf; slices are leaves."""
    parts = None if isinstance(value, (Tensor, slice)) else _parts_of(value)
    if parts is None:
        yield source, value
    for name, part in parts or ():
        yield from _leaves(part, f"{source}{name}")


def _with_rest(names: list[str], count: int) -> list[str]:
    return (names + [f"args_{i}" for i in range(count)])[:count]


def _parts_of(value: Any) -> list[tuple[str, Any]] | None:
    """The parts of a container that is compared by what is in it, with the text that reads each."""
    kind = type(value)
    if kind in (tuple, list) or is_namedtuple_instance(value):
        return [(f"[{i}]", item) for i, item in enumerate(value)]
    if kind is dict and all(type(key) in _ATOMS for key in value):
        return [(f"[{key!r}]", item) for key, item in value.items()]
    if dataclasses.is_dataclass(value) and not isinstance(value, (type, dict)):
        return [(f".{field.name}", getattr(value, field.name)) for field in dataclasses.fields(value)]
    if kind is slice:
        return [(f".{name}", getattr(value, name)) for name in ("start", "stop", "step")]
    return None


class _Fakes:
    """Arguments with fakes in the place of tensors; containers are copies, which the program may not change."""

    def __init__(self, recorder: Recorder, arguments: Arguments, sources: dict[int, str], integers: list[str]) -> None:
        self._integers = [
            recorder.integer(number, value, source)
            for number, (value, source) in enumerate(zip(arguments.integers, integers, strict=True))
        ]
        self._met = itertools.count()
        self._fakes = {
            id(tensor): recorder.argument(number, tensor, sources[id(tensor)])
            for number, tensor in enumerate(arguments.tensors)
        }
        self._attributes = [(fake, set(vars(fake))) for fake in self._fakes.values()]
        self.copies: list[tuple[Any, list[Any]]] = []

    def of(self, value: Any) -> Any:
        """The value as the program is given it."""
        if isinstance(value, Tensor):
            return self._fakes[id(value)]
        if type(value) is int:
            return self._integers[next(self._met)]
        parts = _parts_of(value)
        if parts is None or type(value) is slice:
            return value
        made = _rebuilt(value, [self.of(part) for _, part in parts])
        if not isinstance(made, tuple):
            self.copies.append((made, [part for _, part in _parts_of(made) or ()]))
        return made

    def check_unchanged(self) -> None:
        """Raise `GraphBreak` where the program has changed an argument."""
        for made, before in self.copies:
            now = [part for _, part in _parts_of(made) or ()]
            if len(now) != len(before) or any(a is not b for a, b in zip(now, before, strict=True)):
                raise GraphBreak(f"changes a {type(made).__name__} that it is given")
        for fake, names in self._attributes:
            added = set(vars(fake)) - names
            if added:
                raise GraphBreak(f"sets the attribute {min(added)!r} of a tensor that it is given")


def _rebuilt(value: Any, parts: list[Any]) -> Any:
    kind = type(value)
    if is_namedtuple_instance(value):
        return kind(*parts)
    if kind in (tuple, list):
        return kind(parts)
    if kind is dict:
        return dict(zip(value, parts, strict=True))
    made = object.__new__(kind)
    for field, part in zip(dataclasses.fields(value), parts, strict=True):
        object.__setattr__(made, field.name, part)
    return made


# Outputs


class _Result:
    """A place of the program's result, and what stands there: a value, an output of the graph, or an input of it."""

    __slots__ = ("kind", "value")

    def __init__(self, kind: str, value: Any) -> None:
        self.kind, self.value = kind, value


class Outputs:
    """How the result of the program is made of the outputs of its graph."""

    def __init__(self, result: Any, recorder: Recorder, state: ProgramState, fakes: _Fakes, known: Arguments) -> None:
        self.tensors: list[Any] = []
        self._numbers: dict[Any, int] = {}
        self._copies = {id(made) for made, _ in fakes.copies}
        self._state, self._recorder = state, recorder
        self._arguments = {id(t): i for i, t in enumerate(known.tensors)}
        leaves, self._spec = pytree.tree_flatten(result)
        self._check_containers(result)
        self._places = [self._place(leaf) for leaf in leaves]

    def _check_containers(self, value: Any) -> None:
        """An object that was there before must be the same one again, and is not rebuilt."""
        if isinstance(value, (list, dict)) or dataclasses.is_dataclass(value):
            if id(value) in self._copies or self._state.has_seen(value):
                raise GraphBreak(f"returns a {type(value).__name__} that was there before")
        children = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
        for child in children:
            self._check_containers(child)

    def _place(self, leaf: Any) -> _Result:
        if isinstance(leaf, Tensor):
            return self._tensor_place(leaf)
        if isinstance(leaf, SYMBOLIC):
            return self._number_place(plain(leaf))
        if isinstance(leaf, Size) and has_symbols(leaf):
            return _Result("sizes", [self._place(size) for size in leaf])
        if isinstance(leaf, (*CONSTANTS, bytes, enum.Enum)) or self._state.has_seen(leaf):
            return _Result("value", leaf)
        raise GraphBreak(f"returns a {type(leaf).__name__}, which is made anew at each call")

    def _tensor_place(self, leaf: Tensor) -> _Result:
        original = self._recorder.original(leaf)
        if original is not None:
            number = self._arguments.get(id(original))
            return _Result("value", original) if number is None else _Result("argument", number)
        return self._output(leaf, id(leaf))

    def _number_place(self, number: Any) -> _Result:
        if not isinstance(number, SYMBOLIC):
            return _Result("value", number)
        return self._output(number, number.node.expr)

    def _output(self, leaf: Any, key: Any) -> _Result:
        number = self._numbers.setdefault(key, len(self.tensors))
        if number == len(self.tensors):
            self.tensors.append(leaf)
        return _Result("output", number)

    def filled(self, outputs: Any, tensors: list[Tensor]) -> Any:
        """The program's result, of the graph's outputs and the tensors among the arguments."""
        by_kind = {"output": outputs, "argument": tensors}
        return pytree.tree_unflatten([_found(place, by_kind) for place in self._places], self._spec)


def _found(place: _Result, by_kind: dict[str, Any]) -> Any:
    if place.kind == "value":
        return place.value
    if place.kind == "sizes":
        return Size([_found(size, by_kind) for size in place.value])
    return by_kind[place.kind][place.value]


# Capturing


class Captured:
    """A program as a graph.

    Attributes
    ----------
    graph_module
        The graph.
    inputs
        What it is called with.
    outputs
        How its outputs make the program's result.
    state
        What the program has read besides its arguments.
    operators
        How many of the program's calls are nodes.
    symbols
        The sizes that vary, and what is asked of them; None where all are numbers.
    """

    def __init__(
        self, recorder: Recorder, outputs: Outputs, state: ProgramState, symbols: Symbols | None = None
    ) -> None:
        self.graph_module = GraphModule(recorder.root, recorder.graph)
        self.inputs: list[GraphInput] = recorder.inputs
        self.outputs, self.state = outputs, state
        self.operators, self.symbols = recorder.operators, symbols
        self._offsets = recorder.offsets

    def serves(self, arguments: Arguments) -> bool:
        """Whether what the program asked of arguments that have the same key holds of others."""
        tensors = arguments.tensors
        if any(tensors[number].storage_offset() != offset for number, offset in self._offsets.items()):
            return False
        return self.symbols is None or self.symbols.serves(arguments)

    def values_for(self, arguments: Arguments) -> list[Any]:
        """What the graph is called with, given the program's arguments."""
        return [given.of(arguments.tensors, arguments.integers) for given in self.inputs]

    def examples(self, arguments: Arguments) -> list[Any]:
        """What a backend is given: tensors, and symbols for the numbers."""
        return [given.example if given.example is not None else given.of(arguments.tensors, arguments.integers) for given in self.inputs]  # fmt: skip # noqa: E501


def parameter_names(program: Callable[..., Any]) -> list[str]:
    """The names of the parameters of a program, as far as they can be known."""
    try:
        return list(inspect.signature(program).parameters)
    except (TypeError, ValueError):
        return []


def self_name(module: Module) -> str:
    """What the module's ``forward`` calls itself."""
    code = getattr(type(module).forward, "__code__", None)
    return code.co_varnames[0] if code is not None and code.co_argcount else "self"


def capture(
    program: Callable[..., Any], arguments: Arguments, state: ProgramState, symbols: Symbols | None = None
) -> Captured:
    """The graph of a call of a program.

    Parameters
    ----------
    state
        Is told what the program reads. Where this raises, it knows as much of that as was read.
    symbols
        Which sizes of the arguments are symbols.

    Raises
    ------
    torch.fx.experimental.symbolic_shapes.ConstraintViolationError
        For a size that was marked to vary and may not.
    GraphBreak
        With the reason why there is none. What the program had changed is as it was.
    """
    from .._subclasses.fake_tensor import FakeTensorMode  # late: only captures need it

    fake_mode = FakeTensorMode(allow_non_fake_inputs=False, shape_env=None if symbols is None else symbols.env)
    names = parameter_names(program.forward if isinstance(program, Module) else program)
    sources = arguments.sources(names)
    _note_roots(program, arguments, sources, state)
    watcher = Watcher(state)
    recorder = Recorder(fake_mode, state, watcher, symbols)
    watcher.follow(autocast.__enter__, autocast.__exit__, recorder)
    fakes = _Fakes(recorder, arguments, sources, arguments.integer_sources(names))
    args, kwargs = fakes.of(arguments.args), fakes.of(arguments.kwargs)
    try:
        with fake_mode, compiling(), recorder, watcher:
            result = program(*args, **kwargs)
        state.has_run = True
        stop = watcher.stop or recorder.stop or state.stop
        if stop is not None:  # the program has caught what ended the capture
            raise stop
        fakes.check_unchanged()
    except GraphBreak:
        state.restore()
        raise
    except Exception as error:
        # Whatever the program raises on fakes, it is asked again without: then the error is its own.
        state.restore()
        stop = watcher.stop or recorder.stop or state.stop
        raise stop or GraphBreak(f"{type(error).__name__}: {error}") from error
    state.note_late_modules()
    changed = state.restore()
    if changed:
        raise GraphBreak(f"changes {changed[0]}")
    outputs = Outputs(result, recorder, state, fakes, arguments)
    recorder.finish(outputs.tensors)
    if symbols is not None:
        symbols.settle(arguments)
    return Captured(recorder, outputs, state, symbols)


def _note_roots(
    program: Callable[..., Any], arguments: Arguments, sources: dict[int, str], state: ProgramState
) -> None:
    if isinstance(program, Module):
        state.note(program, f"L['{self_name(program)}']")
    else:
        state.note(program, "L")
    for value in arguments.objects:
        state.note(value, sources[id(value)])


def autocast_facts() -> tuple[Any, ...]:
    """What autocast is set to in this thread."""
    kept: Iterable[tuple[str, Any]] = sorted(settings.dtypes.items(), key=lambda item: item[0])
    return tuple(sorted(settings.enabled)), tuple(kept), settings.cache_enabled
