"""Operators on tensors: which overload a call means, and how its arguments become the schema's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mt_core.api.arguments import REJECTED, converter
from mt_core.dispatch import taken_apart
from mt_core.schema import MISSING, Argument
from mt_library import OpOverload, OpOverloadPacket, ops
from mt_library.function_schema import default_value

from .formats import as_dtype, as_layout, as_memory_format
from .types import (
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    INT,
    NONE,
    NUMBER,
    STR,
    TENSOR,
    UNKNOWN,
    Type,
    list_of,
    type_of,
)  # fmt: skip

__all__ = ["OLDER", "Choice", "chosen", "find_packet", "is_known", "result_type", "run_by_values"]

#: What touches files or is no operator on values.
_BLOCKED = frozenset(["from_file", "save", "_print"])
_NUMBERS = (INT, FLOAT, BOOL, COMPLEX, NUMBER)
_OF_NUMBERS = {"ScalarType": as_dtype, "Layout": as_layout, "MemoryFormat": as_memory_format}
_NO, _MAYBE, _YES = range(3)


@functools.cache
def find_packet(namespace: str, name: str) -> OpOverloadPacket | None:
    """The overloads of an operator of the table; None where there is none."""
    if name in _BLOCKED or name.startswith("__") and name.endswith("__") or not name.isidentifier():
        return None
    if not namespace.isidentifier() or namespace.startswith("_") or namespace == "prim":
        return None
    found = getattr(getattr(ops, namespace), name, None)
    return found if isinstance(found, OpOverloadPacket) else None


def is_known(name: str) -> bool:
    """Whether PyTorch has an operator of that name, which may be missing here."""
    return name not in _BLOCKED and any(taken_apart.is_known(n) for n in (name, f"{name}.Tensor", f"{name}.default"))


@dataclass(frozen=True)
class Choice:
    """An overload, and where each argument of its schema comes from.

    Attributes
    ----------
    sources
        Of each argument the place among the positional arguments, the name among the others, or None: the default.
    converters
        What makes an argument of a given value; None where it is one.
    """

    operator: OpOverload
    sources: tuple[int | str | None, ...]
    converters: tuple[Callable[[Any], Any] | None, ...]
    defaults: tuple[Any, ...]

    def run(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Call the overload."""
        bound = [
            default if source is None else _converted(args[source] if isinstance(source, int) else kwargs[source], fit)
            for source, fit, default in zip(self.sources, self.converters, self.defaults, strict=True)
        ]
        return self.operator._call(bound)


def _converted(value: Any, convert: Callable[[Any], Any] | None) -> Any:
    return value if convert is None else convert(value)


def chosen(packet: OpOverloadPacket, types: list[Type], named: dict[str, Type], certain: bool) -> Choice | None:
    """The first overload that arguments of these types fit.

    Parameters
    ----------
    certain
        Whether to give None where it depends on values.
    """
    for operator in packet.op_overloads():
        fit = _fit(operator, types, named)
        if fit == _NO:
            continue
        if fit == _MAYBE and certain:
            return None
        return _choice(operator, types, named)
    return None


def _fit(operator: OpOverload, types: list[Type], named: dict[str, Type]) -> int:
    arguments = operator._schema.parsed.arguments
    positional = sum(not a.kwarg_only for a in arguments)
    if len(types) > positional or len(types) + len(named) > len(arguments):
        return _NO
    fit, used = _YES, 0
    for place, argument in enumerate(arguments):
        if place < len(types):
            if argument.name in named:
                return _NO
            fit = min(fit, _fits(argument, types[place], argument.name in operator._numbers))
        elif argument.name in named:
            used += 1
            fit = min(fit, _fits(argument, named[argument.name], argument.name in operator._numbers))
        elif argument.default is MISSING:
            return _NO
        if fit == _NO:
            return _NO
    return fit if used == len(named) else _NO


def _fits(argument: Argument, t: Type, number_ok: bool) -> int:
    if t is UNKNOWN or t.name in ("Any", "Union", "uninitialized"):
        return _MAYBE
    if t == NONE:
        nothing = argument.optional or argument.is_list and argument.default in ([], ()) or argument.default is None
        return _YES if nothing else _NO
    if t.name == "Optional":
        inner = _fits(argument, t.parts[0], number_ok)
        return inner if argument.optional else min(inner, _MAYBE)
    if not argument.is_list:
        return _fits_one(argument.type, t, number_ok)
    if t.name in ("List", "Tuple"):
        return min((_fits_item(argument, item) for item in t.parts), default=_YES)
    return _fits_one(argument.type, t, False) if argument.size is not None else _NO


def _fits_item(argument: Argument, item: Type) -> int:
    if item is UNKNOWN:
        return _MAYBE
    if argument.optional_items and (item == NONE or item.name == "Optional"):
        return _YES if item == NONE else _fits_one(argument.type, item.parts[0], False)
    return _fits_one(argument.type, item, False)


def _fits_one(kind: str, t: Type, number_ok: bool) -> int:
    if t is UNKNOWN:
        return _MAYBE
    if kind == "Tensor":
        return _YES if t == TENSOR or number_ok and t in _NUMBERS else _NO
    if kind in ("int", "SymInt", "float"):
        exact = t == INT or kind == "float" and t == FLOAT
        return _YES if exact else _MAYBE if t == NUMBER else _NO
    if kind in _OF_NUMBERS:
        return _YES if t == INT else _NO
    takes = {
        "Scalar": _NUMBERS, "bool": (BOOL,), "str": (STR,), "Device": (DEVICE, STR), "Generator": (Type("Generator"),),
        "Storage": (Type("Storage"),),
    }.get(kind, ())  # fmt: skip
    return _YES if t in takes else _MAYBE if kind == "Generator" and t is UNKNOWN else _NO


def _choice(operator: OpOverload, types: list[Type], named: dict[str, Type]) -> Choice:
    arguments = operator._schema.parsed.arguments
    sources: list[int | str | None] = []
    converters: list[Callable[[Any], Any] | None] = []
    for place, argument in enumerate(arguments):
        source = place if place < len(types) else argument.name if argument.name in named else None
        given = None if source is None else types[place] if isinstance(source, int) else named[argument.name]
        sources.append(source)
        converters.append(None if given is None else _converter(operator, argument, given))
    defaults = tuple(None if (d := default_value(a)) is MISSING else d for a in arguments)
    return Choice(operator, tuple(sources), tuple(converters), defaults)


_EXACT = {"Tensor": TENSOR, "int": INT, "float": FLOAT, "bool": BOOL, "str": STR}


def _converter(operator: OpOverload, argument: Argument, t: Type) -> Callable[[Any], Any] | None:
    if argument.is_list:
        if argument.size is None and t.name == "List" and t.parts[0] == _EXACT.get(argument.type):
            return None
    elif t == _EXACT.get(argument.type) or t == NONE:
        return None
    number_ok = argument.name in operator._numbers
    return _checking(operator.name(), argument, converter(argument, number_ok), _OF_NUMBERS.get(argument.type))


def _checking(name: str, argument: Argument, convert: Any, first: Any) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        if first is not None:
            value = first(value)
        elif value is None and (argument.optional or argument.default is None):
            return None
        converted = convert(value)
        if converted is REJECTED:
            raise RuntimeError(
                f"{name}() Expected a value of type '{argument.type_text}' for argument '{argument.name}' but instead "
                f"found type '{type(value).__name__}'."
            )
        return list(converted) if argument.is_list and converted is not None else converted

    return run


def run_by_values(packet: OpOverloadPacket) -> Callable[..., Any]:
    """What calls the overload that the values of a call fit; the choice is kept for their types."""
    kept: dict[Any, Choice] = {}

    def run(*args: Any, **kwargs: Any) -> Any:
        types = [type_of(a) for a in args]
        named = {name: type_of(value) for name, value in kwargs.items()}
        key = (*types, *named.items())
        choice = kept.get(key)
        if choice is None:
            choice = chosen(packet, types, named, certain=False)
            if choice is None:
                raise _no_overload(packet, types, named)
            kept[key] = choice
        return choice.run(args, kwargs)

    return run


def _no_overload(packet: OpOverloadPacket, types: list[Type], named: dict[str, Type]) -> RuntimeError:
    given = ", ".join([*map(str, types), *(f"{name}={t}" for name, t in named.items())])
    schemas = "\n".join(f"  {operator._schema}" for operator in packet.op_overloads())
    return RuntimeError(
        f"Arguments for call are not valid: ({given}).\nThe following variants are available:\n{schemas}"
    )


def result_type(operator: OpOverload) -> Type:
    """The type of what an overload gives."""
    returns = operator._schema.parsed.returns
    found = []
    for result in returns:
        one = {**_EXACT, "Scalar": NUMBER, "Device": DEVICE, "ScalarType": INT}.get(result.type, UNKNOWN)
        found.append(list_of(one) if result.is_list else one)
    if not found:
        return NONE
    return found[0] if len(found) == 1 else Type("Tuple", tuple(found))


# What operators meant in the first versions of the format


def _div(function: Callable[..., Any]) -> Callable[..., Any]:
    """Division rounded towards zero where no operand is a floating-point number."""

    def divide(x: Any, y: Any, **options: Any) -> Any:
        floating = any(_is_floating(value) for value in (x, y))
        return function(x, y, **options) if floating or options else function(x, y, rounding_mode="trunc")

    return divide


def _is_floating(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return isinstance(value, (float, complex))
    return bool(dtype.is_floating_point or dtype.is_complex)


def _full(size: list[int], value: Any, **options: Any) -> Any:
    """A tensor of the default dtype, whatever the value is."""
    return run_by_values(_packet("full"))(size, value if options.get("dtype") is not None else float(value), **options)


def _packet(name: str) -> OpOverloadPacket:
    found = find_packet("aten", name)
    assert found is not None
    return found


def _of_packet(name: str) -> Callable[..., Any]:
    return lambda *args, **options: run_by_values(_packet(name))(*args, **options)


#: Operator -> the version with which it came to mean what it means, and what it meant before.
OLDER: dict[str, tuple[int, Callable[..., Any]]] = {
    "div": (4, _div(_of_packet("div"))), "div_": (4, _div(_of_packet("div_"))), "full": (5, _full),
}  # fmt: skip
