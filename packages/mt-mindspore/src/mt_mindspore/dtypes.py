"""Names of dtypes on both sides of the bridge."""

from __future__ import annotations

__all__ = ["MINDSPORE_NAMES"]

#: Name of a dtype here -> its name in the module ``mindspore``. A dtype that MindSpore lacks is absent.
MINDSPORE_NAMES: dict[str, str] = {
    "bool": "bool_",
    "uint8": "uint8",
    "uint16": "uint16",
    "uint32": "uint32",
    "uint64": "uint64",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float32": "float32",
    "float64": "float64",
    "complex64": "complex64",
    "complex128": "complex128",
}
