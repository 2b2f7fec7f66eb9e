"""Operator schemas: what they say of arguments and results, and PyTorch's grammar of them, read by recursive descent.

``schema = name ["::" name] ["." overload] "(" [argument {"," argument}] ")" "->" results``. Spaces, comments and,
inside of parentheses, line ends may stand between any two tokens. Types that no operator has here (tuples,
dictionaries, lists of lists, type variables, variable numbers of arguments) are refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from .devices import device

__all__ = ["MISSING", "Argument", "Return", "Schema", "SchemaError", "Type", "parse_schema"]


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


#: Stands for "no default" and "not given"; None is a legal default.
MISSING: Any = _Missing()


class SchemaError(ValueError):
    """A text is no operator schema, or one with a type that operators here cannot have."""


class _NamedNumber(int):
    """A default that schemas write as a name; Python's functions have another, `in_python`."""

    in_python: int

    def __new__(cls, value: int, in_python: int) -> _NamedNumber:
        number = super().__new__(cls, value)
        number.in_python = in_python
        return number


#: The default reduction of losses. In Python it is none: PyTorch's parser of arguments does not know the name.
MEAN = _NamedNumber(1, 0)


class Type(NamedTuple):
    """What a schema says of an argument or a result; the attributes are those of `Argument`."""

    type: str
    is_list: bool = False
    size: int | None = None
    optional: bool = False
    optional_items: bool = False
    alias: str | None = None
    writes: bool = False


class Argument:
    """One argument of a schema.

    `type` is the base type (``Tensor``, ``int``, ``Scalar``, ``ScalarType`` ...); `is_list` and `size` describe
    ``int[2]``; `optional` the ``?`` after all, `optional_items` a ``?`` before the brackets; `alias` the letter of
    ``(a!)`` and `writes` its exclamation mark.
    """

    __slots__ = (
        "name",
        "type",
        "is_list",
        "size",
        "optional",
        "optional_items",
        "alias",
        "writes",
        "default",
        "kwarg_only",
    )

    def __init__(self, name: str, described: Type, default: Any, kwarg_only: bool) -> None:
        self.name = name
        self.default = default
        self.kwarg_only = kwarg_only
        self.type, self.is_list, self.size, self.optional, self.optional_items, self.alias, self.writes = described

    @property
    def is_tensor(self) -> bool:
        return self.type == "Tensor"

    @property
    def type_text(self) -> str:
        """The type as the schema spells it, without alias annotation."""
        brackets = f"[{self.size or ''}]" if self.is_list else ""
        return f"{self.type}{'?' if self.optional_items else ''}{brackets}{'?' if self.optional else ''}"

    def __repr__(self) -> str:
        return f"{self.type_text} {self.name}"


class Return:
    """One result of a schema."""

    __slots__ = ("name", "type", "is_list", "optional", "alias", "writes")

    def __init__(self, described: Type, name: str | None) -> None:
        self.name = name
        self.type, self.is_list, _, self.optional, _, self.alias, self.writes = described


class Schema:
    """A parsed schema: `name` (packet), `overload` (``""`` for default), `arguments`, `returns`."""

    __slots__ = ("name", "overload", "arguments", "returns", "text")

    def __init__(self, name: str, overload: str, arguments: list[Argument], returns: list[Return], text: str) -> None:
        self.name = name
        self.overload = overload
        self.arguments = arguments
        self.returns = returns
        self.text = text

    @property
    def full_name(self) -> str:
        return f"{self.name}.{self.overload}" if self.overload else self.name

    @property
    def is_mutable(self) -> bool:
        return any(a.writes for a in self.arguments)

    def __str__(self) -> str:
        return self.text


def parse_schema(text: str) -> Schema:
    """Read a schema.

    Raises
    ------
    SchemaError
        Where the text does not follow the grammar, which is PyTorch's; the message says where.
    """
    return Parser(text).schema()


#: Type in a schema -> the kind of its defaults: what `Parser.constant` may give for it.
TYPES = {
    "Tensor": "none", "Generator": "none", "Device": "device", "Stream": "", "Storage": "", "QScheme": "", "Any": "",
    "SymBool": "",
    **dict.fromkeys("int SymInt float bool str Scalar complex ScalarType Layout MemoryFormat".split(), "constant"),
}  # fmt: skip
#: C++ types -> which word to write.
_MEANT = {
    "int64_t": "Use `SymInt` or `int` instead of `int64_t` in an operator's schema string. `SymInt` corresponds to "
    "c10::SymInt in C++ while `int` in schema corresponds to the int64_t type in C++.",
    "double": "Use `float` instead of `double` in an operator's schema string. `float` in schema corresponds to the "
    "double type in C++",
}
_OTHER_TYPES = frozenset(("Await", "Dict", "Future", "None", "RRef"))
_KEYWORDS = frozenset(
    """
    False None True and as assert break class continue def del elif else for global if import in is not or pass raise
    return while with
    """.split()
)
#: Words that stand for numbers: reductions, layouts, memory formats, and dtypes that share a name with a Python type.
_SYMBOLS = {
    "Mean": MEAN,
    "long": "long",
    "float": "float",
    "strided": "strided",
    "contiguous_format": "contiguous_format",
}
_DTYPES = frozenset(
    """
    bfloat16 bits16 bits1x8 bits2x4 bits4x2 bits8 bool cdouble cfloat chalf complex128 complex32 complex64 double float
    float16 float32 float4_e2m1fn_x2 float64 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu
    half int int1 int16 int2 int3 int32 int4 int5 int6 int64 int7 int8 long qint32 qint8 quint2x4 quint4x2 quint8 short
    uint1 uint16 uint2 uint3 uint32 uint4 uint5 uint6 uint64 uint7 uint8
    """.split()
)
#: Type -> the Python types of a list default's items.
_ITEMS: dict[str, tuple[type, ...]] = {
    "int": (int,), "SymInt": (int,), "ScalarType": (int,), "float": (int, float), "bool": (bool,)
}  # fmt: skip

_SPACE = r"(?:\s|#[^\n]*|\\\n)*"
_WORD = r"[A-Za-z_][A-Za-z0-9_]*"
_NUMBER = r"(?:0[xX][0-9a-fA-F]+(?:[pP][+-]?\d+)?|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)j?"
_STRING = "|".join((r"'''(?:[^\\]|\\.)*?'''", r'"""(?:[^\\]|\\.)*?"""', r"'(?:[^'\\\n]|\\.)*'", r'"(?:[^"\\\n]|\\.)*"'))
_SYMBOL = r"->|\.\.\.|[][(),:.?!*=|-]"
_TOKEN = re.compile(
    f"(?P<space>{_SPACE})(?:(?P<word>{_WORD})|(?P<number>{_NUMBER})|(?P<string>{_STRING})|(?P<symbol>{_SYMBOL})|(?P<end>\\Z))",
    re.DOTALL | re.ASCII,
)
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "r": "\r", "f": "\f", "v": "\v", "a": "\a", "\\": "\\", "'": "'", '"': '"'}
_ESCAPE = re.compile(r"\\([0-3][0-7][0-7]|.)", re.DOTALL)


class Parser:
    """Reads one text; `at` is the token it stands before."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = self._tokens()
        self.at = 0

    def _tokens(self) -> list[tuple[str, str]]:
        """(kind, text) of each token, the end included."""
        found: list[tuple[str, str]] = []
        position = depth = 0
        while not found or found[-1][0] != "end":
            match = _TOKEN.match(self.text, position)
            if match is None:
                raise SchemaError(f"not an operator schema: '{self.text}', from '{self.text[position:]}' on")
            kind = match.lastgroup or ""
            if match["space"] and not depth and found and kind != "end" and "\n" in match["space"].replace("\\\n", ""):
                raise SchemaError(f"not an operator schema: '{self.text}' has a line end outside of parentheses")
            token = match[kind]
            depth += (token in ("(", "[")) - (token in (")", "]"))
            found.append((kind, token))
            position = match.end()
        return found

    # Tokens

    def follows(self, symbol: str) -> bool:
        """Take a symbol if it comes next; whether it did."""
        found = self.tokens[self.at] == ("symbol", symbol)
        self.at += found
        return found

    def expect(self, symbol: str) -> None:
        """Take a symbol, which must come next."""
        if not self.follows(symbol):
            raise self.error(f"'{symbol}'")

    def word(self, what: str = "a name") -> str:
        """Take a word that is no keyword."""
        kind, text = self.tokens[self.at]
        if kind != "word" or text in _KEYWORDS:
            raise self.error(what)
        self.at += 1
        return text

    def error(self, wanted: str) -> SchemaError:
        """The error for a text that goes on with something else."""
        found = self.tokens[self.at][1] or "its end"
        return SchemaError(f"not an operator schema: '{self.text.strip()}' has {found} in the place of {wanted}")

    def unsupported(self, what: str) -> SchemaError:
        """The error for what PyTorch's grammar has and operators here have not."""
        return SchemaError(f"operators with {what} are not supported: '{self.text.strip()}'")

    def separated(self, item: Callable[[], None], end: str) -> None:
        """Items with commas between them, up to and with the closing symbol."""
        if self.follows(end):
            return
        item()
        while self.follows(","):
            item()
        self.expect(end)

    # Schemas

    def schema(self) -> Schema:
        """The whole text."""
        name, overload = self._name()
        arguments = self._arguments()
        self.expect("->")
        returns = self._returns()
        if self.tokens[self.at][0] != "end":
            raise self.error("its end")
        return Schema(name, overload, arguments, returns, self.text.strip())

    def _name(self) -> tuple[str, str]:
        name = self.word()
        if self.follows(":"):
            self.expect(":")
            name = f"{name}::{self.word()}"
        overload = self.word() if self.follows(".") else ""
        if overload == "default" or overload.startswith("__"):
            raise SchemaError(f"{overload} is not a legal overload name for aten operators")
        return name, overload

    def _arguments(self) -> list[Argument]:
        arguments: list[Argument] = []
        kwarg_only = False

        def item() -> None:
            nonlocal kwarg_only
            if self.follows("*"):
                kwarg_only = True
            elif self.follows("..."):
                raise self.unsupported("a variable number of arguments")
            else:
                arguments.append(self._argument(kwarg_only))

        self.expect("(")
        self.separated(item, ")")
        self._check_order([argument for argument in arguments if not argument.kwarg_only])
        return arguments

    def _check_order(self, positional: list[Argument]) -> None:
        seen_default = False
        for argument in positional:
            seen_default |= argument.default is not MISSING
            # Lists may lack a default after arguments that have one.
            if seen_default and argument.default is MISSING and not (argument.is_list and not argument.optional):
                raise SchemaError(
                    f"Non-default positional argument follows default argument. Parameter {argument.name} in "
                    f"{self.text.strip()}"
                )

    def _argument(self, kwarg_only: bool) -> Argument:
        described = self.type()
        name = self.word()
        default = self.default(described) if self.follows("=") else MISSING
        return Argument(name, described, default, kwarg_only)

    def _returns(self) -> list[Return]:
        returns: list[Return] = []

        def item() -> None:
            if self.follows("..."):
                raise self.unsupported("a variable number of results")
            described = self.type()
            kind, text = self.tokens[self.at]
            returns.append(Return(described, self.word() if kind == "word" and text not in _KEYWORDS else None))

        if self.follows("("):
            self.separated(item, ")")
        else:
            item()
        return returns

    # Types

    def type(self) -> Type:
        """``base (alias)? [size] (alias)?``, of which only the base must be there."""
        base = self._base()
        alias, writes = self._alias()
        item_optional = self._optional()
        is_list, size = False, None
        if self.follows("["):
            is_list, size = True, self._size()
            list_alias, list_writes = self._alias()
            alias, writes = list_alias or alias, list_writes or writes
        optional = self._optional(at_most=1 if size is not None else None) if is_list else item_optional
        if self.tokens[self.at] == ("symbol", "["):
            raise self.unsupported("lists of lists")
        return Type(base, is_list, size, optional, item_optional and is_list, alias, writes)

    def _base(self) -> str:
        if self.tokens[self.at] == ("symbol", "("):
            raise self.unsupported("tuples")
        kind, name = self.tokens[self.at]
        if kind != "word" or name in _KEYWORDS - {"None"}:
            raise self.error("a type")
        if name in _OTHER_TYPES:
            raise self.unsupported(f"arguments or results of the type {name}")
        if name in _MEANT:
            raise SchemaError(
                f"\n{_MEANT[name]}:\n{self.text}\n{' ' * self.text.find(name)}{'~' * len(name)} <--- HERE\n"
            )
        if name not in TYPES:
            raise SchemaError(
                "\nunknown type specifier. Common valid schema types include Tensor, SymInt, int, float, bool, Scalar; "
                "for a full list, please see "
                "https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/README.md#func :\n"
                f"{self.text}\n{' ' * self.text.find(name)}{'~' * len(name)} <--- HERE\n"
            )
        self.at += 1
        return "int" if name == "SymInt" else name

    def _optional(self, at_most: int | None = None) -> bool:
        count = 0
        while (at_most is None or count < at_most) and self.follows("?"):
            count += 1
        return count > 0

    def _size(self) -> int | None:
        """The number between brackets, of which the first is taken."""
        if self.follows("]"):
            return None
        kind, text = self.tokens[self.at]
        if kind != "number" or not text[0].isdigit():
            raise self.error("a size")
        self.at += 1
        self.expect("]")
        return int(re.match(r"\d+", text)[0])  # type: ignore[index]

    def _alias(self) -> tuple[str | None, bool]:
        """``(a)``, ``(a!)``, ``(a -> *)``, ``(a|b)``: the first name, and whether it is written."""
        if not self.follows("("):
            return None, False
        name = self._alias_set()
        writes = self.follows("!")
        if self.follows("->"):
            self._alias_set()
        self.expect(")")
        return name, writes

    def _alias_set(self) -> str:
        names = ["*" if self.follows("*") else self.word()]
        while names[-1] != "*" and self.follows("|"):
            names.append("*" if self.follows("*") else self.word())
        return names[0]

    # Defaults

    def default(self, described: Type) -> Any:
        """The default of an argument of that type; lists as tuples, words as they are."""
        if described.optional:
            return self.constant(described.type)
        if described.is_list:
            return self._list_default(described)
        kind = TYPES[described.type]
        if kind == "constant":
            return self._complex() if described.type == "complex" else self.constant(described.type)
        if kind == "none" and self.tokens[self.at] == ("word", "None"):
            self.at += 1
            return None
        if kind == "device" and self.tokens[self.at][0] == "string":
            return self._device()
        raise self.error(f"a default of the type {described.type}")

    def _device(self) -> str:
        text = self.constant("Device")
        try:
            device(text)
        except RuntimeError as error:
            raise SchemaError(str(error)) from None
        return text

    def _list_default(self, described: Type) -> Any:
        items: list[Any] = []
        allowed = _ITEMS.get(described.type, ())

        def item() -> None:
            value = self.constant(described.type)
            if type(value) not in allowed:
                raise SchemaError(f"{value!r} is no item of a list of {described.type}: '{self.text.strip()}'")
            items.append(value)

        if self.follows("["):
            if not allowed:
                raise self.error(f"no default, as lists of {described.type} have none")
            self.separated(item, "]")
            return tuple(items)
        if described.size is None:
            raise self.error("a list")
        item()
        return items[0]

    def constant(self, type_name: str) -> Any:
        """A single constant: a word, a string, or a number with an optional minus sign."""
        kind, text = self.tokens[self.at]
        if kind == "word":
            self.at += 1
            return self._word_constant(text, type_name)
        if kind == "string":
            self.at += 1
            return _unquoted(text)
        return self._number(type_name)

    def _word_constant(self, text: str, type_name: str) -> Any:
        words = {"None": None, "True": True, "False": False, **_SYMBOLS}
        if text in words:
            return words[text]
        if type_name == "ScalarType" and text in _DTYPES:
            return text
        self.at -= 1
        raise self.error("a default")

    def _number(self, type_name: str) -> int | float | complex:
        sign, text = self._number_text()
        if text.endswith("j"):
            return complex(0, sign * _float(text[:-1]))
        if type_name == "float" or "." in text or "e" in text:
            return sign * self._finite(text)
        value = sign * int(re.match(r"\d+", text)[0])  # type: ignore[index]
        if not -(2**63) <= value < 2**63:
            raise SchemaError(f"the number {value} takes more than 64 bits: '{self.text.strip()}'")
        return value

    def _number_text(self) -> tuple[int, str]:
        sign = -1 if self.follows("-") else 1
        kind, text = self.tokens[self.at]
        if kind != "number":
            raise self.error("a default")
        self.at += 1
        return sign, text

    def _finite(self, text: str) -> float:
        value = _float(text)
        if value == float("inf"):
            raise SchemaError(f"the number {text} is too large: '{self.text.strip()}'")
        return value

    def _complex(self) -> Any:
        """A default of the type complex: PyTorch takes a number for imaginary, without asking whether it ends in j."""
        if self.tokens[self.at][0] in ("word", "string"):
            return self.constant("complex")
        sign, text = self._number_text()
        try:
            return complex(0, sign * _float(text[:-1]))
        except ValueError:
            raise self.error("an imaginary number") from None


def _float(text: str) -> float:
    return float.fromhex(text) if text[:2] in ("0x", "0X") else float(text)


def _unquoted(text: str) -> str:
    """The text of a string literal.

    Raises
    ------
    SchemaError
        For an escape that PyTorch does not know.
    """
    marks = 3 if text[:3] in ("'''", '"""') and len(text) >= 6 else 1

    def character(match: re.Match[str]) -> str:
        escape = match[1]
        if len(escape) == 3:
            return chr(int(escape, 8))
        if escape not in _ESCAPES:
            raise SchemaError(f"the string {text} has an escape \\{escape}, which schemas do not know")
        return _ESCAPES[escape]

    return _ESCAPE.sub(character, text[marks:-marks])
