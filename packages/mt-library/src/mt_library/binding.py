"""Python arguments against the schema of an operator called through ``torch.ops``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mt_core.api.arguments import REJECTED, converter
from mt_core.schema import MISSING, Argument
from mt_core.symbolic import is_symbolic
from mt_core.tensor import Tensor

from .function_schema import FunctionSchema, default_value, type_text

__all__ = ["bind"]


def bind(
    schema: FunctionSchema, args: tuple[Any, ...], kwargs: dict[str, Any], numbers: frozenset[str] = frozenset()
) -> list[Any]:
    """All arguments of the schema in order, converted, with defaults where none are given.

    `numbers` are tensor arguments that may be numbers.

    Raises
    ------
    RuntimeError
        For missing, surplus, unknown or unacceptable arguments.
    """
    parsed = schema.parsed
    positional = sum(not argument.kwarg_only for argument in parsed.arguments)
    if len(args) > positional or len(args) + len(kwargs) > len(parsed.arguments):
        raise RuntimeError(
            f"{schema.name}() expected at most {len(parsed.arguments)} argument(s) but received "
            f"{len(args) + len(kwargs)} argument(s). Declaration: {schema}"
        )
    given = dict(zip((argument.name for argument in parsed.arguments), args))
    for name in kwargs:
        if name in given or all(argument.name != name for argument in parsed.arguments):
            raise RuntimeError(f"Unknown keyword argument '{name}' for operator '{schema.name}'. Schema: {schema}")
    given.update(kwargs)
    return [
        _value(schema, position, argument, given, argument.name in numbers)
        for position, argument in enumerate(parsed.arguments)
    ]


def _value(schema: FunctionSchema, position: int, argument: Argument, given: dict[str, Any], number_ok: bool) -> Any:
    if argument.name not in given:
        default = default_value(argument)
        if default is MISSING:
            raise RuntimeError(
                f"{schema.name}() is missing value for argument '{argument.name}'. Declaration: {schema}"
            )
        return default
    if given[argument.name] is None and argument.is_tensor and not (argument.is_list or argument.optional):
        return _undefined(schema, position, argument)
    value = _as_cast(argument, given[argument.name])
    try:
        converted = converter(argument, number_ok)(value)
    except TypeError:  # an element of a list of tensors is none
        converted = REJECTED
    if converted is REJECTED or (argument.type == "Scalar" and hasattr(value, "_keys")):
        raise RuntimeError(
            f"{schema.name}() Expected a value of type '{type_text(argument)}' for argument '{argument.name}' "
            f"but instead found type '{type(value).__name__}'.\nPosition: {position}\nValue: {value!r}\n"
            f"Declaration: {schema}\nCast error details: Unable to cast {value!r} to {type_text(argument)}"
        )
    return list(converted) if argument.is_list and converted is not None else converted


def _undefined(schema: FunctionSchema, position: int, argument: Argument) -> None:
    """None for a tensor: kernels of libraries are handed it, built-in operators refuse it with RuntimeError.

    The arguments fit the overload (`fits`): no other one is tried.
    """
    if schema.name.startswith("aten::"):
        error = RuntimeError(
            f"Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #{position} "
            f"'{argument.name}'"
        )
        error.fits = True  # type: ignore[attr-defined]
        raise error


def _as_cast(argument: Argument, value: Any) -> Any:
    """The value as ``torch.ops`` casts it, which takes more than functions do: bools for int, numbers for bool."""
    if argument.is_list:
        is_sequence = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
        return [_cast(argument.type, item) for item in value] if is_sequence else value
    return value if value is None and argument.optional else _cast(argument.type, value)


def _cast(kind: str, value: Any) -> Any:
    if isinstance(value, Tensor):  # the array is asked: a subclass is not told of it
        count = value._array.size
        if is_symbolic(count) or count != 1:
            return value
    if kind == "int" and isinstance(value, (bool, np.bool_)):
        return int(value)
    if kind == "float" and isinstance(value, Tensor) and not value._dtype.is_complex:
        return float(value)
    if kind == "bool" and (value is None or hasattr(type(value), "__bool__")):
        return bool(value)
    return value
