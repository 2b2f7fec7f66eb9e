"""The numbers that the schema of exported programs has for dtypes, layouts and memory formats, and its versions."""

from __future__ import annotations

from typing import Any

from mt_core import dtypes, formats

__all__ = ["DTYPES", "LAYOUTS", "MEMORY_FORMATS", "OPSET", "SCHEMA_VERSION", "code_of"]

SCHEMA_VERSION = (8, 20)
OPSET = {"aten": 10}

_DTYPE_NAMES = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32", 8: "float64",
    9: "complex32", 10: "complex64", 11: "complex128", 12: "bool", 13: "bfloat16", 28: "uint16", 29: "float8_e4m3fn",
    30: "float8_e5m2", 31: "float8_e4m3fnuz", 32: "float8_e5m2fnuz", 33: "float8_e8m0fnu", 34: "uint32", 35: "uint64",
}  # fmt: skip

#: Number -> dtype.
DTYPES: dict[int, Any] = {code: getattr(dtypes, name) for code, name in _DTYPE_NAMES.items() if hasattr(dtypes, name)}
LAYOUTS: dict[int, Any] = {7: formats.strided}
MEMORY_FORMATS: dict[int, Any] = {
    1: formats.contiguous_format, 2: formats.channels_last, 3: formats.channels_last_3d, 4: formats.preserve_format,
}  # fmt: skip


def code_of(table: dict[int, Any], value: Any) -> int:
    """The number of a value.

    Raises
    ------
    NotImplementedError
        When the schema has none for it.
    """
    for code, known in table.items():
        if known is value:
            return code
    raise NotImplementedError(f"exported programs cannot be saved with {value}")
