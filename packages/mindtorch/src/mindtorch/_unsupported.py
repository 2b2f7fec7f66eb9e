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


class _RefusedMember(NotImplementedError, AttributeError):
    """A refusal by which ``hasattr`` finds that there is no such member."""


class _Refused(type):
    """Of a class that is refused: its members, which are class methods in PyTorch, are refused as well."""

    _refused: tuple[str, str]

    def __getattr__(cls, member: str) -> NoReturn:
        name, remedy = cls._refused
        if member.startswith("__"):
            raise AttributeError(f"type object '{cls.__name__}' has no attribute '{member}'")
        raise _RefusedMember(*refusal(f"{name}.{member}", remedy).args)


def unsupported_class(name: str, remedy: str = "") -> type:
    """A class without instances, for annotations and ``isinstance``; making one raises `refusal`."""

    def __new__(cls: type, *args: Any, **kwargs: Any) -> NoReturn:
        raise refusal(name, remedy)

    module, _, own = _own_name(name)
    doc = f"Not supported: there are no instances. {remedy}".rstrip()
    return _Refused(own, (), {"__new__": __new__, "__doc__": doc, "__module__": module, "_refused": (name, remedy)})


def _own_name(name: str) -> tuple[str, str, str]:
    """Module, dot and name of what PyTorch calls `name`."""
    return name.replace("torch", __package__, 1).rpartition(".")
