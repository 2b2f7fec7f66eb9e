"""Python values against schema types: what each type accepts, how it is converted, and what PyTorch calls it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes, formats
from ..devices import device
from ..dtypes import dtype
from ..formats import layout, memory_format
from ..keys import CPU
from ..number_range import check_width
from ..random import Generator
from ..schema import MISSING, Argument
from ..symbolic import SYMBOLIC, SymBool, SymFloat, SymInt, plain
from ..tensor import new_tensor
from ..tensor_types import TENSORS

__all__ = ["REJECTED", "converter", "default_of", "type_name", "wrapping"]


class _Rejected:
    def __repr__(self) -> str:
        return "REJECTED"


_SYMBOLIC_REALS = (SymInt, SymFloat)

#: What a converter returns for a value that its type does not accept.
REJECTED: Any = _Rejected()

Converter = Callable[[Any], Any]


def _is_tensor(value: Any) -> bool:
    return value.__class__ in TENSORS


def _scalar_tensor(value: Any, kinds: str) -> bool:
    """Whether a tensor may stand for a number: one element, no gradient needed, of a fitting category."""
    if not _is_tensor(value) or value._array.ndim or value.requires_grad:
        return False
    d = value._dtype
    return "f" in kinds or d.is_integral or d is dtypes.bool


def _tensor(value: Any) -> Any:
    return value if value.__class__ in TENSORS else REJECTED


def _tensor_or_number(value: Any) -> Any:
    if value.__class__ in TENSORS or isinstance(value, (int, float, complex)):
        return value
    return plain(value) if value.__class__ in SYMBOLIC else _number_like(value)


def _number_like(value: Any) -> Any:
    """NumPy scalars are numbers too."""
    return value.item() if isinstance(value, (np.number, np.bool_)) else REJECTED


def wrapping(convert: Converter) -> Converter:
    """A converter of tensors that takes numbers as well, and makes them tensors without dimensions."""

    def convert_or_wrap(value: Any) -> Any:
        converted = convert(value)
        if converted is not REJECTED:
            return converted
        number = _tensor_or_number(value)
        if number is REJECTED:
            return REJECTED
        check_width(number)
        array = np.asarray(number)
        return new_tensor(array, dtypes.from_numpy_dtype(array.dtype), CPU)

    return convert_or_wrap


def _int(value: Any) -> Any:
    if value.__class__ is int:
        return value
    if value.__class__ is SymInt:
        return plain(value)
    if isinstance(value, (bool, float, complex, str)) or value is None:
        return REJECTED
    if _is_tensor(value):
        return value.item() if _scalar_tensor(value, "i") else REJECTED
    index = None if isinstance(value, type) else getattr(value, "__index__", None)
    return index() if index is not None else REJECTED


def _float(value: Any) -> Any:
    if value.__class__ is float:
        return value
    if isinstance(value, (int, float)):
        return float(value)
    if value.__class__ in _SYMBOLIC_REALS:
        known = plain(value)
        return known if known is value else float(known)
    if _is_tensor(value):
        return value.item() if _scalar_tensor(value, "if") and not value._dtype.is_complex else REJECTED
    found = _number_like(value)
    return float(found) if found is not REJECTED and not isinstance(found, complex) else REJECTED


def _number(value: Any) -> Any:
    if isinstance(value, (int, float, complex)):
        check_width(value)
        return value
    if value.__class__ in SYMBOLIC:
        return plain(value)
    if _is_tensor(value):
        return value.item() if _scalar_tensor(value, "if") else REJECTED
    return _number_like(value)


def _bool(value: Any) -> Any:
    if value.__class__ is bool:
        return value
    if value.__class__ is SymBool:
        return bool(value)
    found = _number_like(value)
    return found if isinstance(found, bool) else REJECTED


def _str(value: Any) -> Any:
    return value if isinstance(value, str) else REJECTED


def _dtype(value: Any) -> Any:
    if value.__class__ is dtype:
        return value
    found = dtypes.of_python_type(value)
    return REJECTED if found is None else found


def _device(value: Any) -> Any:
    if value.__class__ is device:
        return value
    if isinstance(value, str) or isinstance(value, int) and not isinstance(value, bool):
        return device(value)
    return REJECTED


def _instance(cls: type) -> Converter:
    return lambda value: value if isinstance(value, cls) else REJECTED


def _generator(value: Any) -> Any:
    return value if isinstance(value, Generator) else REJECTED


def _any(value: Any) -> Any:
    return value


_SINGLE: dict[str, Converter] = {
    "Tensor": _tensor, "int": _int, "float": _float, "Scalar": _number, "bool": _bool, "str": _str,
    "ScalarType": _dtype,
    "Device": _device, "Layout": _instance(layout), "MemoryFormat": _instance(memory_format), "Generator": _generator,
    "Any": _any, "Dimname": _str, "Storage": _any, "Stream": _any,
}  # fmt: skip


def _behind_the_first(value: Any, items: tuple[Any, ...]) -> Any:
    """Elements of a list of integers of which some were rejected: a bool is one, but as the first."""
    if items[0] is REJECTED or items[0].__class__ is not int:
        return REJECTED
    items = tuple([int(v) if v.__class__ is bool else item for v, item in zip(value, items, strict=True)])
    return REJECTED if REJECTED in items else items


def _list_of(item: Converter, size: int | None, expand: bool) -> Converter:
    def convert(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            items = tuple([item(v) for v in value])
            return items if REJECTED not in items else _behind_the_first(value, items)
        if expand:
            single = item(value)
            if single is not REJECTED:
                return (single,) * size if size is not None else (single,)
        return REJECTED

    return convert


def _tensors_at(position: int) -> Converter:
    """What takes lists of tensors, as the argument of that position: a list of anything else is refused at once."""

    def convert(value: Any) -> Any:
        if not isinstance(value, (tuple, list)):
            return REJECTED
        for i, item in enumerate(value):
            if item.__class__ not in TENSORS:
                raise TypeError(f"expected Tensor as element {i} in argument {position}, but got {type(item).__name__}")
        return list(value)

    return convert


def _optional_tensors(value: Any) -> Any:
    if not isinstance(value, (tuple, list)):
        return REJECTED
    return list(value) if all(v is None or v.__class__ in TENSORS for v in value) else REJECTED


def _optional(inner: Converter) -> Converter:
    return lambda value: None if value is None else inner(value)


def converter(argument: Argument, number_ok: bool = False, position: int = 0) -> Converter:
    """The function that accepts, converts or rejects a value for an argument; `position` is where Python has it."""
    if argument.is_list:
        if argument.type == "Tensor":
            convert: Converter = _optional_tensors if argument.optional_items else _tensors_at(position)
        else:
            convert = _list_of(_SINGLE[argument.type], argument.size, argument.size is not None)
    elif argument.type == "Tensor" and number_ok:
        convert = _tensor_or_number
    else:
        convert = _SINGLE[argument.type]
    if argument.is_list and argument.default in ([], ()):
        return _or_nothing(convert)
    return _optional(convert) if argument.optional else convert


def _or_nothing(convert: Converter) -> Converter:
    """None stands for the empty list that is the default, as PyTorch's signatures have it."""
    return lambda value: () if value is None else convert(value)


_TYPE_NAMES = {
    "Tensor": "Tensor", "Scalar": "Number", "ScalarType": "torch.dtype", "Device": "torch.device",
    "Layout": "torch.layout",
    "MemoryFormat": "torch.memory_format", "Generator": "torch.Generator", "Dimname": "name",
}  # fmt: skip


def type_name(argument: Argument) -> str:
    """What PyTorch's messages call the argument's type: ``tuple of ints``, ``Number``, ``torch.dtype``."""
    name = _TYPE_NAMES.get(argument.type, argument.type)
    if argument.is_list:
        plural = {"Scalar": "Scalars", "Tensor": "Tensors"}.get(argument.type, name + "s")
        return f"tuple of {plural}"
    return name


def default_of(argument: Argument) -> Any:
    """The default of an argument, with symbols of the schema language given their meaning."""
    value = argument.default
    if value is MISSING or not isinstance(value, str) or argument.type == "str":
        if argument.is_list and argument.size is not None and isinstance(value, int) and not isinstance(value, bool):
            return (value,) * argument.size
        return float(value) if argument.type == "float" and type(value) is int else value
    symbols: dict[str, Any] = {
        "long": dtypes.int64,
        "strided": formats.strided,
        "inf": float("inf"),
        "nan": float("nan"),
    }
    return symbols.get(value) or getattr(formats, value)
