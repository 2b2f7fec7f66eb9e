"""Names that CUDA sources have for element types."""

from __future__ import annotations

from typing import Any

__all__ = ["C_NAMES", "HALVES", "STRUCT_CODES", "c_name", "compute_name", "sum_name"]

#: NumPy's name of a dtype -> the type in ``cuda/common.cu``.
C_NAMES = {
    "float32": "float",
    "float64": "double",
    "float16": "f16",
    "bfloat16": "bf16",
    "int64": "i64",
    "int32": "int",
    "int16": "int16_t",
    "int8": "int8_t",
    "uint8": "uint8_t",
    "bool": "bool",
}
HALVES = ("f16", "bf16")
#: The code of `struct` for a number of a compute type.
STRUCT_CODES = {
    "float": "f", "double": "d", "i64": "q", "int": "i", "int16_t": "h", "int8_t": "b", "uint8_t": "B", "bool": "?",
}  # fmt: skip

_names: dict[Any, str] = {}


def c_name(dtype: Any) -> str:
    """The C name of a NumPy dtype; TypeError where the kernels have none for it."""
    name = _names.get(dtype)
    if name is None:
        if dtype.name not in C_NAMES:
            raise TypeError(f"CUDA kernels of mindtorch have no element type {dtype.name}")
        name = _names[dtype] = C_NAMES[dtype.name]
    return name


def compute_name(name: str) -> str:
    """What arithmetic on a type is done in."""
    return "float" if name in HALVES else name


def sum_name(name: str) -> str:
    """What sums of a type are kept in."""
    return "float" if name in HALVES else name if name in ("float", "double") else "i64"
