"""What an event was called with: shapes, strides and element types of tensors, values of other arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mt_core import Tensor, dtypes
from mt_core.formats import strided

__all__ = ["Inputs", "inputs_of"]

#: What PyTorch's traces call element types: C++'s names.
_ELEMENTS = {
    dtypes.float32: "float",
    dtypes.float64: "double",
    dtypes.float16: "c10::Half",
    dtypes.bfloat16: "c10::BFloat16",
    dtypes.int64: "long int",
    dtypes.int32: "int",
    dtypes.int16: "short int",
    dtypes.int8: "signed char",
    dtypes.uint8: "unsigned char",
    dtypes.bool: "bool",
    dtypes.complex64: "c10::complex<float>",
    dtypes.complex128: "c10::complex<double>",
}
_NUMBERS = {bool: "bool", int: "long int", float: "double", complex: "c10::complex<double>"}


@dataclass
class Inputs:
    """One entry for each argument: nested lists for lists of tensors, empty where an argument is no tensor."""

    shapes: list[Any]
    strides: list[Any]
    types: list[str]
    values: list[Any]


def inputs_of(arguments: Sequence[Any], values: Sequence[Any]) -> Inputs:
    """The description of a call's arguments.

    Parameters
    ----------
    arguments
        The schema's, for whose types numbers stand for tensors; may be empty.
    """
    found = Inputs([], [], [], [])
    for position, value in enumerate(values):
        kind = arguments[position].type if position < len(arguments) else ""
        for entries, entry in zip(
            (found.shapes, found.strides, found.types, found.values), _described(kind, value), strict=True
        ):
            entries.append(entry)
    return found


def _described(kind: str, value: Any) -> tuple[Any, Any, str, Any]:
    if isinstance(value, Tensor):
        return [*value.shape], _strides(value), _element(value), None
    if isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in value):
        tensors = [item for item in value if isinstance(item, Tensor)]
        return [[*item.shape] for item in tensors], [_strides(item) for item in tensors], "TensorList", None
    if type(value) in _NUMBERS and kind.startswith("Tensor"):
        return [], [], _NUMBERS[type(value)], None
    if isinstance(value, (bool, int, float, complex)):
        return [], [], "Scalar", value
    if isinstance(value, (list, tuple)):
        return [], [], "ScalarList", [*value]
    return [], [], "", value if isinstance(value, str) else None


def _strides(tensor: Tensor) -> list[int]:
    return [*tensor.stride()] if tensor.layout is strided else []


def _element(tensor: Tensor) -> str:
    return _ELEMENTS.get(tensor.dtype, str(tensor.dtype).removeprefix("torch."))
