"""``torch._C``: schemas of operators, and the operators that have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mt_library import OpOverload, OpOverloadPacket, ops
from mt_library.function_schema import AliasInfo as _AliasInfo
from mt_library.function_schema import Argument, FunctionSchema, parsed_schema
from mt_library.key_sets import DispatchKeySet
from mt_library.registrations import known_names
from mt_library.schema_types import (
    AnyType,
    AwaitType,
    BoolType,
    ComplexType,
    DeviceObjType,
    DictType,
    FloatType,
    FutureType,
    IntType,
    ListType,
    NoneType,
    NumberType,
    OptionalType,
    RRefType,
    StreamObjType,
    StringType,
    SymBoolType,
    SymIntType,
    TensorType,
    TupleType,
    Type,
)
from mt_library.tags import Tag

__all__ = [
    "AnyType", "Argument", "AwaitType", "BoolType", "ComplexType", "DeviceObjType", "DictType", "FloatType",
    "FunctionSchema", "FutureType", "IntType", "ListType", "NoneType", "NumberType", "OptionalType", "RRefType",
    "StreamObjType", "StringType", "SymBoolType", "SymIntType", "TensorType", "TupleType", "Type", "_AliasInfo",
    "_dispatch_call_boxed", "_dispatch_find_schema_or_throw", "_dispatch_get_all_op_names", "_get_operation_overload",
    "_get_schema",
    "_jit_get_all_schemas", "_jit_get_schemas_for_operator", "_jit_resolve_packet", "parse_schema",
]  # fmt: skip


def parse_schema(schema: str, allow_typevars: bool = True) -> FunctionSchema:
    """The schema that a text spells.

    Parameters
    ----------
    schema
        ``"name.overload(Tensor x) -> Tensor"``.
    allow_typevars
        Whether unknown words in small letters are type variables.

    Raises
    ------
    RuntimeError
        Where it spells none.
    """
    found = parsed_schema(schema)
    if not allow_typevars and any(argument.type.kind() == "VarType" for argument in found.arguments + found.returns):
        raise RuntimeError(f"unknown type specifier in {schema}")
    return found


def _packet(name: str) -> OpOverloadPacket | None:
    namespace, _, rest = name.partition("::")
    return getattr(getattr(ops, namespace), rest, None)


def _jit_get_schemas_for_operator(name: str) -> list[FunctionSchema]:
    """The schemas of all overloads of ``"ns::name"``; none of a name that no operator has."""
    packet = _packet(name)
    return [] if packet is None else [overload._schema for overload in packet.op_overloads()]


def _jit_get_all_schemas() -> list[FunctionSchema]:
    """The schemas of all operators."""
    return [_find(*_split(name))._schema for name in known_names()]


def _split(name: str) -> tuple[str, str]:
    packet, _, overload = name.partition(".")
    return packet, overload


def _find(name: str, overload: str) -> OpOverload:
    packet = _packet(name)
    found = None if packet is None else getattr(packet, overload or "default", None)
    if found is None:
        raise RuntimeError(
            f"Could not find schema for {name}.{overload}" if overload else f"Could not find schema for {name}."
        )
    return found


def _get_operation_overload(
    name: str, overload: str
) -> tuple[Callable[..., Any], Callable[..., Any], list[Tag]] | None:
    """(what calls an operator, what calls it at a dispatch key, its tags); None where there is none of the name."""
    packet = _packet(name)
    operator: OpOverload | None = None if packet is None else getattr(packet, overload or "default", None)
    if operator is None:
        return None

    def at_key(key: Any, /, *args: Any, **kwargs: Any) -> Any:
        return operator.redispatch(DispatchKeySet(key), *args, **kwargs)

    return operator, at_key, list(operator.tags)


def _get_schema(name: str, overload: str) -> FunctionSchema:
    """The schema of an overload; of the default one, its name is empty. Raises RuntimeError where there is none."""
    return _find(name, overload)._schema


def _dispatch_find_schema_or_throw(name: str, overload: str) -> OpOverload:
    """The operator of a name and overload, for `_dispatch_call_boxed`. Raises RuntimeError where there is none."""
    return _find(name, overload)


def _dispatch_call_boxed(operator: OpOverload, *args: Any, **kwargs: Any) -> Any:
    """Call an operator that `_dispatch_find_schema_or_throw` found."""
    return operator(*args, **kwargs)


def _dispatch_get_all_op_names() -> list[str]:
    """The names of all operators, with their overloads."""
    return known_names()


def _jit_resolve_packet(name: str, *args: Any, **kwargs: Any) -> str:
    """The name of the overload of ``"ns::name"`` that takes the arguments.

    Raises
    ------
    RuntimeError
        Where none does.
    """
    packet = _packet(name)
    if packet is None:
        raise RuntimeError(f"No such operator: {name}")
    return packet._resolved(args, kwargs)[0]._overloadname
