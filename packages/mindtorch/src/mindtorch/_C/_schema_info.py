"""``torch._C._SchemaInfo``: what calls of an operator write to, and what shares memory in them."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from mt_core.block import block_of
from mt_core.tensor import Tensor
from mt_library.function_schema import FunctionSchema

__all__ = ["_SchemaArgType", "_SchemaArgument", "_SchemaInfo"]

#: Arguments that are written to while a network is trained, though schemas do not say so -> the argument that tells.
_STATISTICS = ("running_mean", "running_var")
_TRAINING = ("training", "use_input_stats", "train")


class _SchemaArgType(enum.IntEnum):
    """Which list of a schema an argument is in."""

    input = 0
    output = 1


class _SchemaArgument:
    """An argument or a result of a schema, by its position."""

    def __init__(self, type: _SchemaArgType, index: int) -> None:
        self.type, self.index = _SchemaArgType(type), index


class _Place(NamedTuple):
    """What a schema says of one argument or result."""

    alias: str | None
    writes: bool
    is_list: bool


class _SchemaInfo:
    """What may be written to, and what may share memory, in calls of an operator.

    Values of arguments that are told (`add_argument_value`) count: tensors on one memory are aliases of each other, of
    what one of them is an alias of, and are written to together.
    """

    def __init__(self, schema: FunctionSchema) -> None:
        if not isinstance(schema, FunctionSchema):
            raise TypeError(f"_SchemaInfo(): argument 'schema' must be FunctionSchema, not {type(schema).__name__}")
        self._name = schema.name
        self._names = [argument.name for argument in schema.arguments]
        parsed = schema.parsed
        self._inputs = [_Place(a.alias, a.writes, a.is_list) for a in parsed.arguments]
        self._outputs = [_Place(r.alias, r.writes, r.is_list) for r in parsed.returns]
        self._values: dict[int, Any] = {}

    def has_argument(self, name: str) -> bool:
        """Whether the schema has an argument of a name."""
        return name in self._names

    def add_argument_value(self, name: str, value: Any) -> None:
        """Tell the value of an argument. Raises RuntimeError for a name that the schema lacks."""
        self._values[self._index_of(name)] = value

    def add_argument_values(self, values: Mapping[str, Any]) -> None:
        """Tell the values of several arguments."""
        for name, value in values.items():
            self.add_argument_value(name, value)

    def is_mutable(self, argument: _SchemaArgument | str | None = None) -> bool:
        """Whether an argument, or any of them, may be written to.

        Raises
        ------
        RuntimeError
            For an argument that the schema lacks.
        """
        if argument is None:
            return any(self._is_written(i) for i in range(len(self._inputs)))
        if isinstance(argument, str):
            return self._is_written(self._index_of(argument))
        if not isinstance(argument, _SchemaArgument):
            raise TypeError(f"is_mutable(): argument must be _SchemaArgument or str, not {type(argument).__name__}")
        if argument.type is _SchemaArgType.input:
            self._place(argument)
            return self._is_written(argument.index)
        return self._place(argument).writes or any(map(self._is_written, self._inputs_of(argument)))

    def may_alias(self, one: _SchemaArgument, other: _SchemaArgument) -> bool:
        """Whether two arguments or results may be on the same memory, both being tensors and no lists."""
        first, second = self._place(one), self._place(other)
        if first.is_list or second.is_list:
            return False
        return self._declared_together(first, second) or self._told_together(one, other)

    def may_contain_alias(self, one: _SchemaArgument, other: _SchemaArgument) -> bool:
        """Whether two arguments or results, or tensors in them, may be on the same memory."""
        if self._declared_together(self._place(one), self._place(other)) or self._told_together(one, other):
            return True
        return one.type is other.type is _SchemaArgType.input and self._share(one.index, other.index)

    def _index_of(self, name: str) -> int:
        if name not in self._names:
            raise RuntimeError(f"Schema has no argument named {name}")
        return self._names.index(name)

    def _place(self, argument: _SchemaArgument) -> _Place:
        places = self._inputs if argument.type is _SchemaArgType.input else self._outputs
        if not 0 <= argument.index < len(places):
            raise RuntimeError("Invalid index for schema.")
        return places[argument.index]

    def _is_written(self, index: int) -> bool:
        if self._inputs[index].writes or self._names[index] in _STATISTICS and self._may_train():
            return True
        if self._inputs[index].is_list:
            return False
        return any(place.writes and not place.is_list and self._share(index, i) for i, place in enumerate(self._inputs))

    def _may_train(self) -> bool:
        found = next((self._names.index(name) for name in _TRAINING if name in self._names), None)
        return found is not None and bool(self._values.get(found, True))

    @staticmethod
    def _declared_together(one: _Place, other: _Place) -> bool:
        return one.alias is not None and one.alias == other.alias

    def _told_together(self, one: _SchemaArgument, other: _SchemaArgument) -> bool:
        firsts, seconds = list(self._inputs_of(one)), list(self._inputs_of(other))
        lists = {i for i in (*firsts, *seconds) if self._inputs[i].is_list}
        return any(i == j or self._share(i, j) for i in firsts for j in seconds if not lists & {i, j})

    def _inputs_of(self, argument: _SchemaArgument) -> Iterator[int]:
        """The arguments that something is, or is an alias of by the schema."""
        if argument.type is _SchemaArgType.input:
            yield argument.index
            return
        of = self._place(argument)
        if not of.is_list:
            for i, place in enumerate(self._inputs):
                if self._declared_together(place, of):
                    yield i

    def _share(self, one: int, other: int) -> bool:
        """Whether values that were told of two arguments are on the same memory."""
        if one == other or one not in self._values or other not in self._values:
            return False
        blocks = {id(block_of(tensor)) for tensor in _tensors(self._values[one])}
        return any(id(block_of(tensor)) in blocks for tensor in _tensors(self._values[other]))


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    return [item for item in value if isinstance(item, Tensor)] if isinstance(value, (list, tuple)) else []
