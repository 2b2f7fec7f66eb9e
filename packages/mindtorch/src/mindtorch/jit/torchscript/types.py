"""Types of TorchScript: what annotations name, what values have, and casts at the border to Python."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mt_core import Tensor, device

from .formats import number_of_dtype

__all__ = [
    "ANY", "BOOL", "COMPLEX", "DEVICE", "FLOAT", "INT", "NEVER", "NONE", "NUMBER", "STR", "TENSOR", "UNKNOWN",
    "CannotCast", "Type", "cast", "is_a", "joined", "list_of", "optional", "read_type", "type_of",
]  # fmt: skip


@dataclass(frozen=True)
class Type:
    """A type: its name, the types that it is made of, and, of a name in an archive, its class."""

    name: str
    parts: tuple[Type, ...] = ()
    cls: Any = None

    def __str__(self) -> str:
        """As annotations in archives write it."""
        if self.cls is not None:
            return str(self.cls.name)
        if self.name == "Tuple" and not self.parts:
            return "Tuple[()]"
        return f"{self.name}[{', '.join(map(str, self.parts))}]" if self.parts else self.name

    def in_schema(self) -> str:
        """As schemas write it: ``Tensor?``, ``int[]``, ``(int, float)``."""
        parts = [part.in_schema() for part in self.parts]
        if self.name in ("List", "Optional"):
            return parts[0] + ("[]" if self.name == "List" else "?")
        if self.name == "Tuple":
            return f"({', '.join(parts)})"
        if self.name == "NoneType" or not parts:
            return str(self)
        return f"{self.name}({', '.join(parts)})"


TENSOR, INT, FLOAT, BOOL, STR = map(Type, ("Tensor", "int", "float", "bool", "str"))
COMPLEX, NUMBER, NONE, DEVICE, ANY = map(Type, ("complex", "number", "NoneType", "Device", "Any"))
#: Of what is known only when it runs; and of what is never made, which every type takes in.
UNKNOWN, NEVER = Type("?"), Type("uninitialized")
_SIMPLE = {t.name: t for t in (TENSOR, INT, FLOAT, BOOL, STR, COMPLEX, NUMBER, NONE, DEVICE, ANY)}
_SIMPLE |= {name: Type(name) for name in ("Generator", "Storage", "list", "dict", "tuple", "Stream")}
_SIMPLE |= {
    "Scalar": NUMBER, "None": NONE, "AnyType": ANY, "AnyListType": Type("list"), "AnyTupleType": Type("tuple"),
    "AnyEnumType": ANY, "Layout": INT, "MemoryFormat": INT, "QScheme": INT, "AnyClassType": ANY,
}  # fmt: skip
_NUMBER_OF_PARTS = {"Optional": 1, "List": 1, "Future": 1, "Final": 1, "Dict": 2, "Await": 1, "RRef": 1}


def list_of(item: Type) -> Type:
    """The type of lists."""
    return Type("List", (item,))


def optional(item: Type) -> Type:
    """The type that takes None besides."""
    return item if item == NONE or item.name in ("Optional", "Any", "?") else Type("Optional", (item,))


def joined(a: Type, b: Type) -> Type:
    """The type of what has the one or the other."""
    if a == b or b is NEVER:
        return a
    if a is NEVER:
        return b
    if a == NONE or b == NONE:
        return optional(b if a == NONE else a)
    for one, other in ((a, b), (b, a)):
        if one.name == "Optional" and one.parts[0] == other:
            return one
    return UNKNOWN


def read_type(node: ast.AST | None, class_named: Callable[[str], Any]) -> Type:
    """The type that an annotation names.

    Parameters
    ----------
    class_named
        Full name -> class of the archive.

    Raises
    ------
    RuntimeError
        For what names no type.
    """
    if isinstance(node, ast.Constant) and node.value is None:
        return NONE
    if isinstance(node, ast.Name) and node.id in _SIMPLE:
        return _SIMPLE[node.id]
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return _with_parts(node, node.value.id, class_named)
    if isinstance(node, ast.Attribute):
        name = dotted(node)
        if name is not None and name.startswith("__torch__."):
            return Type("class", (), class_named(name))
        if name == "torch.device":
            return DEVICE
    raise RuntimeError(f"Unknown type name '{'' if node is None else ast.unparse(node)[:100]}'")


def _with_parts(node: ast.Subscript, name: str, class_named: Callable[[str], Any]) -> Type:
    inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    parts = tuple(read_type(part, class_named) for part in inner)
    if name not in ("Tuple", "Union") and _NUMBER_OF_PARTS.get(name) != len(parts):
        raise RuntimeError(f"Unknown type constructor {name}")
    if name in ("Await", "RRef"):
        raise NotImplementedError(f"the type {name} of TorchScript is not supported by mindtorch.")
    if name == "Final":
        return parts[0]
    return optional(parts[0]) if name == "Optional" else Type(name, parts)


def dotted(node: ast.AST) -> str | None:
    """The text of ``a.b.c``; None of anything else."""
    words = []
    while isinstance(node, ast.Attribute):
        words.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(words)])


_BUILT_IN = {int: INT, float: FLOAT, bool: BOOL, str: STR, complex: COMPLEX, type(None): NONE, device: DEVICE}


def type_of(value: Any) -> Type:
    """The type of a value that a program holds; of an empty list or dict, that of unknown items."""
    found = _BUILT_IN.get(type(value))
    if found is not None:
        return found
    if isinstance(value, Tensor):
        return TENSOR
    cls = getattr(value, "_script_class", None)
    if cls is not None:
        return Type("class", (), cls)
    if isinstance(value, list):
        return list_of(_common(value))
    if isinstance(value, tuple):
        return Type("Tuple", tuple(map(type_of, value)))
    if isinstance(value, dict):
        return Type("Dict", (_common(value), _common(value.values())))
    return UNKNOWN


def _common(items: Any) -> Type:
    found = NEVER
    for item in items:
        found = joined(found, type_of(item))
        if found in (TENSOR, UNKNOWN):
            break
    return UNKNOWN if found is NEVER else found


def is_a(value: Any, t: Type) -> bool:
    """Whether a value has a type, which ``isinstance`` asks of unions and of ``Any``.

    Raises
    ------
    RuntimeError
        For an empty list or dict, of which the types of the items are not known any more.
    """
    if t.name in ("Optional", "Union"):
        return (t.name == "Optional" and value is None) or any(is_a(value, part) for part in t.parts)
    if t.name in ("List", "Dict") and isinstance(value, (list, dict)):
        if isinstance(value, list) != (t.name == "List"):
            return False
        if not value:
            raise RuntimeError(f"isinstance(..., {t}) of an empty {t.name.lower()} is not supported by mindtorch.")
        columns: Any = (value,) if isinstance(value, list) else (value.keys(), value.values())
        return all(is_a(item, part) for column, part in zip(columns, t.parts, strict=True) for item in column)
    if t.name == "Tuple":
        return isinstance(value, tuple) and len(value) == len(t.parts) and all(map(is_a, value, t.parts))
    if t.cls is not None:
        return bool(t.cls.holds(value))
    if t.name in ("list", "dict", "tuple"):
        return isinstance(value, {"list": list, "dict": dict, "tuple": tuple}[t.name])
    if t == NUMBER:
        return type(value) in (int, float, complex)
    return t == ANY or (isinstance(value, Tensor) if t == TENSOR else type_of(value) == t)


# Casts


class CannotCast(Exception):
    """A value that Python gave has not the type."""


def cast(value: Any, t: Type) -> Any:
    """A value from Python as one of a type: containers are copied, integers are floats where these are asked for.

    Raises
    ------
    CannotCast
        Where it is none.
    """
    caster = _CASTS.get(t.name)
    if caster is not None:
        return caster(value, t)
    if t.cls is not None:
        return _cast_to_class(value, t)
    if t in (ANY, UNKNOWN) or type_of(value) == t or t.name in ("Generator", "Future"):
        return value
    raise _cannot(value, t)


def _cannot(value: Any, t: Type) -> CannotCast:
    return CannotCast(f"Unable to cast {value!r:.200} to {t}")


def _cast_tensor(value: Any, t: Type) -> Any:
    if not isinstance(value, Tensor):
        raise _cannot(value, t)
    return value


def _cast_int(value: Any, t: Type) -> Any:
    if type(value) is int:
        return value
    if type(value).__name__ == "dtype" and type(value).__module__ in ("torch", "mindtorch", "mt_core.dtypes"):
        return number_of_dtype(value)
    if isinstance(value, (int, Tensor)) and not isinstance(value, Tensor) or _is_single(value, 1):
        return int(value)
    if hasattr(type(value), "__index__") and not isinstance(value, Tensor):
        return int(value)
    raise _cannot(value, t)


def _cast_float(value: Any, t: Type) -> Any:
    if isinstance(value, (int, float)) or _is_single(value, 2) or _is_numpy_number(value):
        return float(value)
    raise _cannot(value, t)


def _is_numpy_number(value: Any) -> bool:
    return type(value).__module__ == "numpy" and hasattr(value, "item") and isinstance(value.item(), (int, float))


def _is_single(value: Any, category: int) -> bool:
    """Whether a tensor of one element has a dtype of a category at most: integers, floats."""
    return isinstance(value, Tensor) and value.numel() == 1 and value.dtype.category <= category


def _cast_bool(value: Any, t: Type) -> Any:
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool") or _is_single(value, 2):
        return bool(value)
    raise _cannot(value, t)


def _cast_complex(value: Any, t: Type) -> Any:
    if isinstance(value, (int, float, complex)):
        return complex(value)
    raise _cannot(value, t)


def _cast_number(value: Any, t: Type) -> Any:
    if isinstance(value, (int, float, complex)):
        return value
    if isinstance(value, Tensor) and value.numel() == 1:
        return value.item()
    raise _cannot(value, t)


def _cast_str(value: Any, t: Type) -> Any:
    if not isinstance(value, str):
        raise _cannot(value, t)
    return value


def _cast_device(value: Any, t: Type) -> Any:
    if not isinstance(value, (str, device)):
        raise _cannot(value, t)
    return device(value)


def _cast_none(value: Any, t: Type) -> Any:
    if value is not None:
        raise _cannot(value, t)
    return None


def _cast_optional(value: Any, t: Type) -> Any:
    return None if value is None else cast(value, t.parts[0])


def _cast_union(value: Any, t: Type) -> Any:
    exact = [part for part in t.parts if type_of(value) == part]
    for part in (*exact, *t.parts):
        try:
            return cast(value, part)
        except CannotCast:
            continue
    raise _cannot(value, t)


def _cast_list(value: Any, t: Type) -> Any:
    if isinstance(value, (str, dict, set)) or not hasattr(type(value), "__iter__"):
        raise _cannot(value, t)
    if isinstance(value, Tensor) and t.parts[0] == TENSOR:
        raise _cannot(value, t)
    return [cast(item, t.parts[0]) for item in value]


def _cast_dict(value: Any, t: Type) -> Any:
    if not isinstance(value, dict):
        raise _cannot(value, t)
    key, item = t.parts
    return {cast(k, key): cast(v, item) for k, v in value.items()}


def _cast_tuple(value: Any, t: Type) -> Any:
    if not isinstance(value, (tuple, list)) or len(value) != len(t.parts):
        raise _cannot(value, t)
    return tuple(map(cast, value, t.parts))


def _cast_to_class(value: Any, t: Type) -> Any:
    if t.cls.kind == "namedtuple" and isinstance(value, tuple):
        return t.cls.from_python(value)
    if not t.cls.holds(value):
        raise _cannot(value, t)
    return value


_CASTS: dict[str, Callable[[Any, Type], Any]] = {
    "Tensor": _cast_tensor, "int": _cast_int, "float": _cast_float, "bool": _cast_bool, "complex": _cast_complex,
    "number": _cast_number, "str": _cast_str, "Device": _cast_device, "NoneType": _cast_none,
    "Optional": _cast_optional, "Union": _cast_union, "List": _cast_list, "Dict": _cast_dict, "Tuple": _cast_tuple,
}  # fmt: skip
