"""Classes that PyTorch has and mindtorch has not: names that exist, and say so when they are used."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["refused_class"]


class _RefusedMember(NotImplementedError, AttributeError):
    """A refusal by which ``hasattr`` finds that there is no such member."""


class _Refusing(type):
    """Of a class that is refused: its members, which are class methods in PyTorch, are refused as well."""

    _refused: tuple[str, str]

    def __getattr__(cls, member: str) -> NoReturn:
        if member.startswith("__"):
            raise AttributeError(f"type object '{cls.__name__}' has no attribute '{member}'")
        name, remedy = cls._refused
        raise _RefusedMember(_words(f"{name}.{member}", remedy))


def _words(name: str, remedy: str) -> str:
    return f"{name} is not supported by mindtorch. {remedy}"


def refused_class(module: str, name: str, remedy: str) -> Any:
    """A class without instances.

    Parameters
    ----------
    module
        PyTorch's.
    remedy
        A sentence about what to do instead.
    """
    full = f"{module}.{name}"

    def __new__(cls: type, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(_words(full, remedy))

    doc = f"Not supported: there are no instances. {remedy}"
    return _Refusing(name, (), {"__new__": __new__, "__doc__": doc, "__module__": module, "_refused": (full, remedy)})
