"""DLPack capsules: how array libraries hand memory to one another without a copy.

Memory of the host: NumPy makes and takes the capsules; the element types that it lacks (bfloat16, float8, complex32)
pass through it as unsigned integers of their width, and the type's code is written into the capsule, or read out of
it, here.

Memory of a device: its backend makes and takes them. A backend that can has three more attributes (see `Backend`):
``dlpack_type``, DLPack's number of the device type; ``to_dlpack(array, dtype, max_version)``, a capsule; and
``from_dlpack(capsule, index)``, the array on a capsule's memory and its dtype. In which order the two libraries'
streams may touch the memory is settled here, by the backend's runtime.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import Any

import numpy as np

from . import dtypes
from .dtypes import dtype
from .hollow import within_reach
from .keys import AUTOGRAD, CONJUGATE, NEGATIVE
from .plugins import discovery
from .plugins.runtime_access import count_devices, has_part, require

__all__ = [
    "DLDeviceType", "capsule_of", "device_of", "from_capsule", "host_array", "host_capsule", "order_export",
    "request_capsule",
]  # fmt: skip


class DLDeviceType(IntEnum):
    """DLPack's numbers of the types of devices."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


DL_CPU = DLDeviceType.kDLCPU
_NUMBERS = frozenset(DLDeviceType)
#: Page-locked memory of the host, which the CPU reads as any other.
_DL_HOST = (DL_CPU, 3, 11)
#: DLPack's numbers of the device types that it names after PyTorch's; other backends say theirs when they are loaded.
_NAMED_TYPES = {"cuda": 2, "mps": 8, "xpu": 14}
#: DLPack's number of a device type -> that of its default stream, where the driver's 0 is not allowed.
_DEFAULT_STREAMS = {2: 1}
_UINT_CODE = 1
#: Codes of DLPack's ``DLDataTypeCode`` that NumPy does not know, and complex, of which it knows only two widths.
_CODES = {
    dtypes.bfloat16: 4, dtypes.complex32: 5, dtypes.float8_e4m3fn: 10, dtypes.float8_e4m3fnuz: 11,
    dtypes.float8_e5m2: 12, dtypes.float8_e5m2fnuz: 13, dtypes.float8_e8m0fnu: 14,
}  # fmt: skip
_FOREIGN = {(code, d.itemsize * 8): d for d, code in _CODES.items()}
_UNSIGNED: dict[int, np.dtype] = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16), 4: np.dtype(np.uint32)}

#: Name of a capsule -> where its ``DLTensor`` begins.
_TENSOR_OFFSETS = {b"dltensor": 0, b"dltensor_versioned": 32}
#: Where a ``DLTensor`` keeps the device type, and the code and width of its elements.
_DEVICE_OFFSET, _INDEX_OFFSET, _CODE_OFFSET, _BITS_OFFSET = 8, 12, 20, 21


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
    if tensor.is_cpu:
        return DL_CPU, 0
    place = tensor.device
    number = getattr(tensor._backend, "dlpack_type", None)
    if number is None:
        raise ValueError(f"Unknown device type {place.type} for Dlpack")
    return DLDeviceType(number) if number in _NUMBERS else number, place.index or 0


def capsule_of(tensor: Any, max_version: tuple[int, int] | None = None) -> Any:
    """A capsule on a tensor's memory, which it keeps alive.

    Raises
    ------
    BufferError
        For tensors that require grad, have lazy bits, lie where memory cannot be handed over, or have a dtype that
        DLPack lacks.
    """
    _check_exportable(within_reach(tensor))
    if tensor.is_cpu:
        return host_capsule(tensor._array, tensor.dtype, max_version)
    return tensor._backend.to_dlpack(tensor._array, tensor.dtype, max_version)


def host_capsule(
    array: np.ndarray, d: dtype, max_version: tuple[int, int] | None, place: tuple[int, int] = (DL_CPU, 0)
) -> Any:
    """A capsule on memory that NumPy can address, said to lie at `place` (DLPack's device type, index)."""
    versions: Any = {"max_version": max_version} if max_version is not None and _numpy_knows_versions() else {}
    code: Any = _CODES.get(d)
    capsule = (array if code is None else array.view(_UNSIGNED[d.itemsize])).__dlpack__(**versions)
    address = _tensor_address(capsule)
    if code is not None:
        _bytes_at(address + _CODE_OFFSET)[0] = code
    _write_place(address, place)
    return capsule


def _write_place(address: int, place: tuple[int, int]) -> None:
    ctypes.c_int32.from_address(address + _DEVICE_OFFSET).value = place[0]
    ctypes.c_int32.from_address(address + _INDEX_OFFSET).value = place[1]


def order_export(tensor: Any, stream: int | None) -> None:
    """Let the consumer's stream of a device wait for the current one, which may still be writing what is handed over.

    Parameters
    ----------
    stream
        Address of the consumer's stream; None is the default stream, -1 asks for no order.
    """
    place = tensor.device
    if stream == -1 or not has_part(place.type, "streams"):
        return
    runtime = require(place.type, "streams", "Tensor.__dlpack__")
    index = place.index or 0
    current = runtime.current_stream(index)
    consumer = runtime.default_stream(index) if stream is None else runtime.external_stream(stream, index)
    if consumer.native != current.native:
        event = runtime.event(index, False, False, False)
        event.record(current)
        consumer.wait(event)


def _check_exportable(tensor: Any) -> None:
    if tensor._keys & AUTOGRAD:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if tensor._keys & CONJUGATE:
        raise BufferError("Can't export tensors with the conjugate bit set")
    if tensor._keys & NEGATIVE:
        raise BufferError("Can't export tensors with the negative bit set")
    if not (tensor.is_cpu or hasattr(tensor._backend, "to_dlpack")):
        raise BufferError(f"Cannot pack tensors on {tensor.device}")
    d = tensor.dtype
    if d not in _CODES and not (d.native or d is dtypes.float16):
        raise BufferError(f"{d!r} is not supported by dlpack")


def _numpy_knows_versions() -> bool:
    return np.lib.NumpyVersion(np.__version__) >= "2.1.0"


def request_capsule(producer: Any) -> Any:
    """The capsule of an object with ``__dlpack__``, versioned if it can be, ordered before our current stream."""
    stream = _current_stream(producer)
    try:
        return producer.__dlpack__(max_version=(1, 0), **stream)
    except TypeError:  # from before versions
        return producer.__dlpack__(**stream)


def _current_stream(producer: Any) -> dict[str, int]:
    """The argument that tells a producer on one of our devices which stream is going to read its memory."""
    if not hasattr(producer, "__dlpack_device__"):
        return {}
    number, index = producer.__dlpack_device__()
    kind = None if number in _DL_HOST else _device_type(int(number))
    if kind is None or not has_part(kind, "streams"):
        return {}
    native = require(kind, "streams", "torch.from_dlpack").current_stream(int(index)).native
    return {"stream": native or _DEFAULT_STREAMS.get(int(number), native)}


def _device_type(number: int) -> str | None:
    """The device type whose backend takes DLPack memory of a type; None when there is none."""
    for kind in discovery.backend_entry_points():
        known = _NAMED_TYPES.get(kind)
        if known not in (None, number) or not count_devices(kind):
            continue
        backend = discovery.find_backend(kind)
        if getattr(backend, "dlpack_type", None) == number and hasattr(backend, "from_dlpack"):
            return kind
    return None


class _Producer:
    """Hands one capsule to `numpy.from_dlpack`."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return DL_CPU, 0


def from_capsule(capsule: Any) -> tuple[Any, dtype, str]:
    """(array on the capsule's memory, dtype of its elements, device type). A capsule can be taken once.

    Raises
    ------
    RuntimeError
        If it is no capsule of DLPack, or was taken before.
    BufferError
        If no backend takes such memory, or the element type has no dtype here.
    """
    address = _tensor_address(capsule)
    number = ctypes.c_int32.from_address(address + _DEVICE_OFFSET).value
    if number in _DL_HOST:
        return (*host_array(capsule), "cpu")
    kind = _device_type(number)
    if kind is None:
        raise BufferError(
            f"DLPack memory of device type {number} cannot be used: only the CPU's ({DL_CPU}) and that of installed "
            f"backends can"
        )
    index = ctypes.c_int32.from_address(address + _INDEX_OFFSET).value
    return (*discovery.find_backend(kind).from_dlpack(capsule, index), kind)


def host_array(capsule: Any) -> tuple[np.ndarray, dtype]:
    """(array on a capsule's memory, dtype of its elements), for memory that NumPy can address.

    Raises
    ------
    RuntimeError, BufferError
        As `from_capsule`.
    """
    address = _tensor_address(capsule)
    code, bits = _bytes_at(address + _CODE_OFFSET)[0], _bytes_at(address + _BITS_OFFSET)[0]
    foreign = _FOREIGN.get((code, bits))
    if foreign is not None:
        _bytes_at(address + _CODE_OFFSET)[0] = _UINT_CODE
    _write_place(address, (DL_CPU, 0))
    try:
        array = np.from_dlpack(_Producer(capsule))
    except RuntimeError as error:
        raise BufferError(f"DLPack elements of code {code} and {bits} bits are not supported: {error}") from error
    array = _writable(array, versioned=_is_versioned(capsule))
    return (
        (array, dtypes.from_numpy_dtype(array.dtype)) if foreign is None else (array.view(foreign.numpy_dtype), foreign)
    )


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


def type_code(d: dtype) -> int:
    """DLPack's code of an element type (``DLDataTypeCode``)."""
    code = _CODES.get(d)
    return {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}[d.numpy_dtype.kind] if code is None else code
