"""The types of schemas as objects: ``torch._C.Type`` and the classes below it.

Each has two spellings: that of schemas (``int[]?``, `Type.str`) and that of annotations (``Optional[List[int]]``).
A type that a schema names, but that takes another's values (``ScalarType``, ``Layout``, ``MemoryFormat``, ``SymInt``),
has that other as its `Type.stand_in`.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any, ClassVar

__all__ = [
    "AnyType", "AwaitType", "BoolType", "ComplexType", "DeviceObjType", "DictType", "FloatType", "FutureType",
    "IntType", "ListType", "NamedType", "NoneType", "NumberType", "OptionalType", "RRefType", "StreamObjType",
    "StringType", "SymBoolType", "SymIntType", "TensorType", "TupleType", "Type", "type_of_word",
]  # fmt: skip


class Type:
    """What a schema says of a value.

    Attributes
    ----------
    word
        What schemas call it.
    inner
        The types that it is made of.
    """

    word: ClassVar[builtins.str] = ""
    _annotation: ClassVar[builtins.str] = ""

    def __init__(self) -> None:
        self.inner: tuple[Type, ...] = ()

    @classmethod
    def get(cls) -> Type:
        """The type, of classes that stand for one type alone."""
        return cls()

    def str(self) -> builtins.str:
        """As schemas spell it."""
        return self.word

    @property
    def annotation_str(self) -> builtins.str:
        """As annotations spell it."""
        return self._annotation or self.str()

    def kind(self) -> builtins.str:
        """The name of its class."""
        return type(self).__name__

    def containedTypes(self) -> list[Type]:
        """The types that it is made of."""
        return list(self.inner)

    @property
    def stand_in(self) -> Type:
        """The type whose values it takes."""
        return self

    def isSubtypeOf(self, other: Type) -> bool:
        """Whether each of its values is one of the other type."""
        if self == other or isinstance(other, AnyType):
            return True
        return isinstance(other, OptionalType) and self.isSubtypeOf(other.inner[0])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and type(other) is type(self) and other._facts() == self._facts()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._facts()))

    def _facts(self) -> Any:
        return self.inner

    def __repr__(self) -> builtins.str:
        return self.annotation_str

    __str__ = __repr__


class AnyType(Type):
    word = "Any"


class TensorType(Type):
    word = "Tensor"


class StringType(Type):
    word = "str"


class DeviceObjType(Type):
    word = "Device"


class StreamObjType(Type):
    word = "Stream"


class NoneType(Type):
    word = "NoneType"

    def isSubtypeOf(self, other: Type) -> bool:
        return isinstance(other, OptionalType) or super().isSubtypeOf(other)


class NumberType(Type):
    """Any number; schemas may call it ``number`` as well."""

    word = "Scalar"
    _annotation = "number"

    def __init__(self, word: str = "Scalar") -> None:
        super().__init__()
        self.word = word  # type: ignore[misc]


class _Number(Type):
    def isSubtypeOf(self, other: Type) -> bool:
        return isinstance(other, NumberType) or super().isSubtypeOf(other)


class IntType(_Number):
    word = "int"


class FloatType(_Number):
    word = "float"


class ComplexType(_Number):
    word = "complex"


class BoolType(Type):
    word = "bool"


class _Alias(Type):
    """A type that takes another's values."""

    _of: ClassVar[type[Type]]

    @property
    def stand_in(self) -> Type:
        return self._of()


class SymIntType(_Alias):
    word, _annotation, _of = "SymInt", "int", IntType


class SymBoolType(_Alias):
    word, _annotation, _of = "SymBool", "bool", BoolType

    @property
    def stand_in(self) -> Type:
        return self


class NamedType(Type):
    """A type of which nothing is known but its name: ``Generator``, ``Storage``, a type variable, ``ScalarType``."""

    #: Those that take ints.
    _INTS = frozenset(("ScalarType", "Layout", "MemoryFormat"))

    def __init__(self, name: str) -> None:
        super().__init__()
        self.word = name  # type: ignore[misc]

    @property
    def stand_in(self) -> Type:
        return IntType() if self.word in self._INTS else self

    def kind(self) -> builtins.str:
        return f"{self.word}Type"

    def _facts(self) -> Any:
        return self.word


class _Made(Type):
    """A type made of others."""

    def __init__(self, *inner: Type) -> None:
        self.inner = inner

    def _rebuilt(self, inner: list[Type]) -> Type:
        return type(self)(*inner)

    @property
    def stand_in(self) -> Type:
        return self._rebuilt([item.stand_in for item in self.inner])

    @property
    def annotation_str(self) -> builtins.str:
        name = type(self).__name__.removesuffix("Type")
        return f"{name}[{', '.join(item.annotation_str for item in self.inner)}]"

    def getElementType(self) -> Type:
        """The type of what it holds."""
        return self.inner[0]


class ListType(_Made):
    def __init__(self, element: Type) -> None:
        super().__init__(element)

    def str(self) -> builtins.str:
        return f"{self.inner[0].str()}[]"

    @staticmethod
    def ofInts() -> ListType:
        return ListType(IntType())

    @staticmethod
    def ofFloats() -> ListType:
        return ListType(FloatType())

    @staticmethod
    def ofBools() -> ListType:
        return ListType(BoolType())

    @staticmethod
    def ofStrings() -> ListType:
        return ListType(StringType())

    @staticmethod
    def ofComplexDoubles() -> ListType:
        return ListType(ComplexType())

    @staticmethod
    def ofTensors() -> ListType:
        return ListType(TensorType())


class OptionalType(_Made):
    def __init__(self, element: Type) -> None:
        super().__init__(element)

    def str(self) -> builtins.str:
        return f"{self.inner[0].str()}?"

    @staticmethod
    def ofTensor() -> OptionalType:
        return OptionalType(TensorType())

    def isSubtypeOf(self, other: Type) -> bool:
        if isinstance(other, OptionalType):
            return self.inner[0].isSubtypeOf(other.inner[0])
        return super().isSubtypeOf(other)


class DictType(_Made):
    def __init__(self, key: Type, value: Type) -> None:
        super().__init__(key, value)

    def str(self) -> builtins.str:
        return f"Dict({self.inner[0].str()}, {self.inner[1].str()})"

    def getKeyType(self) -> Type:
        return self.inner[0]

    def getValueType(self) -> Type:
        return self.inner[1]


class TupleType(_Made):
    def __init__(self, elements: list[Type]) -> None:
        super().__init__(*elements)

    def _rebuilt(self, inner: list[Type]) -> Type:
        return TupleType(inner)

    def elements(self) -> list[Type]:
        return list(self.inner)

    def str(self) -> builtins.str:
        return f"({', '.join(item.str() for item in self.inner)})"

    def isSubtypeOf(self, other: Type) -> bool:
        if not isinstance(other, TupleType):
            return super().isSubtypeOf(other)
        same = len(other.inner) == len(self.inner)
        return same and all(mine.isSubtypeOf(theirs) for mine, theirs in zip(self.inner, other.inner))


class _Holder(_Made):
    def __init__(self, element: Type) -> None:
        super().__init__(element)

    def str(self) -> builtins.str:
        return f"{type(self).__name__.removesuffix('Type')}({self.inner[0].str()})"


class FutureType(_Holder):
    pass


class RRefType(_Holder):
    pass


class AwaitType(_Holder):
    pass


_BY_WORD: Mapping[str, type[Type]] = {
    cls.word: cls
    for cls in (
        AnyType, TensorType, StringType, DeviceObjType, StreamObjType, NumberType, IntType, FloatType, ComplexType,
        BoolType, SymIntType, SymBoolType, NoneType,
    )
} | {"None": NoneType}  # fmt: skip
_NAMED = frozenset(("Generator", "Storage", "QScheme", "ScalarType", "Layout", "MemoryFormat"))


def type_of_word(word: str) -> Type | None:
    """The type that a schema calls so; None for a word that names none. A word in small letters is a type variable."""
    if word == "number":
        return NumberType(word)
    if word in _BY_WORD:
        return _BY_WORD[word]()
    return NamedType(word) if word in _NAMED or word[0].islower() else None
