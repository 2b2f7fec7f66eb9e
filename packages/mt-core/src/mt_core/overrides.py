"""What overriding a function means by default, and the stack of modes."""

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from .overriding import (
    DisableTorchFunctionSubclass,
    arm,
    entered_modes,
    handed_over_from_python,
    must_ask,
    refresh,
)
from .state import tls
from .tensor import Tensor

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "default_torch_function",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "pop_mode",
    "push_mode",
    "unwrapped",
]


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a mode is on, or any of the arguments has a ``__torch_function__`` that is not disabled."""
    return must_ask(relevant_args)


def has_torch_function_unary(arg: Any) -> bool:
    """`has_torch_function` of one argument."""
    return must_ask((arg,))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` of the arguments given."""
    return must_ask(args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Ask the innermost mode, then the overrides of `relevant_args`, subclasses before their bases.

    Parameters
    ----------
    public_api
        What they are told was called.
    relevant_args
        The arguments whose overrides count.
    args, kwargs
        What they are told it was called with.

    Raises
    ------
    TypeError
        When all of them return NotImplemented.
    """
    return handed_over_from_python(public_api, relevant_args, args, kwargs)


def default_torch_function(cls: type, func: Callable[..., Any], types: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Call the function with overrides off; a plain tensor among its results becomes a `cls`."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **kwargs)
    return result if func in unwrapped() else _as_class(result, cls)


def unwrapped() -> set[Callable[..., Any]]:
    """What gives back tensors that were there before, of whatever class they are."""
    return {Tensor._base.__get__, Tensor.grad.__get__}  # type: ignore[union-attr, attr-defined]


def _as_class(value: Any, cls: type) -> Any:
    if cls is Tensor:
        return value
    if isinstance(value, Tensor) and not isinstance(value, cls):
        value = value.as_subclass(cls)
    if isinstance(value, (tuple, list)):
        value = type(value)(_as_class(v, cls) for v in value)
    return value


def push_mode(mode: Any) -> None:
    """Make a mode the innermost of this thread."""
    arm()
    tls.function_modes.append(mode)
    entered_modes.append(mode)
    refresh()


def pop_mode() -> Any:
    """Take the innermost mode of this thread away, and return it."""
    mode = tls.function_modes.pop()
    del entered_modes[next(i for i, entered in enumerate(entered_modes) if entered is mode)]
    refresh()
    return mode


class TorchFunctionMode:
    """Base of modes: inside ``with``, every function call goes to ``__torch_function__(func, types, args, kwargs)``.

    While the method runs the mode is off, so that it may call `func`.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> "TorchFunctionMode":
        push_mode(self)
        return self

    def __exit__(self, *exc_info: object) -> None:
        pop_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> "TorchFunctionMode":
        """Make a mode, with a warning: ``with Mode():`` is all that is needed."""
        warnings.warn(
            "`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`",
            UserWarning,
            stacklevel=2,
        )
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that only calls the function."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))
