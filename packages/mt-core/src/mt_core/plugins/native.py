"""Kernels written in C, or in anything that exports C functions: found in a shared library, entered for a backend.

``mt_core/native/mt_kernel.h`` says what a function must look like; `header_folder` is where a compiler finds it, and
``docs/native-kernels.md`` walks through an example. Buffers cross as DLPack structures, numbers and lists of numbers as
plain C values, errors as a status with a message; the library is called without Python's global lock.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import dtypes
from ..devices import backend_key
from ..dispatch.kernel import Accepts
from ..dispatch.lookup import backend_for
from ..dispatch.registry import SHAPE_RULES, Overload, find_overload, load_family, register_kernel
from ..dlpack import DL_CPU, type_code
from ..dtypes import from_numpy_dtype
from ..keys import META
from ..meta_array import MetaArray
from ..schema import Argument
from ..tensor import new_tensor
from .errors import PluginError

__all__ = ["ABI", "NativeKernel", "header_folder", "load_native"]

#: Version of the C interface; a library built for another is refused.
ABI = 1
_MESSAGE_SIZE = 1024
_NOT_IMPLEMENTED = 2
#: The kinds of operators that a library may have kernels for: those whose kernels return fresh arrays.
_KINDS = ("elementwise", "plain")


def header_folder() -> Path:
    """The folder of ``mt_kernel.h``, for ``cc -I``."""
    return Path(__file__).parents[1] / "native"


class NativeKernel:
    """How an exported function takes part.

    Parameters
    ----------
    symbol
        Its name in the library.
    dtypes
        Names of the dtypes that every tensor argument may have, or argument name -> names.
    layout : {"any", "row_major"}
        "row_major" where it reads tensors without looking at their strides: others are copied first.
    result
        Of an elementwise operator, the name of the result's dtype; by default that of the first tensor.
    """

    def __init__(
        self, symbol: str, dtypes: Collection[str] | Mapping[str, Collection[str]], layout: str = "any",
        result: str | None = None,
    ) -> None:  # fmt: skip
        if layout not in ("any", "row_major"):
            raise ValueError(f"a kernel's layout is 'any' or 'row_major', not {layout!r}")
        if isinstance(dtypes, str):
            raise TypeError(f"dtypes must be a collection of names, not the name {dtypes!r}")
        self.symbol = symbol
        self.dtypes = dtypes
        self.layout = layout
        self.result = result


def load_native(path: str | os.PathLike[str], table: Mapping[str, NativeKernel], device_type: str = "cpu") -> list[str]:
    """Load a shared library and register its functions as kernels of a backend; returns the names of the operators.

    Parameters
    ----------
    path
        The library.
    table
        Overload -> function: ``{"add.Tensor": NativeKernel("toy_add_f32", dtypes=("float32",))}``.
    device_type
        The backend whose arrays it computes on. Its `address` must be one that the library can use.

    Raises
    ------
    PluginError
        Where the library cannot be loaded, was built for another version of the interface, or lacks a function; and for
        operators that a library cannot have kernels for. Nothing is registered then.
    """
    library = _open(path)
    key = backend_key(device_type)
    kernels = {name: _Call(library, os.fspath(path), name, entry, key) for name, entry in table.items()}
    for name, kernel in kernels.items():
        register_kernel(key, (name,), kernel, accepts=kernel.accepts(), half="native")
    return list(kernels)


def _open(path: str | os.PathLike[str]) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(os.fspath(path))
    except OSError as error:
        raise PluginError(f"the library of kernels {os.fspath(path)} cannot be loaded: {error}") from None
    version = getattr(library, "mt_kernel_abi", None)
    if version is None:
        raise PluginError(
            f"{os.fspath(path)} does not say for which kernel interface it was built: add MT_KERNEL_LIBRARY to it"
        )
    if version() != ABI:
        raise PluginError(
            f"{os.fspath(path)} was built for version {version()} of the kernel interface, and this mt-core speaks "
            f"version {ABI}: build it again with {header_folder() / 'mt_kernel.h'}"
        )
    return library


# What crosses


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


def _numbers(kind: Any, values: Sequence[Any]) -> list[Any]:
    """A C array and its length; NULL and 0 for None."""
    if values is None:
        return [ctypes.POINTER(kind)(), ctypes.c_int64(0)]
    items = (values,) if isinstance(values, (bool, int, float)) else values
    return [(kind * len(items))(*items), ctypes.c_int64(len(items))]


_C_NUMBERS: dict[str, Any] = {
    "int": ctypes.c_int64, "float": ctypes.c_double, "Scalar": ctypes.c_double, "bool": ctypes.c_int32
}  # fmt: skip


class _Call:
    """A kernel: it hands the arguments over, calls the function, and returns the arrays that it has filled.

    Raises
    ------
    NotImplementedError, RuntimeError
        As the function's status says, with its message; NotImplementedError for tensors of other dtypes, and for
        numbers that do not fit C's.
    """

    def __init__(self, library: ctypes.CDLL, path: str, name: str, entry: NativeKernel, key: int) -> None:
        self.overload = _overload(name)
        self.entry = entry
        self.path = path
        self.backend = backend_for(key)
        self.device_type = getattr(self.backend, "dlpack_type", DL_CPU)
        self.message = f"{entry.symbol} of {path}"
        self.elementwise = self.overload.declaration.kind == "elementwise"
        function = getattr(library, entry.symbol, None)
        if function is None:
            raise PluginError(f"{path} has no function {entry.symbol}, which is to be the kernel of {name}")
        function.restype = ctypes.c_int32
        self.function = function
        self.converters = [self._converter(argument) for argument in self.overload.schema.arguments]
        self.allowed = self._allowed()

    def __call__(self, *args: Any) -> Any:
        arrays = [self._checked(a, v) for a, v in zip(self.overload.schema.arguments, args, strict=True)]
        specs = self._results(arrays)
        shape = specs[0][0] if self.elementwise else None
        passed: list[Any] = []
        for convert, value in zip(self.converters, arrays, strict=True):
            passed += convert(value, shape)
        index = self._index(arrays)
        outputs = [self.backend.empty(shape, d, None, index) for shape, d in specs]
        passed += [ctypes.byref(self._tensor(output, None)) for output in outputs]
        self._run(passed)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _run(self, passed: list[Any]) -> None:
        message = ctypes.create_string_buffer(_MESSAGE_SIZE)
        status = self.function(*passed, message, ctypes.c_size_t(_MESSAGE_SIZE))
        if status:
            text = message.value.decode("utf-8", "replace") or f"{self.message} failed with status {status}"
            raise NotImplementedError(text) if status == _NOT_IMPLEMENTED else RuntimeError(text)

    def accepts(self) -> Accepts:
        """What the dispatcher asks before it calls: other tensors go to the next kernel of the operator."""
        if isinstance(self.entry.dtypes, Mapping):
            return Accepts(dtypes=self.allowed)
        return Accepts(dtypes=[getattr(dtypes, name) for name in self.entry.dtypes])

    # Arguments

    def _allowed(self) -> dict[str, frozenset[Any]]:
        """Argument -> the dtypes that it may have, for those that are restricted."""
        wanted, tensors = self.entry.dtypes, [a.name for a in self.overload.schema.arguments if a.is_tensor]
        per_argument = wanted if isinstance(wanted, Mapping) else dict.fromkeys(tensors, wanted)
        unknown = sorted(set(per_argument) - set(tensors))
        if unknown:
            raise PluginError(f"{self.overload.name} has no tensor argument {', '.join(unknown)}")
        return {name: frozenset(getattr(dtypes, d) for d in names) for name, names in per_argument.items()}

    def _checked(self, argument: Argument, value: Any) -> Any:
        """An argument with arrays of a dtype and layout that the function takes."""
        if not argument.is_tensor or value is None:
            return value
        if argument.is_list:
            return [self._checked_array(argument.name, item) for item in value]
        return self._checked_array(argument.name, value)

    def _checked_array(self, name: str, value: Any) -> Any:
        if value is None or isinstance(value, (bool, int, float, complex)):
            return value  # a number in a tensor's place takes the dtype of the tensors
        d = self._dtype(value)
        allowed = self.allowed.get(name)
        if allowed is not None and d not in allowed:
            names = ", ".join(sorted(a.name for a in allowed))
            raise NotImplementedError(f"{self.message} takes {name} of {names}, not {d.name}")
        return self.backend.contiguous(value) if self.entry.layout == "row_major" else value

    def _dtype(self, array: Any) -> dtypes.dtype:
        return from_numpy_dtype(np.dtype(array.dtype))

    def _converter(self, argument: Argument) -> Callable[[Any, Any], list[Any]]:
        """(value, shape to broadcast to) -> what the function gets for an argument."""
        if argument.is_tensor:
            return self._tensors if argument.is_list else self._one_tensor
        if argument.type == "str":
            return lambda value, shape: [ctypes.c_char_p(None if value is None else value.encode())]
        if argument.type == "ScalarType":
            return lambda value, shape: [None if value is None else ctypes.byref(_data_type(value))]
        kind = _C_NUMBERS.get(argument.type)
        if kind is None:
            raise PluginError(
                f"{self.overload.name} takes a {argument.type} ({argument.name}), which the C interface has no way to "
                "hand over"
            )
        if argument.is_list:
            return lambda value, shape: _numbers(kind, value)
        if argument.optional:
            return lambda value, shape: [None if value is None else ctypes.byref(self._number(kind, value))]
        return lambda value, shape: [self._number(kind, value)]

    def _number(self, kind: Any, value: Any) -> Any:
        if kind is ctypes.c_double and (isinstance(value, complex) or float(value) != value == value):
            raise NotImplementedError(f"{self.message} takes real numbers that fit a double, not {value!r}")
        return kind(value)

    def _one_tensor(self, value: Any, shape: Any) -> list[Any]:
        return [None if value is None else ctypes.byref(self._tensor(value, shape))]

    def _tensors(self, values: Any, shape: Any) -> list[Any]:
        described = [ctypes.pointer(self._tensor(value, None)) if value is not None else None for value in values]
        kind = ctypes.POINTER(DLTensor) * len(described)
        return [kind(*(pointer or ctypes.POINTER(DLTensor)() for pointer in described)), ctypes.c_int64(len(described))]

    def _tensor(self, array: Any, shape: tuple[int, ...] | None) -> DLTensor:
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
            _data_type(self._dtype(array)), kind(*shape), kind(*own), 0,
        )  # fmt: skip
        described._array = array  # alive for as long as its description is
        return described

    # Results

    def _results(self, arrays: list[Any]) -> list[tuple[tuple[int, ...], dtypes.dtype]]:
        """(shape, dtype) of each result."""
        if self.elementwise:
            return [self._broadcast(arrays)]
        found = SHAPE_RULES[self.overload.name](*(self._described(value) for value in arrays))
        return [(spec.shape, spec.dtype) for spec in (found if isinstance(found, (tuple, list)) else (found,))]

    def _broadcast(self, arrays: list[Any]) -> tuple[tuple[int, ...], dtypes.dtype]:
        operands = [i for i, argument in enumerate(self.overload.schema.arguments) if argument.is_tensor]
        present = [arrays[i] for i in operands if isinstance(arrays[i], self.backend.array_type)]
        d = self._dtype(present[0])
        for i in operands:
            if isinstance(arrays[i], (bool, int, float, complex)):
                arrays[i] = self.backend.from_host(np.asarray(arrays[i], d.numpy_dtype), d, None)
        shape = np.broadcast_shapes(*(array.shape for array in present))
        return shape, d if self.entry.result is None else getattr(dtypes, self.entry.result)

    def _described(self, value: Any) -> Any:
        """A tensor of the meta device for an array, as shape rules take them."""
        if isinstance(value, self.backend.array_type):
            return new_tensor(MetaArray(tuple(value.shape), value.dtype, value.strides), self._dtype(value), META)
        if isinstance(value, list):
            return [self._described(item) for item in value]
        return value

    def _index(self, arrays: list[Any]) -> int | None:
        flat = [item for value in arrays for item in (value if isinstance(value, list) else (value,))]
        return next((self.backend.index_of(a) for a in flat if isinstance(a, self.backend.array_type)), None)


def _overload(name: str) -> Overload:
    try:
        overload = find_overload(name)
        kind = overload.declaration.kind
    except KeyError:
        raise PluginError(f"there is no operator {name}") from None
    load_family("mt_core.shape_rules", overload.family)
    if kind not in _KINDS or overload.schema.is_mutable or (kind == "plain" and name not in SHAPE_RULES):
        raise PluginError(
            f"{name} is {kind}: native kernels are for elementwise and plain operators that write nothing"
        )
    return overload
