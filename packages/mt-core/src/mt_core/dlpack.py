"""DLPack capsules: how array libraries hand memory to one another without a copy.

NumPy makes and takes the capsules; the element types that it lacks (bfloat16, float8, complex32) pass through it as
unsigned integers of their width, and the type's code is written into the capsule, or read out of it, here.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from . import dtypes
from .dtypes import dtype
from .keys import AUTOGRAD, CONJUGATE, NEGATIVE

__all__ = ["capsule_of", "device_of", "from_capsule", "request_capsule"]

DL_CPU = 1
_DEVICE_TYPES = {"cpu": DL_CPU, "cuda": 2}
_UINT_CODE = 1
#: Codes of DLPack's ``DLDataTypeCode`` that NumPy does not know, and complex, of which it knows only two widths.
_CODES = {
    dtypes.bfloat16: 4, dtypes.complex32: 5, dtypes.float8_e4m3fn: 10, dtypes.float8_e4m3fnuz: 11,
    dtypes.float8_e5m2: 12, dtypes.float8_e5m2fnuz: 13, dtypes.float8_e8m0fnu: 14,
}  # fmt: skip
_FOREIGN = {(code, d.itemsize * 8): d for d, code in _CODES.items()}
_UNSIGNED = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16), 4: np.dtype(np.uint32)}

#: Name of a capsule -> where its ``DLTensor`` begins.
_TENSOR_OFFSETS = {b"dltensor": 0, b"dltensor_versioned": 32}
#: Where a ``DLTensor`` keeps the device type, and the code and width of its elements.
_DEVICE_OFFSET, _CODE_OFFSET, _BITS_OFFSET = 8, 20, 21


class _CapsuleFunctions:
    """The three functions of Python's C interface that read a capsule."""

    def __init__(self) -> None:
        api = ctypes.pythonapi
        self.name = api.PyCapsule_GetName
        self.name.restype, self.name.argtypes = ctypes.c_char_p, [ctypes.py_object]
        self.pointer = api.PyCapsule_GetPointer
        self.pointer.restype, self.pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


_capsule = _CapsuleFunctions()


def device_of(tensor: Any) -> tuple[int, int]:
    """(DLPack's device type, index) of a tensor.

    Raises
    ------
    ValueError
        For devices that DLPack does not know.
    """
    place = tensor.device
    if place.type not in _DEVICE_TYPES:
        raise ValueError(f"Unknown device type {place.type} for Dlpack")
    return _DEVICE_TYPES[place.type], place.index or 0


def capsule_of(tensor: Any, max_version: tuple[int, int] | None = None) -> Any:
    """A capsule on a CPU tensor's memory, which it keeps alive.

    Raises
    ------
    BufferError
        For tensors that require grad, have lazy bits, lie elsewhere, or have a dtype that DLPack lacks.
    """
    _check_exportable(tensor)
    d, array = tensor.dtype, tensor._array
    versions = {"max_version": max_version} if max_version is not None and _numpy_knows_versions() else {}
    code = _CODES.get(d)
    if code is None:
        return array.__dlpack__(**versions)
    capsule = array.view(_UNSIGNED[d.itemsize]).__dlpack__(**versions)
    _bytes_at(_tensor_address(capsule) + _CODE_OFFSET)[0] = code
    return capsule


def _check_exportable(tensor: Any) -> None:
    if tensor._keys & AUTOGRAD:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if tensor._keys & CONJUGATE:
        raise BufferError("Can't export tensors with the conjugate bit set")
    if tensor._keys & NEGATIVE:
        raise BufferError("Can't export tensors with the negative bit set")
    if not tensor.is_cpu:
        raise BufferError(f"Cannot pack tensors on {tensor.device}")
    d = tensor.dtype
    if d not in _CODES and not (d.native or d is dtypes.float16):
        raise BufferError(f"{d!r} is not supported by dlpack")


def _numpy_knows_versions() -> bool:
    return np.lib.NumpyVersion(np.__version__) >= "2.1.0"


def request_capsule(producer: Any) -> Any:
    """The capsule of an object with ``__dlpack__``, versioned if it can be."""
    try:
        return producer.__dlpack__(max_version=(1, 0))
    except TypeError:  # from before versions
        return producer.__dlpack__()


class _Producer:
    """Hands one capsule to `numpy.from_dlpack`."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return DL_CPU, 0


def from_capsule(capsule: Any) -> tuple[np.ndarray, dtype]:
    """(array on the capsule's memory, dtype of its elements). A capsule can be taken once.

    Raises
    ------
    RuntimeError
        If it is no capsule of DLPack, or was taken before.
    BufferError
        If the memory is not the CPU's, or the element type has no dtype here.
    """
    address = _tensor_address(capsule)
    device_type = ctypes.c_int32.from_address(address + _DEVICE_OFFSET).value
    if device_type != DL_CPU:
        raise BufferError(f"DLPack memory of device type {device_type} cannot be used: only the CPU's (1) can")
    code, bits = _bytes_at(address + _CODE_OFFSET)[0], _bytes_at(address + _BITS_OFFSET)[0]
    foreign = _FOREIGN.get((code, bits))
    if foreign is not None:
        _bytes_at(address + _CODE_OFFSET)[0] = _UINT_CODE
    try:
        array = np.from_dlpack(_Producer(capsule))
    except RuntimeError as error:
        raise BufferError(f"DLPack elements of code {code} and {bits} bits are not supported: {error}") from error
    array = _writable(array, versioned=_is_versioned(capsule))
    return (array, dtypes.from_numpy_dtype(array.dtype)) if foreign is None else (array.view(foreign.np), foreign)


def _tensor_address(capsule: Any) -> int:
    name = _capsule.name(capsule) if type(capsule).__name__ == "PyCapsule" else None
    if name not in _TENSOR_OFFSETS:
        raise RuntimeError(
            "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you "
            "might "
            "have already constructed a tensor from it once."
        )
    return _capsule.pointer(capsule, name) + _TENSOR_OFFSETS[name]


def _is_versioned(capsule: Any) -> bool:
    return _capsule.name(capsule) == b"used_dltensor_versioned"


def _bytes_at(address: int) -> Any:
    return (ctypes.c_uint8 * 1).from_address(address)


class _Memory:
    """Shows the memory of an array as writable, and keeps the array alive."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        interface = array.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


def _writable(array: np.ndarray, versioned: bool) -> np.ndarray:
    # Capsules without a version cannot say that they are read-only, and older NumPy takes them all to be.
    return array if array.flags.writeable or versioned else np.asarray(_Memory(array))
