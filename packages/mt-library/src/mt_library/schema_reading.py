"""Schemas read in full: ``torch._C.parse_schema``, which takes more types than operators here can have."""

from __future__ import annotations

from typing import Any

from mt_core.schema import MISSING, TYPES, Parser, SchemaError
from mt_core.schema import Type as CoreType

from .schema_types import (
    AwaitType,
    DictType,
    FloatType,
    FutureType,
    IntType,
    ListType,
    NoneType,
    NumberType,
    OptionalType,
    RRefType,
    TupleType,
    Type,
    type_of_word,
)

__all__ = ["Described", "ReadSchema", "default_text", "read"]

_OF_ONE = {"Future": FutureType, "RRef": RRefType, "Await": AwaitType}


class Described:
    """What is said of an argument or a result.

    Attributes
    ----------
    aliases
        (names before, names after, whether it is written), innermost first: of a list, those of its elements and then
        its own; None where nothing is said.
    """

    def __init__(self) -> None:
        self.type: Type = NoneType()
        self.size: int | None = None
        self.aliases: list[tuple[list[str], list[str], bool] | None] = []
        self.name: str | None = None
        self.default: Any = MISSING
        self.kwarg_only = False


class ReadSchema:
    """A schema as it was read."""

    def __init__(self, name: str, overload: str) -> None:
        self.name = name
        self.overload = overload
        self.arguments: list[Described] = []
        self.returns: list[Described] = []
        self.is_vararg = self.is_varret = False


def read(text: str) -> ReadSchema:
    """Read a schema.

    Raises
    ------
    RuntimeError
        Where the text is none.
    """
    try:
        return _FullParser(text).read()
    except SchemaError as error:
        raise RuntimeError(str(error)) from None


class _FullParser(Parser):
    def read(self) -> ReadSchema:
        """The whole text."""
        schema = ReadSchema(*self._name())
        self._read_arguments(schema)
        self.expect("->")
        self._read_returns(schema)
        if self.tokens[self.at][0] != "end":
            raise self.error("its end")
        return schema

    def _read_arguments(self, schema: ReadSchema) -> None:
        kwarg_only = False

        def item() -> None:
            nonlocal kwarg_only
            if schema.is_vararg:
                raise self.error("')', as nothing stands behind '...'")
            if self.follows("*"):
                kwarg_only = True
            elif self.follows("..."):
                schema.is_vararg = True
            else:
                schema.arguments.append(self._described(kwarg_only))

        self.expect("(")
        self.separated(item, ")")
        if schema.is_vararg and any(argument.default is not MISSING for argument in schema.arguments):
            raise SchemaError(f"schemas with vararg (...) can't have default value args: '{self.text.strip()}'")
        self._refuse_order(schema)

    def _refuse_order(self, schema: ReadSchema) -> None:
        seen_default = False
        for argument in schema.arguments:
            if argument.kwarg_only:
                continue
            seen_default |= argument.default is not MISSING
            if seen_default and argument.default is MISSING and not isinstance(argument.type, ListType):
                raise SchemaError(
                    f"Non-default positional argument follows default argument. Parameter {argument.name} in "
                    f"{self.text.strip()}"
                )

    def _described(self, kwarg_only: bool) -> Described:
        found = self._full_type()
        found.kwarg_only = kwarg_only
        found.name = self.word()
        if self.follows("="):
            found.default = self._default_of(found)
        return found

    def _read_returns(self, schema: ReadSchema) -> None:
        def item() -> None:
            if self.follows("..."):
                schema.is_varret = True
                return
            found = self._full_type()
            kind, _ = self.tokens[self.at]
            found.name = self.word() if kind == "word" else None
            schema.returns.append(found)

        if self.follows("..."):
            schema.is_varret = True
        elif self.follows("("):
            self.separated(item, ")")
        else:
            item()

    # Types

    def _full_type(self) -> Described:
        found = Described()
        found.type = self._full_base()
        found.aliases.append(self._full_alias())
        while True:
            if self.follows("["):
                size = self._size()
                found.size = found.size if size is None else size
                found.type = ListType(found.type)
                found.aliases.append(self._full_alias())
            elif self.follows("?"):
                if not isinstance(found.type, OptionalType):
                    found.type = OptionalType(found.type)
            else:
                return found

    def _full_base(self) -> Type:
        if self.follows("("):
            return TupleType(self._types_until(")"))
        if self.tokens[self.at] == ("word", "None"):
            self.at += 1
            return NoneType()
        word = self.word("a type")
        if word in _OF_ONE:
            self.expect("(")
            (inner,) = self._types_until(")")
            return _OF_ONE[word](inner)
        if word == "Dict":
            self.expect("(")
            key, value = self._types_until(")")
            return DictType(key, value)
        found = type_of_word(word)
        if found is None:
            raise self._unknown(word)
        return found

    def _types_until(self, end: str) -> list[Type]:
        inner: list[Type] = []
        self.separated(lambda: inner.append(self._full_type().type), end)
        return inner

    def _unknown(self, word: str) -> SchemaError:
        return SchemaError(
            "\nunknown type specifier. Common valid schema types include Tensor, SymInt, int, float, bool, Scalar; "
            "for a full list, please see "
            "https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/README.md#func :\n"
            f"{self.text}\n{' ' * self.text.find(word)}{'~' * len(word)} <--- HERE\n"
        )

    def _full_alias(self) -> tuple[list[str], list[str], bool] | None:
        if not self.follows("("):
            return None
        before = self._names()
        writes = self.follows("!")
        after = self._names() if self.follows("->") else before
        self.expect(")")
        return before, after, writes

    def _names(self) -> list[str]:
        names = ["*" if self.follows("*") else self.word()]
        while names[-1] != "*" and self.follows("|"):
            names.append(self.word())
        return names

    # Defaults

    def _default_of(self, found: Described) -> Any:
        described = _core_type(found)
        if described.type not in TYPES:
            raise self.error(f"no default, as {described.type} has none")
        value = self.default(described)
        return _as_typed(value, found)


def _core_type(found: Described) -> CoreType:
    """What the core's reader of defaults is to know of a type."""
    described, optional = found.type, False
    if isinstance(described, OptionalType):
        described, optional = described.inner[0], True
    is_list = isinstance(described, ListType)
    if is_list:
        described = described.inner[0]
    return CoreType("Scalar" if isinstance(described, NumberType) else described.str(), is_list, found.size, optional)


def _as_typed(value: Any, found: Described) -> Any:
    """A default as calls get it: lists as lists, one number for a sized list repeated, ints for floats as floats."""
    described: Type = found.type
    if isinstance(value, str) and (number := _number_of(value, described)) is not None:
        return number
    if value is None or isinstance(described, OptionalType):
        return value if not isinstance(value, tuple) else list(value)
    if isinstance(described, ListType):
        items = value if isinstance(value, tuple) else (value,) * (found.size or 1)
        return [float(item) if isinstance(described.inner[0], FloatType) else item for item in items]
    if isinstance(described, FloatType) and value.__class__ is int:
        return float(value)
    return value


#: dtypes in the order of PyTorch's numbers, which schemas have as their defaults.
DTYPES = """
    uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool qint8 quint8 qint32
    bfloat16 quint4x2 quint2x4 bits1x8 bits2x4 bits4x2 bits8 bits16 float8_e5m2 float8_e4m3fn float8_e5m2fnuz
    float8_e4m3fnuz uint16 uint32 uint64 uint1 uint2 uint3 uint4 uint5 uint6 uint7 int1 int2 int3 int4 int5 int6 int7
    float8_e8m0fnu float4_e2m1fn_x2
""".split()
_OTHER_NAMES = {
    "long": "int64", "int": "int32", "short": "int16", "half": "float16", "float": "float32", "double": "float64",
    "chalf": "complex32", "cfloat": "complex64", "cdouble": "complex128",
}  # fmt: skip


def _number_of(word: str, described: Type) -> int | None:
    """The number that a word stands for, of an argument whose values are numbers."""
    named = (described.inner[0] if isinstance(described, OptionalType) else described).str()
    if named in ("Layout", "MemoryFormat"):
        return 0  # strided, contiguous_format: schemas know no other
    return DTYPES.index(_OTHER_NAMES.get(word, word)) if named == "ScalarType" else None


def default_text(value: Any, found: Described) -> str:
    """A default as schemas print it."""
    if isinstance(value, list):
        item = found.type.inner[0]
        if found.size is not None and len(set(value)) == 1 and isinstance(item, IntType) and len(value) == found.size:
            return _plain_text(value[0])
        return f"[{', '.join(_plain_text(each) for each in value)}]"
    return _plain_text(value)


_ESCAPES = {"\\": "\\\\", '"': '\\"', "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\a": "\\a", "\b": "\\b",
            "\f": "\\f", "\v": "\\v"}  # fmt: skip


def _plain_text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, complex):
        sign = "+" if value.imag >= 0 else "-"
        return f"{_float_text(value.real)}{sign}{_float_text(abs(value.imag))}j"
    if isinstance(value, str):
        return '"' + "".join(_ESCAPES.get(letter, letter) for letter in value) + '"'
    return str(value)


def _float_text(value: float) -> str:
    """17 digits, and a point behind whole numbers."""
    text = f"{value + 0.0:.17g}"
    return f"{text}." if text.lstrip("-").isdigit() else text
