"""Records what a program does to tensors, as a list of calls that can be made again with other tensors."""

from __future__ import annotations

import functools
import math
import numbers
import operator
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any

from mt_autograd.function import watchers
from mt_core import Size, Tensor, pytree, tensor
from mt_core.overrides import TorchFunctionMode
from mt_core.overriding import DisableTorchFunction
from mt_core.pytree.nodes import is_namedtuple_instance
from mt_core.state import tls

__all__ = [
    "Attribute", "Program", "Recorder", "Reference", "Step", "TracerWarning", "current_recorder", "step_text",
    "tensor_of", "warn",
]  # fmt: skip


class TracerWarning(Warning):
    """Warns where the tracer cannot record what a program does, and keeps the value that it saw."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Silence those that come from the libraries of the house, from now on."""
        for package in _OWN_PACKAGES:
            warnings.filterwarnings("ignore", category=TracerWarning, module=rf"{package}\.(?!jit)")


_OWN_PACKAGES = ("mindtorch", "mt_autograd", "mt_core", "mt_library", "mt_nn")


@dataclass(frozen=True)
class Reference:
    """What a step gave, or an input: by its place."""

    index: int


@dataclass(frozen=True)
class Attribute:
    """A parameter or buffer of the traced module, by its path."""

    path: str


@dataclass
class Step:
    """A call: a function, and its arguments with references in the places of values."""

    function: Callable[..., Any]
    args: Any
    kwargs: dict[str, Any]
    gives: int
    #: Whether it computes a size or takes an item, and may be left out where nothing needs it.
    is_pure: bool = False


@dataclass
class Program:
    """What was recorded: the steps, in order, and what they give in the end.

    Attributes
    ----------
    inputs
        How many values are given: they have the first places.
    """

    inputs: int
    steps: list[Step] = field(default_factory=list)
    output: Any = None
    places: int = 0

    def run(self, inputs: Sequence[Any], attribute: Callable[[str], Any]) -> Any:
        """Make the calls again.

        Parameters
        ----------
        attribute
            Path -> parameter or buffer.
        """
        values: list[Any] = [*inputs, *(None for _ in range(self.places - self.inputs))]

        attribute = functools.cache(attribute)

        def value_of(held: Any) -> Any:
            return values[held.index] if isinstance(held, Reference) else attribute(held.path)

        for step in self.steps:
            args, kwargs = mapped(value_of, step.args), mapped(value_of, step.kwargs)
            values[step.gives] = step.function(*args, **kwargs)
        return mapped(value_of, self.output)

    def without_unused_steps(self) -> Program:
        """The same without steps that compute a size, or take an item, that nothing needs."""
        needed: set[int] = set()
        _note(needed, self.output)
        kept: list[Step] = []
        for step in reversed(self.steps):
            if step.is_pure and step.gives not in needed:
                continue
            _note(needed, (step.args, step.kwargs))
            kept.append(step)
        return Program(self.inputs, kept[::-1], self.output, self.places)

    def lines(self) -> list[str]:
        """A line for each step, to be compared and shown, and one for the output."""
        return [*map(step_text, self.steps), f"return {_text(self.output)}"]

    def constants(self) -> list[Tensor]:
        """The tensors that the steps hold."""
        found: list[Tensor] = []
        for step in self.steps:
            _collect(found, (step.args, step.kwargs))
        _collect(found, self.output)
        return found


def step_text(step: Step) -> str:
    """A line for a step."""
    return f"%{step.gives} = {_name(step.function)}({_arguments_text(step)})"


def mapped(function: Callable[[Any], Any], held: Any) -> Any:
    """Nested arguments with what their references mean."""
    if isinstance(held, (Reference, Attribute)):
        return function(held)
    return _rebuilt(lambda item: mapped(function, item), held)


def _rebuilt(function: Callable[[Any], Any], held: Any) -> Any:
    """A container with its items replaced; anything else as it is."""
    if isinstance(held, (list, tuple)):
        items = [function(item) for item in held]
        return type(held)(*items) if is_namedtuple_instance(held) else _sequence(held, items)
    if isinstance(held, dict):
        return {key: function(item) for key, item in held.items()}
    if isinstance(held, slice):
        return slice(function(held.start), function(held.stop), function(held.step))
    return held


def _sequence(held: Any, items: list[Any]) -> Any:
    return items if isinstance(held, list) else tuple(items)


def _note(needed: set[int], held: Any) -> None:
    mapped(lambda found: needed.add(found.index) if isinstance(found, Reference) else None, held)


def _collect(found: list[Tensor], held: Any) -> Any:
    if isinstance(held, Tensor):
        found.append(held)
    return _rebuilt(lambda item: _collect(found, item), held)


def _name(function: Any) -> str:
    name = getattr(function, "__qualname__", None) or type(function).__name__
    owner = getattr(function, "__self__", None)
    of_property = owner.fget.__qualname__ if isinstance(owner, property) and owner.fget else ""
    return f"{getattr(function, '__module__', '')}.{of_property}.{name}".replace("..", ".").strip(".")


def _arguments_text(step: Step) -> str:
    return ", ".join([*map(_text, step.args), *(f"{key}={_text(value)}" for key, value in step.kwargs.items())])


def _text(held: Any) -> str:
    if isinstance(held, Reference):
        return f"%{held.index}"
    if isinstance(held, Attribute):
        return f"self.{held.path}"
    if isinstance(held, Tensor):
        return f"{held.dtype}{list(held.shape)}"
    if isinstance(held, (list, tuple)):
        return f"{type(held).__name__}({', '.join(map(_text, held))})"
    if isinstance(held, dict):
        return "{" + ", ".join(f"{key!r}: {_text(value)}" for key, value in held.items()) + "}"
    return _name(held) if callable(held) else repr(held)


# Numbers that are computed from sizes


class _Recording(threading.local):
    recorder: Recorder | None = None


_recording = _Recording()


def current_recorder() -> Recorder | None:
    """The recorder of this thread, while a program is traced."""
    return _recording.recorder


class TracedInt:
    """A size, or what was computed from sizes: it knows the step that gives it.

    Python can use it as the number that it is in this run, and comparing it is warned about. It is no int: a float
    that stands before an int computes without asking it.
    """

    reference: Reference

    def __init__(self, value: int) -> None:
        self.value = value

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return repr(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def bit_length(self) -> int:
        return self.value.bit_length()

    def is_integer(self) -> bool:
        return True


numbers.Integral.register(TracedInt)


class TracedFloat(float):
    """As `TracedInt`, where a quotient or a root is no integer."""

    reference: Reference
    __hash__ = float.__hash__


_NUMBERS = (TracedInt, TracedFloat)


def _computing(member: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """An operator as a method: on plain numbers it computes, and the step is recorded."""
    reflected = member.startswith("__r") and member[3:-2] in _BINARY

    def compute(self: Any, *others: Any) -> Any:
        if not all(isinstance(other, (int, float, TracedInt)) for other in others):
            return NotImplemented
        args = (*others, self) if reflected else (self, *others)
        recorder = current_recorder()
        if recorder is None or recorder.number_of(self) is None:
            return function(*map(_plain_number, args))
        return recorder.compute(function, args)

    return compute


def _comparing(name: str) -> Callable[..., Any]:
    def compare(self: Any, other: Any) -> Any:
        if current_recorder() is not None:
            warn_conversion("boolean")
        return getattr(operator, name)(_plain_number(self), _plain_number(other))

    return compare


def _converting(name: str, kind: str) -> Callable[..., Any]:
    def convert(self: Any) -> Any:
        if current_recorder() is not None:
            warn_conversion(kind)
        return _TO_PYTHON[name](_plain_number(self))

    return convert


def _plain_number(number: Any) -> Any:
    if isinstance(number, TracedInt):
        return number.value
    return float.__float__(number) if isinstance(number, TracedFloat) else number


_BINARY: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv, "mod": operator.mod,
    "truediv": operator.truediv, "pow": operator.pow, "divmod": divmod, "and": operator.and_, "or": operator.or_,
    "xor": operator.xor, "lshift": operator.lshift, "rshift": operator.rshift,
}  # fmt: skip
_UNARY: dict[str, Callable[..., Any]] = {
    "neg": operator.neg, "pos": operator.pos, "abs": operator.abs, "invert": operator.invert, "round": round,
    "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc,
}  # fmt: skip
_AS_PYTHON = {"bool": "boolean", "int": "integer", "float": "float", "index": "index"}
_TO_PYTHON: dict[str, Callable[[Any], Any]] = {"bool": bool, "int": int, "float": float, "index": operator.index}


def _equip(cls: type) -> None:
    """Give a class of numbers the operators of numbers."""
    plain = float if issubclass(cls, float) else int
    computed = [(f"__{name}__", function) for name, function in {**_BINARY, **_UNARY}.items()]
    computed += [(f"__r{name}__", function) for name, function in _BINARY.items()]
    members = {member: _computing(member, function) for member, function in computed}
    members |= {f"__{name}__": _comparing(name) for name in "eq ne lt le gt ge".split()}
    members |= {f"__{name}__": _converting(name, kind) for name, kind in _AS_PYTHON.items()}
    for member, function in members.items():
        if hasattr(plain, member):
            setattr(cls, member, function)


for _cls in _NUMBERS:
    _equip(_cls)


def tensor_of(number: Any) -> Tensor:
    """A number that is followed as a tensor, which is followed too."""
    recorder = number.__dict__["recorder"]
    made: Tensor = recorder.as_tensor(number)
    return made


# Warnings


def warn_conversion(kind: str) -> None:
    """Warn that a value leaves what can be recorded, as a Python number or the like."""
    what = kind if kind == "NumPy array" else f"Python {kind}"
    warn(
        f"Converting a tensor to a {what} might cause the trace to be incorrect. We can't record the data flow of "
        "Python values, so this value will be treated as a constant in the future. This means that the trace might not "
        "generalize to other inputs!"
    )


def warn(message: str) -> None:
    """Warn at the line of the program, outside of the packages of the house where there is one."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_own(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    space = frame.f_globals
    registry = space.setdefault("__warningregistry__", {})
    name = space.get("__name__", "")
    warnings.warn_explicit(message, TracerWarning, frame.f_code.co_filename, frame.f_lineno, name, registry)


def _is_own(module: str) -> bool:
    return module.partition(".")[0] in _OWN_PACKAGES


#: Members of tensors that give Python values of elements -> how the warning calls these.
_CONVERSIONS = {
    "__bool__": "boolean", "__int__": "integer", "__float__": "float", "__index__": "index", "item": "number",
    "__complex__": "number", "__format__": "number", "tolist": "list", "is_nonzero": "boolean", "equal": "boolean",
    "allclose": "boolean", "__contains__": "boolean",
}  # fmt: skip
_ARRAYS = frozenset(("numpy", "__array__"))
_SIZES = frozenset(("size", "numel", "nelement"))
_LEN = (
    "Using len to get tensor shape might cause the trace to be incorrect. Recommended usage would be tensor.shape[0]. "
    "Passing a tensor of different shape might lead to errors or silently give incorrect results."
)
_ITERATING = (
    "Iterating over a tensor might cause the trace to be incorrect. Passing a tensor of different shape won't change "
    "the number of iterations executed (and might lead to errors or silently give incorrect results)."
)
_CONSTANT = (
    "torch.{} results are registered as constants in the trace. You can safely ignore this warning if you use this "
    "function to create tensors out of constant variables that would be the same every time you call this function. In "
    "any other case, this might cause the trace to be incorrect."
)


# Recording


class Recorder(TorchFunctionMode):
    """Mode: each call of a function on tensors is made, and recorded with the values that it depends on.

    Parameters
    ----------
    inputs
        The tensors that the program is given.
    attributes
        Path -> parameter or buffer.
    """

    def __init__(self, inputs: Sequence[Tensor], attributes: dict[str, Tensor]) -> None:
        self.program = Program(len(inputs), places=len(inputs))
        # Each tensor is kept, so that no other takes its identity.
        self._known: dict[int, tuple[Tensor, Reference | Attribute]] = {}
        self._is_paused = False
        for path, given in attributes.items():
            self._known.setdefault(id(given), (given, Attribute(path)))
        for index, given in enumerate(inputs):
            self._known[id(given)] = (given, Reference(index))

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record what this thread does within."""
        before, _recording.recorder = _recording.recorder, self
        watched = watchers.get(get_ident())
        watchers[get_ident()] = self._apply
        try:
            with self:
                yield
        finally:
            _recording.recorder = before
            watchers.pop(get_ident())
            if watched is not None:
                watchers[get_ident()] = watched

    def finish(self, output: Any) -> Program:
        """The program, with what it gives."""
        self.program.output = self.held(output)
        return self.program.without_unused_steps()

    # Calls

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if tls.transforms:
            raise NotImplementedError("torch.jit.trace of transforms of torch.func is not supported by mindtorch.")
        name = getattr(func, "__name__", "")
        if name in ("backward", "grad") and getattr(func, "__module__", "").startswith(("torch.autograd", "torch._t")):
            raise NotImplementedError(f"torch.jit.trace of {name} is not supported by mindtorch.")
        self._warn_of(func, name)
        if _is_shape(func) or name in _SIZES:
            return self._size(func, args, kwargs)
        return self._call(func, args, kwargs)

    def _apply(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of an autograd function."""
        if self._is_paused:
            return self._made(cls.apply, args, kwargs)
        return self._call(cls.apply, args, kwargs)

    def _call(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        held = self.held(args), self.held(kwargs)
        result = self._made(func, self._plain(args), self._plain(kwargs))
        if _makes_constant(func) and not any(isinstance(leaf, Reference) for leaf in pytree.tree_leaves(held)):
            warn(_CONSTANT.format(func.__name__))
            return result
        if _holds_tensors(result) or _acts(func):
            self._note_result(result, self._add(func, *held))
        return result

    def _made(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Make a call without recording what happens inside."""
        before, self._is_paused = self._is_paused, True
        watched, recorder = watchers.pop(get_ident(), None), _recording.recorder
        _recording.recorder = None
        try:
            with DisableTorchFunction():
                return func(*args, **kwargs)
        finally:
            self._is_paused, _recording.recorder = before, recorder
            if watched is not None:
                watchers[get_ident()] = watched

    def _add(self, func: Any, args: Any, kwargs: dict[str, Any], is_pure: bool = False) -> Reference:
        gives = Reference(self.program.places)
        self.program.places += 1
        self.program.steps.append(Step(func, args, kwargs, gives.index, is_pure))
        return gives

    def _note_result(self, result: Any, reference: Reference) -> None:
        """Know the tensors of a result by the step that gives them."""
        if isinstance(result, Tensor):
            self._known[id(result)] = (result, reference)
        elif isinstance(result, (list, tuple)):
            for index, item in enumerate(result):
                if _holds_tensors(item):
                    self._note_result(item, self._add(operator.getitem, (reference, index), {}, is_pure=True))
        elif isinstance(result, dict):
            for key, item in result.items():
                if _holds_tensors(item):
                    self._note_result(item, self._add(operator.getitem, (reference, key), {}, is_pure=True))

    # Sizes

    def _size(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        result = self._made(func, self._plain(args), self._plain(kwargs))
        step = self._add(func, self.held(args), self.held(kwargs), is_pure=True)
        if isinstance(result, int):
            return self._number(result, step)
        items = [
            self._number(item, self._add(operator.getitem, (step, index), {}, True))
            for index, item in enumerate(result)
        ]  # fmt: skip
        return tuple.__new__(Size, items)

    def compute(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """A number computed from others."""
        value = function(*map(_plain_number, args))
        if isinstance(value, tuple):  # of divmod
            return tuple(self.compute(function, args) for function in (operator.floordiv, operator.mod))
        if type(value) not in (int, float):
            return value
        return self._number(value, self._add(function, tuple(self.held(a) for a in args), {}, is_pure=True))

    def _number(self, value: Any, reference: Reference) -> Any:
        number = TracedInt(value) if isinstance(value, int) else TracedFloat(value)
        number.reference = reference
        number.__dict__["recorder"] = self
        return number

    def number_of(self, number: Any) -> Reference | None:
        """The step that gives a number; None for one of another trace."""
        return number.reference if number.__dict__.get("recorder") is self else None

    def as_tensor(self, number: Any) -> Tensor:
        """A number as a tensor."""
        result: Tensor = self._made(tensor, (_plain_number(number),), {})
        self._note_result(result, self._add(tensor, (self.held(number),), {}))
        return result

    # Values

    def held(self, value: Any) -> Any:
        """Arguments as a step holds them: with references to what other steps give.

        Raises
        ------
        RuntimeError
            For a tensor that requires grad and is none of the module's.
        """
        if isinstance(value, Tensor):
            return self._held_tensor(value)
        if isinstance(value, _NUMBERS):
            known = self.number_of(value)
            return _plain_number(value) if known is None else known
        return _rebuilt(self.held, value)

    def _held_tensor(self, given: Tensor) -> Any:
        known = self._known.get(id(given))
        if known is not None:
            return known[1]
        if given.requires_grad:
            raise RuntimeError(
                "Cannot insert a Tensor that requires grad as a constant. Consider making it a parameter or input, or "
                f"detaching the gradient\nTensor:\n{given.detach()}"
            )
        return given

    def _plain(self, value: Any) -> Any:
        if isinstance(value, _NUMBERS):
            return _plain_number(value)
        return _rebuilt(self._plain, value)

    def _warn_of(self, func: Any, name: str) -> None:
        if name in _CONVERSIONS:
            warn_conversion(_CONVERSIONS[name])
        elif name in _ARRAYS:
            warn_conversion("NumPy array")
        elif name == "__len__":
            warn(_LEN)
        elif name == "unbind" and _is_iterating():
            warn(_ITERATING)


def _is_iterating() -> bool:
    """Whether the packages of the house were called by going through a tensor."""
    frame: Any = sys._getframe(1)
    while frame is not None and _is_own(frame.f_globals.get("__name__", "")):
        if frame.f_code.co_name == "__iter__":
            return True
        frame = frame.f_back
    return False


def _is_shape(func: Any) -> bool:
    return getattr(func, "__self__", None) is Tensor.shape


def _makes_constant(func: Any) -> bool:
    return getattr(func, "__name__", "") in ("tensor", "as_tensor") and not hasattr(func, "_schema")


def _acts(func: Any) -> bool:
    """Whether a call that gives no tensor writes to one."""
    name = getattr(func, "__name__", "")
    return name in ("__setitem__", "__set__", "__delete__") or name.endswith("_") and not name.endswith("__")


def _holds_tensors(result: Any) -> bool:
    if isinstance(result, (list, tuple)):
        return any(map(_holds_tensors, result))
    if isinstance(result, dict):
        return any(map(_holds_tensors, result.values()))
    return isinstance(result, Tensor)
