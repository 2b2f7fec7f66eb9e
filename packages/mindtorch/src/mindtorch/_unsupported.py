"""What PyTorch has and mindtorch has not: names that exist, and say so when they are used."""

from collections.abc import Callable
from typing import Any, NoReturn

__all__ = ["refusal", "unsupported_class", "unsupported_function"]


def refusal(name: str, remedy: str = "") -> NotImplementedError:
    """The error for something that mindtorch lacks; `remedy` is a sentence about what to do instead."""
    return NotImplementedError(f"{name} is not supported by mindtorch. {remedy}".rstrip())


def unsupported_function(name: str, remedy: str = "") -> Callable[..., NoReturn]:
    """A function that raises `refusal` whatever it is called with; `name` is the dotted name users know."""

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise refusal(name, remedy)

    function.__module__, _, function.__name__ = _own_name(name)
    function.__qualname__ = function.__name__
    function.__doc__ = f"Not supported: raises NotImplementedError. {remedy}".rstrip()
    return function


def unsupported_class(name: str, remedy: str = "") -> type:
    """A class without instances, for annotations and ``isinstance``; making one raises `refusal`."""

    def __new__(cls: type, *args: Any, **kwargs: Any) -> NoReturn:
        raise refusal(name, remedy)

    module, _, own = _own_name(name)
    doc = f"Not supported: there are no instances. {remedy}".rstrip()
    return type(own, (), {"__new__": __new__, "__doc__": doc, "__module__": module})


def _own_name(name: str) -> tuple[str, str, str]:
    """Module, dot and name of what PyTorch calls `name`."""
    return name.replace("torch", __package__, 1).rpartition(".")
