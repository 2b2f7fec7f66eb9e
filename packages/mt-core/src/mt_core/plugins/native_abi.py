"""What crosses the C interface of kernels (``mt_core/native/mt_kernel.h``): DLPack's structures, numbers, and lists.

A converter gives the C values of one argument, in the order of the C function's parameters; for as long as they are
kept, what they point to is alive.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..dlpack import DL_CPU, type_code
from ..dtypes import from_numpy_dtype
from ..schema import Argument

__all__ = ["DLDataType", "DLTensor", "Describer", "converter", "dtype_of"]


class DLDataType(ctypes.Structure):
    """DLPack's element type."""

    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class DLTensor(ctypes.Structure):
    """DLPack's description of memory."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


def _data_type(d: dtypes.dtype) -> DLDataType:
    return DLDataType(type_code(d), d.itemsize * 8, 1)


def dtype_of(array: Any) -> dtypes.dtype:
    """The dtype of an array of a backend."""
    return from_numpy_dtype(np.dtype(array.dtype))


class Describer:
    """Describes the arrays of a backend.

    Parameters
    ----------
    backend
        The backend; `address` and `index_of` say where an array is.
    """

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self.device_type = getattr(backend, "dlpack_type", DL_CPU)

    def tensor(self, array: Any, shape: tuple[int, ...] | None) -> DLTensor:
        """An array's description; with a shape, as it is broadcast to it."""
        size = array.itemsize
        own = [stride // size for stride in array.strides]
        if shape is None:
            shape = tuple(array.shape)
        else:
            missing = len(shape) - array.ndim
            own = [0] * missing + [0 if n == 1 else stride for n, stride in zip(array.shape, own, strict=True)]
        kind = ctypes.c_int64 * len(shape)
        described = DLTensor(
            self.backend.address(array), self.device_type, self.backend.index_of(array) or 0, len(shape),
            _data_type(dtype_of(array)), kind(*shape), kind(*own), 0,
        )  # fmt: skip
        described._array = array  # alive for as long as its description is
        return described

    def pointer(self, array: Any, shape: tuple[int, ...] | None) -> Any:
        """A pointer to an array's description; NULL for None."""
        return None if array is None else ctypes.byref(self.tensor(array, shape))

    def one(self, value: Any, shape: Any) -> list[Any]:
        """The converter of a tensor."""
        return [self.pointer(value, shape)]

    def several(self, values: Any, shape: Any) -> list[Any]:
        """The converter of a list of tensors, which are not broadcast."""
        described = [ctypes.pointer(self.tensor(value, None)) if value is not None else None for value in values or ()]
        kind = ctypes.POINTER(DLTensor) * len(described)
        return [kind(*(pointer or ctypes.POINTER(DLTensor)() for pointer in described)), ctypes.c_int64(len(described))]


_C_NUMBERS: dict[str, Any] = {
    "int": ctypes.c_int64, "float": ctypes.c_double, "Scalar": ctypes.c_double, "bool": ctypes.c_int32
}  # fmt: skip


def converter(argument: Argument, describer: Describer, who: str) -> Callable[[Any, Any], list[Any]] | None:
    """(value, shape to broadcast to) -> what the function gets for an argument; None where there is no way.

    Parameters
    ----------
    who
        The function, for the NotImplementedError about numbers that do not fit a double.
    """
    if argument.is_tensor:
        return describer.several if argument.is_list else describer.one
    if argument.type == "str":
        return lambda value, shape: [ctypes.c_char_p(None if value is None else value.encode())]
    if argument.type == "ScalarType":
        return lambda value, shape: [None if value is None else ctypes.byref(_data_type(value))]
    kind = _C_NUMBERS.get(argument.type)
    if kind is None:
        return None
    if argument.is_list:
        return lambda value, shape: _numbers(kind, value)
    if argument.optional:
        return lambda value, shape: [None if value is None else ctypes.byref(_number(kind, value, who))]
    return lambda value, shape: [_number(kind, value, who)]


def _number(kind: Any, value: Any, who: str) -> Any:
    if kind is ctypes.c_double and (isinstance(value, complex) or float(value) != value == value):
        raise NotImplementedError(f"{who} takes real numbers that fit a double, not {value!r}")
    return kind(value)


def _numbers(kind: Any, values: Sequence[Any]) -> list[Any]:
    """A C array and its length; NULL and 0 for None."""
    if values is None:
        return [ctypes.POINTER(kind)(), ctypes.c_int64(0)]
    items = (values,) if isinstance(values, (bool, int, float)) else values
    return [(kind * len(items))(*items), ctypes.c_int64(len(items))]
