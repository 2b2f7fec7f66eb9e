"""``torch.overrides``: calls handed to a tensor subclass, a mode, or another class that asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .overriding import DisableTorchFunctionSubclass, must_ask, refresh
from .state import tls
from .tensor import Tensor
from .tensor_types import TENSORS

__all__ = ["TorchFunctionMode", "default_torch_function", "has_torch_function", "is_tensor_like"]


def has_torch_function(values: Any) -> bool:
    """Whether any of the values has a ``__torch_function__`` of its own, or a mode is on."""
    return must_ask(values)


def default_torch_function(cls: type, func: Callable[..., Any], types: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Call the function with overrides off; a plain tensor among its results becomes a `cls`."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        return _as_class(func(*args, **kwargs), cls)


def _as_class(value: Any, cls: type) -> Any:
    if cls is Tensor:
        return value
    if isinstance(value, Tensor) and not isinstance(value, cls):
        value = value.as_subclass(cls)
    if isinstance(value, (tuple, list)):
        value = type(value)(_as_class(v, cls) for v in value)
    return value


class TorchFunctionMode:
    """Base of modes: inside ``with``, every function call goes to ``__torch_function__(func, types, args, kwargs)``."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> TorchFunctionMode:
        tls.function_modes.append(self)
        refresh()
        return self

    def __exit__(self, *exc_info: object) -> None:
        tls.function_modes.pop()
        refresh()


def is_tensor_like(value: Any) -> bool:
    """Whether a value is a tensor or behaves as one by overriding functions."""
    return value.__class__ in TENSORS or hasattr(value, "__torch_function__")
