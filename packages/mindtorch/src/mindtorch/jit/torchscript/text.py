"""Values as text, as PyTorch's interpreter writes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mt_core import Tensor, dtypes, printing_cpp

__all__ = ["format_percent", "format_text", "text_of"]


def text_of(value: Any) -> str:
    """A value as ``str``, ``print`` and ``format`` write it."""
    if isinstance(value, bool) or value is None or type(value) is int:
        return str(value)
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, complex):
        return f"{_float_text(value.real)}+{_float_text(value.imag)}j"
    if isinstance(value, Tensor):
        return _tensor_text(value)
    if isinstance(value, list):
        return f"[{', '.join(map(text_of, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(text_of, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{text_of(k)}: {text_of(v)}" for k, v in value.items()) + "}"
    return str(value)


def _float_text(value: float) -> str:
    """As C++ streams print doubles with 17 digits; those of integers end with a dot."""
    if value != value or value in (float("inf"), -float("inf")):
        return f"{value:g}"
    if value == int(value) and abs(value) < 1 << 63:
        return f"{int(value)}."
    return f"{value:.17g}"


def _tensor_text(value: Tensor) -> str:
    if value.dim() >= 2:
        body = printing_cpp.text_of(value).rpartition("[ ")[0]
    elif value.numel() == 0:
        body = ""
    elif value.dim() == 1:
        body = printing_cpp.text_of(value.detach().reshape(-1, 1)).rpartition("[ ")[0]
    else:
        body = repr(value.item()).removesuffix(".0") + "\n"
    shape = ",".join(map(str, value.shape))
    kind = f"{value.device.type.upper()}{dtypes.scalar_type_name(value.dtype)}Type"
    return f"{body}[ {kind}{{{shape}}} ]"


def format_text(form: str, *values: Any) -> str:
    """``str.format`` of TorchScript: each ``{}`` in turn, and nothing else.

    Raises
    ------
    RuntimeError
        For more values than places, or fewer.
    """
    parts = form.split("{}")
    if len(parts) - 1 > len(values):
        raise RuntimeError(f"Too few arguments for format string: {form}")
    if len(parts) - 1 < len(values):
        raise RuntimeError(f"Too many arguments for format string: {form}")
    return _together(parts, map(text_of, values))


def _together(parts: list[str], texts: Iterable[str]) -> str:
    return parts[0] + "".join(text + part for text, part in zip(texts, parts[1:], strict=True))


def format_percent(form: str, *values: Any) -> str:
    """``%`` of TorchScript: the specifiers ``% d i e E f F c s``, without width or precision.

    Raises
    ------
    RuntimeError
        For other specifiers, values of other types, too many values or too few.
    """
    if len(values) == 1 and isinstance(values[0], tuple):
        values = values[0]
    made, rest, used = "", form, 0
    while "%" in rest:
        text, _, rest = rest.partition("%")
        if not rest:
            raise RuntimeError("Incomplete format specifier")
        made, kind, rest = made + text, rest[0], rest[1:]
        if kind == "%":
            made += "%"
            continue
        if used >= len(values):
            raise RuntimeError("Too few arguments for format string")
        made += _formatted(kind, values[used])
        used += 1
    if used < len(values):
        raise RuntimeError("Too many arguments for format string")
    return made + rest


def _formatted(kind: str, value: Any) -> str:
    if kind == "s":
        return text_of(value)
    if kind == "c":
        if isinstance(value, (int, str)) and not isinstance(value, bool) and len(str(value)) > 0:
            return chr(value & 255) if isinstance(value, int) else value
        raise RuntimeError("%c requires an int or char for formatting, but got " + _kind_name(value))
    if kind not in "dieEfF":
        raise RuntimeError(f"The specifier %{kind} is not supported in TorchScript format strings")
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise RuntimeError(f"%{kind} requires a number for formatting, but got {_kind_name(value)}")
    return str(int(value)) if kind in "di" else f"{value:{kind}}"


def _kind_name(value: Any) -> str:
    names = {str: "String", float: "Double", int: "Int", bool: "Bool", list: "GenericList", tuple: "Tuple"}
    return "None" if value is None else names.get(type(value), type(value).__name__)
