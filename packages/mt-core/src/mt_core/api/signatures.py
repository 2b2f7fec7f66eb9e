"""What ``inspect.signature`` and ``help`` say of the generated functions and methods.

Their own parameters are those of the short forms, which nobody calls by name. PyTorch's are builtins without a
signature; here there is one that covers all forms, which the docstring lists. Where forms differ in the names of
arguments it is ``(*args, **kwargs)``.
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Mapping
from functools import cache
from types import FunctionType, MappingProxyType
from typing import Any

from ..dispatch.registry import PACKETS, Packet
from ..schema import MISSING
from ..tensor import Tensor
from .binder import OldSignature, Parameter, Signature, signatures_of

__all__ = ["LazyMethodSignature", "LazySignature", "sign", "widest_signature"]

_ANYTHING = (
    inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
    inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
)


class LazySignature(inspect.Signature):
    """The signature of a packet's function, made when somebody looks: there are more than a thousand."""

    __slots__ = ("_packet",)
    #: Whether it is that of the method, which begins with ``self``.
    _method = False
    _packet: Packet

    @property
    def parameters(self) -> MappingProxyType[str, inspect.Parameter]:
        return _signature_of(self._packet, self._method).parameters

    @property
    def return_annotation(self) -> Any:
        return inspect.Signature.empty

    def replace(self, **changes: Any) -> inspect.Signature:  # type: ignore[override]
        """The signature with other parameters or another return annotation."""
        return _signature_of(self._packet, self._method).replace(**changes)

    def __reduce__(self) -> str | tuple[Any, ...]:
        return _signature_of(self._packet, self._method).__reduce__()


class LazyMethodSignature(LazySignature):
    """That of the method."""

    __slots__ = ()
    _method = True


def sign(members: Mapping[str, Any], module: str, cls: type[LazySignature]) -> None:
    """Give the generated functions of a module or class their signatures."""
    new = object.__new__
    for name, member in members.items():
        if member.__class__ is FunctionType and member.__module__ == module:
            packet = PACKETS.get(name) or PACKETS.get(name.removesuffix("_"))
            if packet is not None:
                signature = member.__dict__["__signature__"] = new(cls)
                signature._packet = packet


@cache
def _signature_of(packet: Packet, method: bool) -> inspect.Signature:
    """One signature for all forms, by position and by name; that of anything where there is none."""
    found = widest_signature(packet, method)
    own = list(found.parameters.values())[method:]
    required = {p.name for p in own if p.default is p.empty}
    for form in _current_forms(packet, method):
        if not required <= {_identifier(p.name) for p in form.parameters} <= {p.name for p in own}:
            return found.replace(parameters=[*list(found.parameters.values())[:method], *_ANYTHING])
    return found


def widest_signature(packet: Packet, method: bool) -> inspect.Signature:
    """Positional parameters of the longest form, keywords of all; what some form goes without has a default."""
    forms = _current_forms(packet, method)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter("self", kind)] if method else []
    required = min((form.required for form in forms), default=0)
    widest = max((form.positional for form in forms), key=len, default=[])
    for position, p in enumerate(widest):
        default = inspect.Parameter.empty if position < required else _default(p)
        parameters.append(inspect.Parameter(_identifier(p.name), kind, default=default, annotation=_annotation(p)))
    seen = {p.name for p in parameters}
    options = {_identifier(p.name): _default(p) for form in forms for p in form.parameters if p.kwarg_only}
    options |= {"out": None} if any(form.out is not None for form in forms) else {}
    options |= {"requires_grad": False} if any(form.is_factory for form in forms) else {}
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in options.items()
        if name not in seen
    ]
    return inspect.Signature(parameters)


def _current_forms(packet: Packet, method: bool) -> list[Signature]:
    """All forms but those of which PyTorch warns."""
    return [form for form in signatures_of(packet, method) if not isinstance(form, OldSignature)]


def _default(parameter: Parameter) -> Any:
    return None if parameter.default is MISSING else parameter.default


def _annotation(parameter: Parameter) -> Any:
    """The class of a tensor argument; those of others are told by the forms that the docstring lists."""
    return Tensor if parameter.argument.type == "Tensor" else inspect.Parameter.empty


def _identifier(name: str) -> str:
    return name + "_" if keyword.iskeyword(name) else name
