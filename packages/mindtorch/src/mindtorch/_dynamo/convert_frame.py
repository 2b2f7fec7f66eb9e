"""Capturing a program: it is run once on fake tensors, and what it does to them is a graph.

What the graph takes for granted, its guards know: the arguments, compared at each call, and what else the program has
read. A program that does what no graph can repeat, and no guard can compare, is not captured.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from mt_core import Tensor, pytree
from mt_core.layers.autocast import settings
from mt_core.pytree.nodes import is_namedtuple_instance
from mt_nn import Module

from .._capturing import compiling
from ..amp.autocast_mode import autocast
from ..fx.graph_module import GraphModule
from .exc import GraphBreak
from .guards import ProgramState, tensor_facts
from .output_graph import CONSTANTS, GraphInput, Recorder
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
    objects
        What is compared by identity.
    key
        Equal for calls that one graph serves, as far as the arguments go.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.tensors: list[Tensor] = []
        self.objects: list[Any] = []
        self._numbers: dict[int, int] = {}
        self.args, self.kwargs = args, kwargs
        described = [self._described(value) for value in (*args, *kwargs.values())]
        self.key = (len(args), tuple(kwargs), tuple(described))

    def _described(self, value: Any) -> Any:
        kind = type(value)
        if isinstance(value, Tensor):
            return self._tensor(value)
        if kind in (float, complex):
            return kind, repr(value)
        if kind in _ATOMS:
            return kind, value
        parts = _parts_of(value)
        if parts is not None:
            return kind, tuple((name, self._described(part)) for name, part in parts)
        self.objects.append(value)
        return kind, id(value)

    def _tensor(self, tensor: Tensor) -> Any:
        number = self._numbers.setdefault(id(tensor), len(self.tensors))
        if number == len(self.tensors):
            self.tensors.append(tensor)
        return Tensor, number, tensor_facts(tensor)

    def sources(self, names: list[str]) -> dict[int, str]:
        """id -> where it is found, as PyTorch names it, of each tensor and object; `names` are those of parameters."""
        found: dict[int, str] = {}
        positional = zip(_with_rest(names, len(self.args)), self.args, strict=True)
        pending = [(f"L[{name!r}]", value) for name, value in (*positional, *self.kwargs.items())]
        while pending:
            source, value = pending.pop()
            parts = None if isinstance(value, Tensor) else _parts_of(value)
            if parts is None:
                found[id(value)] = source
            else:
                pending += [(f"{source}{name}", part) for name, part in parts]
        return found


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

    def __init__(self, recorder: Recorder, arguments: Arguments, sources: dict[int, str]) -> None:
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
        self.tensors: list[Tensor] = []
        self._numbers: dict[int, int] = {}
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
        if isinstance(leaf, (*CONSTANTS, bytes, enum.Enum)) or self._state.has_seen(leaf):
            return _Result("value", leaf)
        raise GraphBreak(f"returns a {type(leaf).__name__}, which is made anew at each call")

    def _tensor_place(self, leaf: Tensor) -> _Result:
        original = self._recorder.original(leaf)
        if original is not None:
            number = self._arguments.get(id(original))
            return _Result("value", original) if number is None else _Result("argument", number)
        number = self._numbers.setdefault(id(leaf), len(self.tensors))
        if number == len(self.tensors):
            self.tensors.append(leaf)
        return _Result("output", number)

    def filled(self, outputs: Any, tensors: list[Tensor]) -> Any:
        """The program's result, of the graph's outputs and the tensors among the arguments."""
        by_kind = {"output": outputs, "argument": tensors}
        leaves = [place.value if place.kind == "value" else by_kind[place.kind][place.value] for place in self._places]
        return pytree.tree_unflatten(leaves, self._spec)


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
    """

    def __init__(self, recorder: Recorder, outputs: Outputs, state: ProgramState) -> None:
        self.graph_module = GraphModule(Module(), recorder.graph)
        self.inputs: list[GraphInput] = recorder.inputs
        self.outputs, self.state = outputs, state
        self.operators = recorder.operators

    def tensors_for(self, arguments: list[Tensor]) -> list[Tensor]:
        """What the graph is called with, given the tensors among the program's arguments."""
        return [i.tensor if i.argument is None else arguments[i.argument] for i in self.inputs]


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


def capture(program: Callable[..., Any], arguments: Arguments, state: ProgramState) -> Captured:
    """The graph of a call of a program.

    Parameters
    ----------
    state
        Is told what the program reads. Where this raises, it knows as much of that as was read.

    Raises
    ------
    GraphBreak
        With the reason why there is none. What the program had changed is as it was.
    """
    from .._subclasses.fake_tensor import FakeTensorMode  # late: only captures need it

    fake_mode = FakeTensorMode(allow_non_fake_inputs=False)
    sources = arguments.sources(parameter_names(program.forward if isinstance(program, Module) else program))
    _note_roots(program, arguments, sources, state)
    watcher = Watcher(state)
    recorder = Recorder(fake_mode, state, watcher.paused)
    watcher.follow(autocast.__enter__, autocast.__exit__, recorder)
    fakes = _Fakes(recorder, arguments, sources)
    args, kwargs = fakes.of(arguments.args), fakes.of(arguments.kwargs)
    try:
        with fake_mode, compiling(), recorder, watcher:
            result = program(*args, **kwargs)
        reason = watcher.reason or recorder.reason
        if reason is not None:  # the program has caught what ended the capture
            raise GraphBreak(reason)
        fakes.check_unchanged()
    except GraphBreak:
        state.restore()
        raise
    except Exception as error:
        # Whatever the program raises on fakes, it is asked again without: then the error is its own.
        state.restore()
        raise GraphBreak(watcher.reason or recorder.reason or f"{type(error).__name__}: {error}") from error
    changed = state.restore()
    if changed:
        raise GraphBreak(f"changes {changed[0]}")
    outputs = Outputs(result, recorder, state, fakes, arguments)
    recorder.finish(outputs.tensors)
    return Captured(recorder, outputs, state)


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
