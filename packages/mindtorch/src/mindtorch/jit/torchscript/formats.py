"""The numbers that stand for dtypes, layouts and memory formats in programs, which have no other values for them."""

from __future__ import annotations

from typing import Any

from mt_core import dtypes, formats
from mt_library.schema_reading import DTYPES as _NAMES

__all__ = [
    "DTYPES",
    "as_dtype",
    "as_layout",
    "as_memory_format",
    "number_of_dtype",
    "number_of_layout",
    "number_of_name",
]

#: Number -> dtype; None where PyTorch has one that does not exist here.
DTYPES = [getattr(dtypes, name, None) for name in _NAMES]
_LAYOUTS = ["strided", "sparse_coo", "sparse_csr", "_mkldnn", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"]
_FORMATS = ["contiguous_format", "preserve_format", "channels_last", "channels_last_3d"]


def _at(names: list[Any], number: int, what: str) -> Any:
    if not 0 <= number < len(names) or names[number] is None:
        raise RuntimeError(f"unknown {what} {number}")
    return names[number]


def as_dtype(value: Any) -> Any:
    """A dtype of its number; None and dtypes as they are."""
    return _at(DTYPES, value, "dtype") if type(value) is int else value


def as_layout(value: Any) -> Any:
    """A layout of its number."""
    return getattr(formats, _at(_LAYOUTS, value, "layout")) if type(value) is int else value


def as_memory_format(value: Any) -> Any:
    """A memory format of its number."""
    return getattr(formats, _at(_FORMATS, value, "memory format")) if type(value) is int else value


def number_of_dtype(dtype: Any) -> int:
    """The number of a dtype."""
    return DTYPES.index(dtype)


def number_of_layout(layout: Any) -> int:
    """The number of a layout."""
    return _LAYOUTS.index(repr(layout).rpartition(".")[2])


def number_of_name(name: str) -> int | None:
    """The number of ``torch.float32``, ``torch.strided`` or ``torch.channels_last``; None of other names."""
    module, _, own = name.rpartition(".")
    if module != "torch":
        return None
    found = getattr(dtypes, _SHORT.get(own, own), None)
    if isinstance(found, dtypes.dtype):
        return number_of_dtype(found)
    for names in (_LAYOUTS, _FORMATS):
        if own in names:
            return names.index(own)
    return None


_SHORT = {
    "long": "int64", "int": "int32", "short": "int16", "half": "float16", "float": "float32", "double": "float64",
    "cfloat": "complex64", "cdouble": "complex128",
}  # fmt: skip


def number_of_memory_format(memory_format: Any) -> int:
    """The number of a memory format."""
    return _FORMATS.index(repr(memory_format).rpartition(".")[2])
