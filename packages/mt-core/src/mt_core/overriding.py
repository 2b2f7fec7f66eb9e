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
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from .keys import TORCH_FUNCTION, WIDTH
from .state import effective_keys, tls
from .tensor_types import TENSORS

__all__ = [
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "FunctionLayer", "Overridden", "asking",
    "disabled_torch_function", "handed_over", "handed_over_from_python", "is_overridden", "must_ask", "overridable",
    "overridable_builtin", "overridable_property", "refresh",
]  # fmt: skip


class Overridden(Exception):
    """Raised where a call was dispatched that an argument or a mode overrides."""


class FunctionLayer:
    """The dispatch layer of `TORCH_FUNCTION`: whoever made the call must ask the override first."""

    contract = 1

    def build(self, overload: Any, keys: int, below: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            raise Overridden(overload.name)

        return run


# What is switched off


class _Off(threading.local):
    subclasses = False
    everything = False


off = _Off()


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


def disabled_torch_function(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """A ``__torch_function__`` that overrides nothing.

    Assign it in a subclass to keep the fast path (as `Parameter` does).
    """
    with DisableTorchFunctionSubclass():
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
        if value.__class__ not in PLAIN and (value.__class__ not in SEQUENCES or must_ask(value)):
            break
    else:
        return bool(tls.function_modes) and not off.everything
    return not off.everything and (
        bool(tls.function_modes) or not off.subclasses and any(map(_overrides, _each(values)))
    )


def is_overridden(keys: int) -> bool:
    """Whether a coded key set holds `TORCH_FUNCTION` for this thread."""
    return (keys & TORCH_FUNCTION or keys >> WIDTH) != 0 and effective_keys(keys) & TORCH_FUNCTION != 0


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


def handed_over_from_python(
    function: Callable[..., Any], relevant: Iterable[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """As `handed_over`, for what PyTorch writes in Python: plain tensors are told and asked too."""
    return _answer(function, asked(relevant, plain_too=True), args, kwargs, True)


def _answer(
    function: Callable[..., Any], values: list[Any], args: tuple[Any, ...], kwargs: Any, in_python: bool
) -> Any:
    types = tuple(type(v) for v in values)
    mode = None
    if modes_active():
        mode = tls.function_modes[-1]
        result = _ask_mode(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    for value in values:
        result = _method_of(value)(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    raise (_unanswered_in_python if in_python else _unanswered)(function, types, mode)


def _ask_mode(function: Callable[..., Any], types: tuple[type, ...], args: Any, kwargs: Any) -> Any:
    mode = tls.function_modes.pop()
    refresh()
    try:
        return mode.__torch_function__(function, types, args, kwargs)
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


def _unanswered(function: Callable[..., Any], types: tuple[type, ...], mode: Any) -> TypeError:
    asked_of = ([f"mode object {mode!r}"] if mode is not None else []) + [f"tensor subclass {t!r}" for t in types]
    listed = "".join(f"  - {who}\n" for who in asked_of)
    return TypeError(
        f"Multiple dispatch failed for '{public_name(function)}'; all __torch_function__ handlers returned "
        f"NotImplemented:\n\n{listed}\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


def _unanswered_in_python(function: Callable[..., Any], types: tuple[type, ...], mode: Any) -> TypeError:
    also = f" nor in mode {mode!r}" if mode is not None else ""
    return TypeError(
        f"no implementation found for '{public_name(function)}' on types that implement __torch_function__: "
        f"{list(types)}{also}"
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


def overridable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a function that PyTorch writes in Python: overrides of its arguments are asked before it runs.

    They are told the parameters without defaults by position and all others by name, as PyTorch's own functions do.
    """
    from_python = _asks_for(function, lambda told, args, kwargs: handed_over_from_python(
        told, [*args, *kwargs.values()], *_spread(function, args, kwargs)))  # fmt: skip
    return from_python


def overridable_builtin(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a function that PyTorch has in C++: overrides are told its arguments as they were written."""
    return _asks_for(function, lambda told, args, kwargs: handed_over(told, args, kwargs or None))


def _asks_for(function: Callable[..., Any], ask: Callable[..., Any]) -> Callable[..., Any]:
    plain = PLAIN

    @functools.wraps(function)
    def asking_first(*args: Any, **kwargs: Any) -> Any:
        if tls.function_modes and must_ask(()):
            return ask(asking_first, args, kwargs)
        for value in args:
            if value.__class__ not in plain and must_ask((value,)):
                return ask(asking_first, args, kwargs)
        if kwargs and must_ask(kwargs.values()):
            return ask(asking_first, args, kwargs)
        return function(*args, **kwargs)

    return asking_first


@functools.cache
def _parameters(function: Callable[..., Any]) -> tuple[tuple[str, Any, Any], ...]:
    """(name, default, kind) of a function's parameters."""
    import inspect  # lazy: 5 ms, and few programs override functions

    return tuple((p.name, p.default, p.kind) for p in inspect.signature(function).parameters.values())


def _spread(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments in the form in which PyTorch's Python functions tell them: what has a default is told by name."""
    import inspect  # lazy, as above

    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for name, default, kind in _parameters(function):
        value = bound.arguments[name]
        if kind is inspect.Parameter.VAR_POSITIONAL:
            positional.extend(value)
        elif kind is inspect.Parameter.VAR_KEYWORD:
            named.update(value)
        elif default is inspect.Parameter.empty and kind is not inspect.Parameter.KEYWORD_ONLY:
            positional.append(value)
        else:
            named[name] = value
    return tuple(positional), named


def overridable_property(found: property) -> property:
    """A property of which overrides are told as ``torch.Tensor.grad.__get__``, ``__set__`` and ``__delete__``."""
    made: property

    def read(self: Any) -> Any:
        if self._keys & TORCH_FUNCTION or tls.function_modes:
            if is_overridden(self._keys | tls.mode):
                return _answer(made.__get__, [self], (self,), None, False)
        return found.fget(self)  # type: ignore[misc]

    def write(self: Any, value: Any) -> None:
        if is_overridden(self._keys | tls.mode):
            _answer(made.__set__, [self], (self, value), None, False)
        else:
            found.fset(self, value)  # type: ignore[misc]

    def delete(self: Any) -> None:
        if is_overridden(self._keys | tls.mode):
            _answer(made.__delete__, [self], (self,), None, False)
        else:
            found.fdel(self)  # type: ignore[misc]

    made = property(read, write if found.fset else None, delete if found.fdel else None, found.__doc__)
    return made
