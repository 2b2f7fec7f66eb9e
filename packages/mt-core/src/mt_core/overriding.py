"""How a call reaches ``__torch_function__``: of a tensor subclass, of a mode, or of any class that has the method.

Instances of a subclass that overrides functions carry the key `TORCH_FUNCTION`, and a mode includes it in every call of
its thread. The highest layer of dispatch then raises `Overridden`, which the public function that was called answers:
it knows itself, and its arguments as they were written. A plain call pays nothing for this.

What calls operators from within (kernels, composites, the backward pass) runs after the question was answered, with the
key left out.
"""

from __future__ import annotations

import functools
import threading
import types
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from .keys import PYTHON, TORCH_FUNCTION, WIDTH
from .plugins.protocols import CONTRACT
from .state import effective_keys, excluding, tls
from .tensor_types import TENSORS

__all__ = [
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "EnableTorchFunction", "FunctionLayer", "Overridden",
    "Unanswered", "arm", "asking", "disabled_torch_dispatch", "disabled_torch_function", "handed_over",
    "handed_over_for", "handed_over_from_python", "is_overridden", "must_ask", "overridable", "overridable_builtin",
    "overridable_by_modes", "overridable_by_name", "refresh",
    "register_member",
]  # fmt: skip


class Overridden(Exception):
    """Raised where a call was dispatched that an argument or a mode overrides."""


class Unanswered(TypeError):
    """All overrides of a call returned NotImplemented."""


class FunctionLayer:
    """The dispatch layer of `TORCH_FUNCTION`: whoever made the call must ask the override first."""

    contract = CONTRACT

    def build(self, overload: Any, call_keys: int, below: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            raise Overridden(overload.name)

        return run

    def fallback(self, overload: Any, call_keys: int, below: Any, composite: Any) -> Callable[..., Any]:
        return self.build(overload, call_keys, below)


# What is switched off


class _Off(threading.local):
    subclasses = False
    everything = False
    #: Whether the next question is answered with no, whoever would override.
    once = False


off = _Off()
#: One entry for each mode that is on, in any thread: while it is empty, none need be looked for.
entered_modes: list[Any] = []


def refresh() -> None:
    """Recompute the thread's mode after the stack of modes or a switch has changed."""
    modes = bool(tls.function_modes) and not off.everything
    silent = off.everything or off.subclasses and not modes
    tls.include = tls.include | TORCH_FUNCTION if modes else tls.include & ~TORCH_FUNCTION
    tls.exclude = tls.exclude | TORCH_FUNCTION if silent else tls.exclude & ~TORCH_FUNCTION
    tls.refresh()


class DisableTorchFunctionSubclass:
    """Context manager: tensors and other classes override nothing; modes do."""

    __slots__ = ("_previous",)

    def __enter__(self) -> None:
        self._previous = off.subclasses
        off.subclasses = True
        refresh()

    def __exit__(self, *exc_info: object) -> None:
        off.subclasses = self._previous
        refresh()


class DisableTorchFunction:
    """Context manager: nothing overrides functions, modes neither."""

    __slots__ = ("_previous",)

    def __enter__(self) -> None:
        self._previous = off.everything
        off.everything = True
        refresh()

    def __exit__(self, *exc_info: object) -> None:
        off.everything = self._previous
        refresh()


class EnableTorchFunction:
    """As a guard: overrides count again, from its making until it is deleted."""

    __slots__ = ("_previous",)

    def __init__(self) -> None:
        self._previous = off.subclasses, off.everything
        off.subclasses = off.everything = False
        refresh()

    def __del__(self) -> None:
        off.subclasses, off.everything = self._previous
        refresh()


def disabled_torch_function(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """A ``__torch_function__`` that overrides nothing.

    Assign it in a subclass to keep the fast path (as `Parameter` does).
    """
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def disabled_torch_dispatch(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The ``__torch_dispatch__`` of `Tensor`, which takes no part in dispatch: the function, with no handler called.

    What a handler inherits by ``super()`` is this: the operator on the subclass's own memory.
    """
    with excluding(PYTHON):
        return func(*args, **(kwargs or {}))


# Who is asked

#: Classes of arguments that override nothing; `Tensor` enters itself.
PLAIN: set[Any] = {int, float, bool, complex, str, type(None)}
SEQUENCES = frozenset((list, tuple))


def asking(cls: type) -> bool:
    """Whether instances of a class are asked: it has a ``__torch_function__`` that is not disabled."""
    return getattr(cls, "__torch_function__", disabled_torch_function) is not disabled_torch_function


def _overrides(value: Any) -> bool:
    if value.__class__ in TENSORS:
        return bool(value._keys & TORCH_FUNCTION)
    return asking(type(value)) and not isinstance(value, type)


def _each(values: Iterable[Any]) -> list[Any]:
    """The values, and what lists and tuples among them hold."""
    found: list[Any] = []
    for value in values:
        found.extend(value) if value.__class__ is list or value.__class__ is tuple else found.append(value)
    return found


def modes_active() -> bool:
    """Whether a mode of this thread is to be asked."""
    return bool(tls.function_modes) and not off.everything


def must_ask(values: Iterable[Any]) -> bool:
    """Whether a mode is on, or any of the values (or of the items of lists among them) overrides functions."""
    for value in values:
        if value.__class__ in PLAIN:
            continue
        # Of long lists of numbers this is asked without a loop.
        if value.__class__ not in SEQUENCES or not PLAIN.issuperset(map(type, value)):
            break
    else:
        return bool(tls.function_modes) and not off.everything and not _is_let_pass()
    return (
        not off.everything
        and (bool(tls.function_modes) or not off.subclasses and any(map(_overrides, _each(values))))
        and not _is_let_pass()
    )


def _is_let_pass() -> bool:
    """Whether this one question is answered with no (`_Off.once`); the next one is not."""
    passes, off.once = off.once, False
    return passes


def is_overridden(call_keys: int) -> bool:
    """Whether the keys of a call hold `TORCH_FUNCTION` for this thread."""
    return (call_keys & TORCH_FUNCTION or call_keys >> WIDTH) != 0 and effective_keys(call_keys) & TORCH_FUNCTION != 0


def _ordered(values: Iterable[Any]) -> list[Any]:
    """One value of each class, in order, subclasses before their bases."""
    found: list[Any] = []
    for value in values:
        if all(type(value) is not type(o) for o in found):
            at = next((i for i, o in enumerate(found) if isinstance(value, type(o))), len(found))
            found.insert(at, value)
    return found


def asked(values: Iterable[Any], plain_too: bool = False) -> list[Any]:
    """The values whose ``__torch_function__`` is called, in order; `plain_too`: plain tensors among them."""
    if off.everything or off.subclasses:
        return []
    return _ordered(
        v for v in _each(values) if _overrides(v) or plain_too and v.__class__ in TENSORS and asking(v.__class__)
    )


# Asking


def handed_over(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
    """Ask the innermost mode, then the arguments' overrides, subclasses before their bases.

    Raises
    ------
    TypeError
        When all of them return NotImplemented.
    """
    return _answer(function, asked([*args, *(kwargs or {}).values()]), args, kwargs, False)


def handed_over_for(function: Callable[..., Any], relevant: Iterable[Any], args: tuple[Any, ...]) -> Any:
    """As `handed_over`, where what overrides was found among the arguments, however deep it stands in them."""
    return _answer(function, asked(relevant), args, None, False)


def handed_over_from_python(
    function: Callable[..., Any], relevant: Iterable[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """As `handed_over`, for what PyTorch writes in Python: plain tensors are told and asked too."""
    return _answer(function, asked(relevant, plain_too=True), args, kwargs, True)


def _answer(
    function: Callable[..., Any], values: list[Any], args: tuple[Any, ...], kwargs: Any, in_python: bool
) -> Any:
    classes = tuple(type(v) for v in values)
    mode = None
    if modes_active():
        mode = tls.function_modes[-1]
        result = _ask_mode(function, classes, args, kwargs)
        if result is not NotImplemented:
            return result
    for value in values if not off.subclasses else ():
        result = _method_of(value)(function, classes, args, kwargs)
        if result is not NotImplemented:
            return result
    raise (_unanswered_in_python if in_python else _unanswered)(function, classes, mode)


def _ask_mode(function: Callable[..., Any], classes: tuple[type, ...], args: Any, kwargs: Any) -> Any:
    mode = tls.function_modes.pop()
    refresh()
    try:
        return mode.__torch_function__(function, classes, args, kwargs)
    finally:
        tls.function_modes.append(mode)
        refresh()


def _method_of(value: Any) -> Callable[..., Any]:
    method = value.__torch_function__
    if getattr(method, "__self__", None) is value:
        warnings.warn(
            "Defining your `__torch_function__` as a plain method is deprecated and will be an error in future, "
            "please define it as a classmethod.",
            stacklevel=4,
        )
    return method


def _unanswered(function: Callable[..., Any], classes: tuple[type, ...], mode: Any) -> TypeError:
    asked_of = ([f"mode object {mode!r}"] if mode is not None else []) + [f"tensor subclass {t!r}" for t in classes]
    listed = "".join(f"  - {who}\n" for who in asked_of)
    return Unanswered(
        f"Multiple dispatch failed for '{public_name(function)}'; all __torch_function__ handlers returned "
        f"NotImplemented:\n\n{listed}\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


def _unanswered_in_python(function: Callable[..., Any], classes: tuple[type, ...], mode: Any) -> TypeError:
    also = f" nor in mode {mode!r}" if mode is not None else ""
    return Unanswered(
        f"no implementation found for '{public_name(function)}' on types that implement __torch_function__: "
        f"{list(classes)}{also}"
    )


def public_name(function: Callable[..., Any]) -> str:
    """Under which name errors speak of a function: ``torch.add``, ``torch.Tensor.add``."""
    name = getattr(function, "__name__", str(function))
    owner = getattr(function, "__qualname__", name).rpartition(".")[0]
    module = getattr(function, "__module__", "") or ""
    if owner:
        return f"torch.Tensor.{name}"
    if module.startswith(("mt_nn", "torch.nn")):
        return f"torch.nn.functional.{name}"
    return f"torch.functional.{name}" if module == "mt_core.functional" else f"torch.{name}"


# Public functions that are written by hand

#: All functions that ask before they run; the generated ones are not among them.
OVERRIDABLE: set[Callable[..., Any]] = set()


def overridable(
    function: Callable[..., Any], question: Callable[[Iterable[Any]], bool] = must_ask
) -> Callable[..., Any]:
    """Decorator for a function that PyTorch writes in Python: overrides of its arguments are asked before it runs.

    They are told the parameters without defaults by position and all others by name, as PyTorch's own functions do.
    `question` says whether they are asked.
    """
    return _asks_first(function, _from_python(function), question)


def overridable_builtin(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a function that PyTorch has in C++: overrides are told its arguments as they were written."""
    return _asks_first(function, lambda told, args, kwargs: handed_over(told, args, kwargs or None))


def overridable_by_name(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `overridable`, where everything is told by name."""

    def ask(told: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        bound = _parameters(function).bind(*args, **kwargs)
        bound.apply_defaults()
        return handed_over_from_python(told, [*args, *kwargs.values()], (), dict(bound.arguments))

    return _asks_first(function, ask)


def overridable_by_modes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a function that makes plain tensors of whatever it is given: only modes are asked."""

    @functools.wraps(function)
    def asking_modes(*args: Any, **kwargs: Any) -> Any:
        if entered_modes and modes_active():
            return _answer(asking_modes, [], args, kwargs or None, False)
        if args and args[0].__class__ not in PLAIN and must_ask(args[:1]):
            with DisableTorchFunctionSubclass():
                return function(*args, **kwargs)
        return function(*args, **kwargs)

    OVERRIDABLE.add(asking_modes)
    return asking_modes


def _from_python(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda told, args, kwargs: handed_over_from_python(
        told, [*args, *kwargs.values()], *_spread(function, args, kwargs)
    )


def _asks_first(
    function: Callable[..., Any], ask: Callable[..., Any], question: Callable[[Iterable[Any]], bool] = must_ask
) -> Callable[..., Any]:
    plain, modes = PLAIN, entered_modes

    @functools.wraps(function)
    def asking_first(*args: Any, **kwargs: Any) -> Any:
        for value in args:
            if value.__class__ not in plain and question((value,)):
                return ask(asking_first, args, kwargs)
        if (kwargs or modes) and question(kwargs.values()):
            return ask(asking_first, args, kwargs)
        return function(*args, **kwargs)

    OVERRIDABLE.add(asking_first)
    return asking_first


@functools.cache
def _parameters(function: Callable[..., Any]) -> Any:
    import inspect  # lazy: 5 ms, and few programs override functions

    return inspect.signature(function)


def _spread(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments in the form in which PyTorch's Python functions tell them: what has a default is told by name."""
    signature = _parameters(function)
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        parameter = signature.parameters[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional.extend(value[0] if len(value) == 1 and value[0].__class__ in SEQUENCES else value)
        elif parameter.kind is parameter.VAR_KEYWORD:
            named.update(value)
        elif parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY:
            positional.append(value)
        else:
            named[name] = value
    return tuple(positional), named


# Members of a tensor that are written by hand
#
# They are small and called everywhere, so they carry no question. When the first thing that can override functions
# turns up in a process, their bodies are exchanged for one that asks; the function objects stay what they are, because
# programs compare what an override is told with ``torch.Tensor.size``.

_members: list[tuple[types.FunctionType, Callable[..., Any]]] = []
#: What overrides are told of: methods, and the parts of properties.
MEMBERS: set[Callable[..., Any]] = set()
_armed = False


def register_member(function: types.FunctionType, told: Callable[..., Any], in_python: bool) -> None:
    """Have overrides told of a method or of a part of a property, as `told`."""
    if in_python:
        ask: Callable[..., Any] = _from_python(function)
    else:
        ask = _ask_of_member
    _members.append((function, functools.partial(ask, told)))
    MEMBERS.add(told)
    if _armed:
        _exchange(*_members[-1])


def _ask_of_member(told: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if isinstance(told, types.FunctionType):
        return handed_over(told, args, kwargs or None)
    # What a property is asked about is the tensor itself, whatever its class.
    return _answer(told, asked(args[:1]) or list(args[:1]), args, None, False)


def arm() -> None:
    """Let the members of a tensor ask overrides from now on; called when there is something to ask."""
    global _armed
    if not _armed:
        _armed = True
        for function, ask in _members:
            _exchange(function, ask)


def _exchange(function: types.FunctionType, ask: Callable[..., Any]) -> None:
    body = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    body.__kwdefaults__ = function.__kwdefaults__  # type: ignore[assignment]

    def call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return ask(args, kwargs) if must_ask((*args, *kwargs.values())) else body(*args, **kwargs)

    code = _asking.__code__
    constants = tuple(call if constant == _CALL else constant for constant in code.co_consts)
    function.__wrapped__ = body  # type: ignore[attr-defined]
    function.__code__ = code.replace(
        co_consts=constants, co_name=function.__name__, co_freevars=function.__code__.co_freevars
    )


_CALL = "stands for what is called"


def _asking(*args: Any, **kwargs: Any) -> Any:
    call: Any = "stands for what is called"
    return call(args, kwargs)
