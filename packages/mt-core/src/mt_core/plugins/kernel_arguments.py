"""Arguments of kernels of one's own in their C types: declared once (``argtypes``), or by the wrapper of each value.

What every device checks of them stands here too: where tensors lie (`address_of`, `common_index`), whose a stream is.

A C function takes an integer, a float and a double in different places and widths, and cannot tell what it was given.
A Python number has no C type, so none is guessed.
"""

from __future__ import annotations

import ctypes
import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy

from ..dtypes import bfloat16
from ..dtypes import dtype as DType
from ..keys import CONJUGATE, NEGATIVE
from ..tensor import Tensor
from . import runtime_access

__all__ = [
    "CType", "HalfType", "Passed", "Struct", "Typed", "address_of", "bf16", "boolean", "common_index", "f16", "f32",
    "f64", "i8", "i16", "i32", "i64", "passed", "stream_handle", "struct", "tensor", "u8", "u16", "u32", "u64",
]  # fmt: skip


class CType:
    """A C type of numbers: ``u32(5)`` is the number 5 as a ``uint32_t``.

    Parameters
    ----------
    name, c_name
        The wrapper's name, and C's.
    kind
        ``i``, ``u``, ``f`` or ``b``: signed, unsigned, floating, bool.
    """

    def __init__(self, name: str, c_name: str, kind: str, ctype: Any) -> None:
        self.name, self.c_name, self.kind, self.ctype = name, c_name, kind, ctype
        self.size = ctypes.sizeof(ctype)

    def __repr__(self) -> str:
        return self.name

    def __call__(self, value: Any) -> Typed:
        """A value of this type.

        Raises
        ------
        TypeError, OverflowError
            When the value is no number of the kind, or does not fit.
        """
        return Typed(self, self._checked(value))

    def _checked(self, value: Any) -> Any:
        if self.kind == "b":
            if not isinstance(value, (bool, numpy.bool_)):
                raise TypeError(f"{self.name} takes a bool, not {type(value).__name__}")
            return bool(value)
        if self.kind == "f":
            return self._floating(value)
        try:
            number = operator.index(value)
        except TypeError:
            raise TypeError(f"{self.name} ({self.c_name}) takes a whole number, not {value!r}") from None
        bits = 8 * self.size
        low, high = (0, 1 << bits) if self.kind == "u" else (-(1 << bits - 1), 1 << bits - 1)
        if not low <= number < high:
            raise OverflowError(f"{number} does not fit in {self.name} ({self.c_name}): {low} to {high - 1}")
        return number

    def _floating(self, value: Any) -> float:
        if isinstance(value, (bool, str, bytes, Tensor)):
            raise TypeError(f"{self.name} ({self.c_name}) takes a number, not {type(value).__name__}")
        number = float(value)
        if self.size == 4 and math.isfinite(number) and math.isinf(self.ctype(number).value):
            raise OverflowError(f"{number} does not fit in {self.name} ({self.c_name})")
        return number


class HalfType(CType):
    """A half type: the number is rounded to nearest, ties to even (to bfloat16 by way of float), and passed as 16 bits.

    Only kernels whose arguments lie in memory take one by value. Functions of C take a half in a floating register,
    which ctypes cannot fill with 16 bits.
    """

    def __init__(self, name: str, c_name: str, stored: Any) -> None:
        super().__init__(name, c_name, "f", ctypes.c_uint16)
        self.stored = numpy.dtype(stored)

    def _floating(self, value: Any) -> int:
        if isinstance(value, (bool, str, bytes, Tensor)):
            raise TypeError(f"{self.name} ({self.c_name}) takes a number, not {type(value).__name__}")
        number = float(value)
        with numpy.errstate(over="ignore"):
            rounded = numpy.array(number, numpy.float64).astype(self.stored)
        if math.isfinite(number) and not numpy.isfinite(rounded):
            raise OverflowError(f"{number} does not fit in {self.name} ({self.c_name})")
        return int(rounded.view(numpy.uint16))


class Typed(NamedTuple):
    """A number with its C type; of a half type, its bits."""

    ctype: CType
    value: Any


i8, u8 = CType("i8", "int8_t", "i", ctypes.c_int8), CType("u8", "uint8_t", "u", ctypes.c_uint8)
i16, u16 = CType("i16", "int16_t", "i", ctypes.c_int16), CType("u16", "uint16_t", "u", ctypes.c_uint16)
i32, u32 = CType("i32", "int32_t", "i", ctypes.c_int32), CType("u32", "uint32_t", "u", ctypes.c_uint32)
i64, u64 = CType("i64", "int64_t", "i", ctypes.c_int64), CType("u64", "uint64_t", "u", ctypes.c_uint64)
f32, f64 = CType("f32", "float", "f", ctypes.c_float), CType("f64", "double", "f", ctypes.c_double)
f16, bf16 = HalfType("f16", "half", numpy.float16), HalfType("bf16", "bfloat16_t", bfloat16.numpy_dtype)
boolean = CType("boolean", "bool", "b", ctypes.c_bool)


class Struct:
    """A struct that a kernel takes by value, such as tiling data: its bytes.

    The function that launches a kernel takes the struct's address in host memory, and copies it from there.
    """

    def __init__(self, data: bytes, alignment: int) -> None:
        self.size = len(data)
        self.alignment = alignment
        self.buffer = ctypes.create_string_buffer(data, max(len(data), 1))

    @property
    def address(self) -> int:
        return ctypes.addressof(self.buffer)


def struct(value: Any) -> Struct:
    """A struct argument, copied: of a ``ctypes.Structure``, of a NumPy record, or of bytes.

    Raises
    ------
    TypeError
        For anything else.
    """
    if isinstance(value, Struct):
        return value
    if isinstance(value, (ctypes.Structure, ctypes.Union, ctypes.Array)):
        return Struct(bytes(value), ctypes.alignment(value))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return Struct(bytes(value), 8)
    if isinstance(value, (numpy.void, numpy.ndarray)) and value.dtype.names is not None and value.ndim == 0:
        return Struct(value.tobytes(), max(value.dtype.alignment, 1))
    raise TypeError(
        f"struct() takes a ctypes.Structure, a NumPy record or bytes, not {type(value).__name__}: a kernel's struct is "
        "laid out as C lays it out"
    )


class TensorMark:
    """In ``argtypes``: a tensor of any dtype (``GM_ADDR``). A dtype, or a tuple of dtypes, narrows it."""

    def __repr__(self) -> str:
        return "tensor"


tensor = TensorMark()


def address_of(value: Any, device_type: str) -> int:
    """The address of a tensor's first element, as kernels take it: all 64 bits; 0 without elements.

    Raises
    ------
    TypeError
        If it is no tensor.
    ValueError
        When it does not lie on the device type, or not row by row: kernels see an address, no strides.
    """
    if not isinstance(value, Tensor):
        raise TypeError(f"a tensor is needed, not {type(value).__name__}")
    if value.device.type != device_type:
        raise ValueError(
            f"kernels of device '{device_type}' cannot read a tensor on '{value.device}': use .to('{device_type}')"
        )
    if value._keys & (CONJUGATE | NEGATIVE):
        raise ValueError("the tensor is a lazy conjugate or negative: use .resolve_conj().resolve_neg()")
    if not value.is_contiguous():
        raise ValueError(
            f"kernels read memory row by row, and a tensor of shape {tuple(value.shape)} with strides "
            f"{value.stride()} lies otherwise: use .contiguous()"
        )
    return int(value.data_ptr()) & ((1 << 64) - 1)


def common_index(tensors: Iterable[Tensor], device_type: str) -> int:
    """The index of the device that all tensors lie on; the current device's where there are none.

    Raises
    ------
    ValueError
        When they lie on several.
    """
    found = {t.device.index or 0 for t in tensors}
    if len(found) > 1:
        raise ValueError(f"a kernel runs on one device, and its tensors lie on {sorted(found)} of type '{device_type}'")
    return found.pop() if found else runtime_access.current_index(device_type)


def stream_handle(stream: Any, device_type: str, index: int) -> Any:
    """The runtime's handle of a ``torch.<device>.Stream``.

    Raises
    ------
    TypeError
        If it is no stream.
    ValueError
        When it is another device's.
    """
    handle = getattr(stream, "_handle", None)
    if handle is None:
        raise TypeError(f"a stream is a torch.{device_type}.Stream, not {type(stream).__name__}")
    if handle.device_index != index:
        raise ValueError(f"the tensors lie on device {index}, and the stream is of device {handle.device_index}")
    return handle


class Passed(NamedTuple):
    """An argument as C takes it: its type, its value, and what must outlive the kernel (a `Struct`, or None)."""

    ctype: Any
    value: Any
    kept: Struct | None
    tensor: Tensor | None


def passed(value: Any, declared: Any, where: str) -> Passed:
    """An argument by its declaration, or by its wrapper where that is None; `where` names it in errors.

    Raises
    ------
    TypeError, OverflowError
        When the value is not what was declared, or says too little of itself.
    """
    if declared is None:
        declared = _own_declaration(value, where)
    try:
        if isinstance(declared, CType):
            return _number(value, declared)
        if _is_tensor(declared):
            return _pointer(value, declared)
        if declared is struct:
            made = struct(value)
        elif isinstance(declared, type) and issubclass(declared, (ctypes.Structure, ctypes.Union)):
            if not isinstance(value, declared):
                raise TypeError(f"a {declared.__name__} is declared, not {type(value).__name__}")
            made = struct(value)
        else:
            raise TypeError(
                f"{declared!r} is no type of arguments: those are u32, f32 and the like, struct, a ctypes.Structure, "
                "tensor, dtypes"
            )
    except (TypeError, OverflowError) as error:
        raise type(error)(f"{where}: {error}") from None
    return Passed(ctypes.c_void_p, made.address, made, None)


def _is_tensor(declared: Any) -> bool:
    return (
        declared is tensor
        or isinstance(declared, DType)
        or isinstance(declared, tuple)
        and bool(declared)
        and all(isinstance(d, DType) for d in declared)
    )


def _own_declaration(value: Any, where: str) -> Any:
    if isinstance(value, Typed):
        return value.ctype
    if isinstance(value, (Struct, ctypes.Structure, ctypes.Union, numpy.void)):
        return struct
    if value is None or isinstance(value, Tensor):
        return tensor
    if isinstance(value, float):
        raise TypeError(
            f"{where}: a bare float may be meant as a float or as a double, which C takes in different widths; write "
            "f32(...) or f64(...), or declare argtypes"
        )
    if isinstance(value, (bool, int)):
        raise TypeError(
            f"{where}: a bare {type(value).__name__} has no C type, and where a float is meant the kernel would read "
            "something else; write u32(...), i64(...), f32(...) or the like, or declare argtypes"
        )
    raise TypeError(f"{where}: a {type(value).__name__} is no argument of a kernel")


def _number(value: Any, declared: CType) -> Passed:
    if isinstance(value, Typed):
        if value.ctype is not declared:
            raise TypeError(f"{declared} is declared, not {value.ctype}")
        return Passed(declared.ctype, value.value, None, None)
    return Passed(declared.ctype, declared(value).value, None, None)


def _pointer(value: Any, declared: Any) -> Passed:
    if value is None:
        return Passed(ctypes.c_void_p, None, None, None)
    if not isinstance(value, Tensor):
        raise TypeError(f"a tensor is declared, not {type(value).__name__}")
    wanted: Sequence[Any] = () if declared is tensor else declared if isinstance(declared, tuple) else (declared,)
    if wanted and value.dtype not in wanted:
        raise TypeError(f"a tensor of {' or '.join(map(repr, wanted))} is declared, not {value.dtype!r}")
    return Passed(ctypes.c_void_p, None, None, value)
