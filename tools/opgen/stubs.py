"""The text of ``_functions.pyi`` and ``_methods.pyi``: the types of the wrappers, one signature for each overload."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .operators import OPERATOR_METHODS
from .packets import Packet, Parameter, identifier, is_missing, python_parameters, returns_list
from .wrappers import HEADER, Wrapper

__all__ = ["functions_stub", "methods_stub"]

_IMPORTS = """
# mypy: disable-error-code="misc, override, overload-overlap, overload-cannot-match"

import builtins
from collections.abc import Sequence
from typing import Any, NamedTuple, overload

from ..devices import device
from ..dtypes import dtype
from ..formats import layout, memory_format
from ..random import Generator
from ..tensor import Tensor

Number = int | float | builtins.complex | bool
"""

_TYPES = {
    "Tensor": "Tensor",
    "int": "int",
    "float": "float",
    "Scalar": "Number",
    "bool": "bool",
    "str": "str",
    "ScalarType": "dtype",
    "Device": "device | str | int",
    "Layout": "layout",
    "MemoryFormat": "memory_format",
    "Generator": "Generator",
}


def functions_stub(packets: list[Packet]) -> str:
    """``_functions.pyi``."""
    lines = [HEADER.format(what="Types of the operators as functions."), _IMPORTS]
    lines += [line for packet in packets for line in _result_class(packet)]
    lines += ["NAMESPACES: dict[str, tuple[tuple[str, str], ...]]", ""]
    lines += [line for packet in packets for line in _signatures(Wrapper(packet, False), "")]
    return "\n".join(lines) + "\n"


def methods_stub(packets: list[Packet]) -> str:
    """``_methods.pyi``."""
    results = sorted({_result_name(d) for packet in packets for d in packet.variant("method") if _fields(d)})
    lines = [HEADER.format(what="Types of the operators as methods."), _IMPORTS]
    lines += [f"from ._functions import {name}" for name in results]
    lines += ["", "class TensorBase:", "    __slots__ = ()"]
    lines += [line for packet in packets for line in _signatures(Wrapper(packet, True), "    ")]
    lines += OPERATOR_METHODS.stubs()
    return "\n".join(lines) + "\n"


def _signatures(wrapper: Wrapper, indent: str) -> list[str]:
    """One line for each way of calling, under ``@overload`` where there are several."""
    name = identifier(wrapper.packet.name)
    heads = [(head, _returns(d)) for d in wrapper.overloads for head in _heads(d, wrapper.method)]
    mark = [f"{indent}@overload"] if len(heads) > 1 else []
    return [line for head, returns in heads for line in (*mark, f"{indent}def {name}({head}) -> {returns}: ...")]


def _heads(declaration: Any, method: bool) -> Iterator[str]:
    """The parameter lists of an overload: sizes come as a sequence, or one by one."""
    parameters = python_parameters(declaration, method)
    positional = [p for p in parameters if not p.argument.kwarg_only]
    keyword = [_parameter(p, declaration) for p in parameters if p.argument.kwarg_only] + _ours(declaration, method)
    star = ["*", *keyword] if keyword else []
    receiver = ["self"] if method else []
    arguments = positional[len(receiver) :]
    yield ", ".join([*receiver, *(_parameter(p, declaration) for p in arguments), *star])
    if len(arguments) == 1 and arguments[0].argument.is_list and arguments[0].argument.type == "int":
        yield ", ".join([*receiver, f"*{arguments[0].name}: int", *keyword])


def _ours(declaration: Any, method: bool) -> list[str]:
    """Keywords that stand in no schema: the binder handles them."""
    found = []
    if declaration.python_out and not method:
        found.append("out: Any = ...")
    if any(argument.name == "pin_memory" for argument in declaration.schema.arguments):
        found.append("requires_grad: bool = ...")
    return found


def _parameter(parameter: Parameter, declaration: Any) -> str:
    default = "" if is_missing(parameter.argument.default) else " = ..."
    return f"{parameter.name}: {_type(parameter.argument, declaration.numbers)}{default}"


def _type(argument: Any, numbers: frozenset[str]) -> str:
    text = _TYPES.get(argument.type, "Any")
    if argument.type == "Tensor" and argument.name in numbers:
        text = "Tensor | Number"
    if argument.is_list:
        items = f"Sequence[{text}{' | None' if argument.optional_items else ''}]"
        text = f"{items} | {text}" if argument.size else items
    return f"{text} | None" if argument.optional else text


# Results


def _returns(declaration: Any) -> str:
    if _fields(declaration):
        return _result_name(declaration)
    one = ["list[Tensor]" if r.is_list else _TYPES.get(r.type, "Any") for r in declaration.schema.returns]
    if not one:
        return "Sequence[Tensor]" if returns_list(declaration) else "None"
    return one[0] if len(one) == 1 else f"tuple[{', '.join(one)}]"


def _fields(declaration: Any) -> list[str]:
    """Names of several results; empty where they have none."""
    names = [r.name for r in declaration.schema.returns]
    return names if len(names) > 1 and None not in names else []


def _result_name(declaration: Any) -> str:
    return f"{declaration.schema.name}_result"


def _result_class(packet: Packet) -> list[str]:
    named = next((d for d in packet.callable if _fields(d)), None)
    if named is None:
        return []
    return [f"class {_result_name(named)}(NamedTuple):", *(f"    {name}: Tensor" for name in _fields(named)), ""]
