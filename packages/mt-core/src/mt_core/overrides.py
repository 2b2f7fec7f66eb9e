"""``__torch_function__``: calls handed to a tensor subclass, a mode, or another class that asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .keys import TORCH_FUNCTION
from .state import excluding, tls
from .tensor_types import TENSORS

__all__ = ["TorchFunctionMode", "call_override", "default_torch_function", "has_torch_function", "is_tensor_like"]


def _overrides(value: Any) -> bool:
    from .subclasses import disabled_torch_function
    from .tensor import Tensor

    cls = type(value)
    method = getattr(cls, "__torch_function__", None)
    return method is not None and cls is not Tensor and method is not disabled_torch_function


def has_torch_function(values: Any) -> bool:
    """Whether any of the values has a ``__torch_function__`` of its own, or a mode is on."""
    return bool(tls.function_modes) or any(_overrides(v) for v in values)


def _flatten(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    found: list[Any] = []
    for value in (*args, *kwargs.values()):
        found.extend(value) if isinstance(value, (list, tuple)) else found.append(value)
    return found


def call_override(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Hand a call to the innermost mode, else to the arguments' overrides, subclasses before their bases.

    Raises
    ------
    TypeError
        When all of them return NotImplemented.
    """
    values = [v for v in _flatten(args, kwargs) if _overrides(v)]
    ordered: list[Any] = []
    for value in values:
        if type(value) not in [type(o) for o in ordered]:
            at = next((i for i, o in enumerate(ordered) if isinstance(value, type(o))), len(ordered))
            ordered.insert(at, value)
    types = tuple(type(o) for o in ordered)
    if tls.function_modes:
        mode = tls.function_modes.pop()
        _refresh()
        try:
            result = mode.__torch_function__(function, types, args, kwargs)
        finally:
            tls.function_modes.append(mode)
            _refresh()
        if result is not NotImplemented:
            return result
    for value in ordered:
        result = type(value).__torch_function__(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = getattr(function, "__name__", str(function))
    listed = ", ".join(t.__module__ + "." + t.__name__ for t in types)
    raise TypeError(
        f"no implementation found for 'torch.{name}' on types that implement __torch_function__: [{listed}]"
    )


def default_torch_function(cls: type, func: Callable[..., Any], types: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Call the function with overrides off; a plain tensor among its results becomes a `cls`."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with excluding(TORCH_FUNCTION):
        return _as_class(func(*args, **kwargs), cls)


def _as_class(value: Any, cls: type) -> Any:
    from .tensor import Tensor

    if type(value) is Tensor and cls is not Tensor and issubclass(cls, Tensor):
        return value.as_subclass(cls)
    if type(value) in (list, tuple):
        return type(value)(_as_class(v, cls) for v in value)
    return value


class FunctionLayer:
    """The dispatch layer of `TORCH_FUNCTION`.

    Every operator call on such a tensor, or in a mode, goes to the override.
    """

    contract = 1

    def build(self, overload: Any, keys: int, below: Callable[..., Any]) -> Callable[..., Any]:
        function = _public_function(overload)

        def run(*args: Any) -> Any:
            return call_override(function, args, {})

        return run


def _public_function(overload: Any) -> Callable[..., Any]:
    """What the override is told was called: the overload, callable by position, under the packet's name."""

    def function(*args: Any, **kwargs: Any) -> Any:
        return overload(*args, **kwargs)

    function.__name__ = overload.packet_name
    function.overload = overload  # type: ignore[attr-defined]
    return function


class TorchFunctionMode:
    """Base of modes: inside ``with``, every function call goes to ``__torch_function__(func, types, args, kwargs)``."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> TorchFunctionMode:
        tls.function_modes.append(self)
        _refresh()
        return self

    def __exit__(self, *exc_info: object) -> None:
        tls.function_modes.pop()
        _refresh()


def _refresh() -> None:
    tls.include = tls.include | TORCH_FUNCTION if tls.function_modes else tls.include & ~TORCH_FUNCTION
    tls.refresh()


def is_tensor_like(value: Any) -> bool:
    """Whether a value is a tensor or behaves as one by overriding functions."""
    return value.__class__ in TENSORS or hasattr(value, "__torch_function__")
