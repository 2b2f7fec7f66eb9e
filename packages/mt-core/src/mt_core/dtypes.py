"""Data types: PyTorch's names, their NumPy storage types, and the type-promotion lattice."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .state import settle

__all__ = [
    "dtype", "finfo", "iinfo", "from_numpy_dtype", "get_default_dtype", "promote_types", "saturated",
    "set_default_dtype",
    "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "bool", "float16", "float32",
    "float64", "complex32", "complex64", "complex128", "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn_x2", "quint8", "qint8", "qint32", "quint4x2",
    "quint2x4", "bits1x8", "bits2x4", "bits4x2", "bits8", "bits16", "int1", "int2", "int3", "int4", "int5", "int6",
    "int7", "uint1", "uint2", "uint3", "uint4", "uint5", "uint6", "uint7",
]  # fmt: skip


class dtype:
    """A tensor's element type. Instances are unique: compare with ``is`` or ``==``.

    Attributes
    ----------
    name : str
        PyTorch's name without ``torch.``.
    itemsize : int
        Bytes per element.
    numpy_dtype : numpy.dtype
        How a NumPy array holds its elements: ``ml_dtypes.bfloat16`` for bfloat16, pairs of halves for complex32.
        `ml_dtypes` is imported the first time one of its types is asked for.
    compute : dtype
        The type CPU kernels calculate in: itself, or float32 for the half and 8-bit floating types.
    native : bool
        Whether NumPy calculates in the type directly and correctly.
    native_float : bool
        `native`, and real or complex floating point: operators such as ``exp`` need no conversion.
    native_real, native_real_float : bool
        The same without the complex types.
    """

    __slots__ = (
        "name", "itemsize", "is_floating_point", "is_complex", "is_signed", "numpy_dtype", "compute", "native",
        "native_float", "native_real", "native_real_float", "is_integral", "category", "_storage",
    )  # fmt: skip

    def __init__(self, name: str, itemsize: int, kind: str, storage: Any, native: builtins.bool = True) -> None:
        self.name = name
        self.itemsize = itemsize
        self.is_floating_point = kind == "f"
        self.is_complex = kind == "c"
        self.is_integral = kind in "iu"
        if kind != "q":
            self.is_signed = kind in "ifc"
        self.category = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3, "q": 4}[kind]
        self.native = native
        self.native_float = native and kind in "fc"
        self.native_real = native and kind != "c"
        self.native_real_float = native and kind == "f"
        self.compute = self
        self._storage = storage
        if not isinstance(storage, str):
            self.numpy_dtype = np.dtype(storage)

    def __getattr__(self, attribute: str) -> Any:
        # `numpy_dtype` of the types that ml_dtypes stores is filled in on first use; quantized types have no sign.
        if attribute == "numpy_dtype":
            import ml_dtypes  # lazy: few programs use its types

            self.numpy_dtype = np.dtype(getattr(ml_dtypes, self._storage))
            return self.numpy_dtype
        if attribute == "is_signed":
            bits = self.name.startswith("bits")
            raise RuntimeError("Bits types are undefined" if bits else "isSignedType not supported for quantized types")
        raise AttributeError(f"'torch.dtype' object has no attribute '{attribute}'")

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name

    def __deepcopy__(self, memo: dict[int, Any]) -> dtype:
        return self

    def __copy__(self) -> dtype:
        return self

    @property
    def abbr(self) -> str:
        """A short name for texts of graphs: ``f32``, ``i64``, ``b8``; the whole name of types below a byte."""
        if self.name in ("bool", "bits8", "bits16"):
            return {"bool": "b8", "bits8": "b8x1", "bits16": "b16x1"}[self.name]
        kind = self.name
        for long, short in (("bfloat", "bf"), ("float", "f"), ("complex", "c"), ("bits", "b")):
            if kind.startswith(long):
                return short + kind.removeprefix(long).replace("_", "")
        whole_bytes = self.category == 1 and kind.lstrip("uint") in ("8", "16", "32", "64")
        return kind.replace("int", "" if kind.startswith("u") else "i") if whole_bytes else kind

    def to_real(self) -> dtype:
        """The type of the real part: float32 for complex64; itself for real types."""
        return _REAL_OF.get(self, self)

    def to_complex(self) -> dtype:
        """The complex type whose parts have this type: complex64 for float32."""
        if self.is_complex:
            return self
        try:
            return _COMPLEX_OF[self]
        except KeyError:
            raise RuntimeError(f"Unexpected dtype {self!r}: it has no complex counterpart") from None


uint8 = dtype("uint8", 1, "u", np.uint8)
int8 = dtype("int8", 1, "i", np.int8)
int16 = dtype("int16", 2, "i", np.int16)
int32 = dtype("int32", 4, "i", np.int32)
int64 = dtype("int64", 8, "i", np.int64)
uint16 = dtype("uint16", 2, "u", np.uint16)
uint32 = dtype("uint32", 4, "u", np.uint32)
uint64 = dtype("uint64", 8, "u", np.uint64)
bool = dtype("bool", 1, "b", np.bool_)
float16 = dtype("float16", 2, "f", np.float16, native=False)
float32 = dtype("float32", 4, "f", np.float32)
float64 = dtype("float64", 8, "f", np.float64)
# NumPy has no complex of halves; a pair of them keeps the bytes, and arithmetic is refused by name.
complex32 = dtype("complex32", 4, "c", [("real", np.float16), ("imag", np.float16)], native=False)
complex64 = dtype("complex64", 8, "c", np.complex64)
complex128 = dtype("complex128", 16, "c", np.complex128)
bfloat16 = dtype("bfloat16", 2, "f", "bfloat16", native=False)
float8_e4m3fn = dtype("float8_e4m3fn", 1, "f", "float8_e4m3fn", native=False)
float8_e4m3fnuz = dtype("float8_e4m3fnuz", 1, "f", "float8_e4m3fnuz", native=False)
float8_e5m2 = dtype("float8_e5m2", 1, "f", "float8_e5m2", native=False)
float8_e5m2fnuz = dtype("float8_e5m2fnuz", 1, "f", "float8_e5m2fnuz", native=False)
float8_e8m0fnu = dtype("float8_e8m0fnu", 1, "f", "float8_e8m0fnu", native=False)
# Types that PyTorch stores but (nearly) never calculates with: bytes with a name.
float4_e2m1fn_x2 = dtype("float4_e2m1fn_x2", 1, "f", "V1", native=False)
quint8 = dtype("quint8", 1, "q", "V1", native=False)
qint8 = dtype("qint8", 1, "q", "V1", native=False)
qint32 = dtype("qint32", 4, "q", "V4", native=False)
quint4x2 = dtype("quint4x2", 1, "q", "V1", native=False)
quint2x4 = dtype("quint2x4", 1, "q", "V1", native=False)
bits1x8 = dtype("bits1x8", 1, "q", "V1", native=False)
bits2x4 = dtype("bits2x4", 1, "q", "V1", native=False)
bits4x2 = dtype("bits4x2", 1, "q", "V1", native=False)
bits8 = dtype("bits8", 1, "q", "V1", native=False)
bits16 = dtype("bits16", 2, "q", "V2", native=False)
_SUB_BYTE = [
    dtype(f"{sign}int{n}", 1, "i" if not sign else "u", "V1", native=False) for sign in ("", "u") for n in range(1, 8)
]
int1, int2, int3, int4, int5, int6, int7, uint1, uint2, uint3, uint4, uint5, uint6, uint7 = _SUB_BYTE

for _opaque in (
    float4_e2m1fn_x2,
    quint8,
    qint8,
    qint32,
    quint4x2,
    quint2x4,
    bits1x8,
    bits2x4,
    bits4x2,
    bits8,
    bits16,
    *_SUB_BYTE,
):
    _opaque.numpy_dtype = np.dtype(_opaque._storage)
for _half in (float16, bfloat16, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu):
    _half.compute = float32
complex32.compute = complex64

ALL_DTYPES: tuple[dtype, ...] = tuple(d for d in list(globals().values()) if isinstance(d, dtype))

_REAL_OF = {complex32: float16, complex64: float32, complex128: float64}
_COMPLEX_OF = {float16: complex32, bfloat16: complex64, float32: complex64, float64: complex128}

_FROM_NUMPY = {
    np.dtype(t): d
    for t, d in (
        ("uint8", uint8), ("int8", int8), ("int16", int16), ("int32", int32), ("int64", int64), ("uint16", uint16),
        ("uint32", uint32), ("uint64", uint64), ("bool", bool), ("float16", float16), ("float32", float32),
        ("float64", float64), ("complex64", complex64), ("complex128", complex128), ("longlong", int64),
        ("intc", int32),
        ("ulonglong", uint64), ("uintc", uint32),
    )
}  # fmt: skip
_ML_DTYPES = {d._storage: d for d in ALL_DTYPES if isinstance(d._storage, str) and d._storage[0] != "V"}


def from_numpy_dtype(numpy_dtype: np.dtype) -> dtype:
    """The dtype whose elements NumPy stores as `numpy_dtype`.

    Raises
    ------
    TypeError
        For types that tensors cannot hold, in PyTorch's words.
    """
    found = _FROM_NUMPY.get(numpy_dtype) or _ML_DTYPES.get(numpy_dtype.name)
    if found is None:
        raise TypeError(
            f"can't convert np.ndarray of type {numpy_dtype.type.__module__}.{numpy_dtype.type.__name__}. The only "
            "supported types are: float64, float32, float16, complex64, complex128, int64, int32, int16, int8, "
            "uint64, uint32, uint16, uint8, and bool."
        )
    return found


_default_dtype = float32
#: Called when the default changes: what was found out under the old one no longer holds.
when_default_changes: list[Callable[[], None]] = []


def get_default_dtype() -> dtype:
    """The floating dtype of ``torch.tensor(1.0)`` and of factories without ``dtype=``."""
    return _default_dtype


def set_default_dtype(d: dtype) -> None:
    """Set the dtype that floating-point literals get; it must be a floating type."""
    global _default_dtype
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    if d is not _default_dtype:
        settle()
        _default_dtype = d
        for forget in when_default_changes:
            forget()


# Promotion. Categories rise bool < integer < floating < complex; within integers and floats PyTorch's table decides.
_BAREBONES = {uint16, uint32, uint64}
_FLOAT8 = {float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu, float4_e2m1fn_x2}
_promotions: dict[tuple[dtype, dtype], dtype] = {}


def saturated(array: np.ndarray, target: np.dtype) -> np.ndarray:
    """The array before it is cast, for dtypes that do not hold every kind of number.

    float8_e4m3fn has no infinity, and takes what is too large as its largest number; float8_e8m0fnu has neither sign
    nor zero, and takes the magnitude, or its smallest number.
    """
    name = target.type.__name__  # `target.name` takes as long as a small cast
    if name == "float8_e8m0fnu":
        wide = array.astype(np.float32) if array.dtype.kind in "biuV" else array
        return np.where(wide == 0, wide.dtype.type(2.0**-127), np.abs(wide))
    if name != "float8_e4m3fn" or array.dtype.kind in "bV":
        return array
    return np.asarray(np.clip(array, -448, 448))  # NumPy makes a number of what has no dimensions


#: The Python types that stand for dtypes.
PYTHON_DTYPES = {
    builtins.float: float64,
    builtins.int: int64,
    builtins.bool: bool,
    builtins.complex: complex128,
}


def of_python_type(value: Any) -> dtype | None:
    """The dtype that ``float``, ``int``, ``bool`` or ``complex`` stands for; None of everything else."""
    return PYTHON_DTYPES.get(value) if isinstance(value, type) else None


def each_dtype(function: str, **given: Any) -> list[dtype]:
    """Arguments as dtypes, which Python's types may stand for; others are refused in PyTorch's words."""
    found = []
    for position, (name, value) in enumerate(given.items(), 1):
        d = value if isinstance(value, dtype) else of_python_type(value)
        if d is None:
            kind = type(value).__name__
            raise TypeError(f"{function}(): argument '{name}' (position {position}) must be torch.dtype, not {kind}")
        found.append(d)
    return found


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that both promote to, as ``torch.promote_types``."""
    if type1 is type2 and type1.__class__ is dtype:
        return type1
    found = _promotions.get((type1, type2))
    if found is None:
        a, b = each_dtype("promote_types", type1=type1, type2=type2)
        found = _promotions[type1, type2] = a if a is b else _promote(a, b)
    return found


def _promote(a: dtype, b: dtype) -> dtype:
    for family, name in ((_FLOAT8, "Float8 Types"), (_BAREBONES, "uint16, uint32, uint64 types")):
        if (a in family or b in family) and not (family is _BAREBONES and max(a.category, b.category) in (2, 4)):
            raise RuntimeError(
                f"Promotion for {name} is not supported, attempted to promote {_scalar_name(a)} and {_scalar_name(b)}"
            )
    if max(a.category, b.category) == 4 or a in _SUB_BYTE or b in _SUB_BYTE:
        raise RuntimeError(f"Promotion from {_scalar_name(a)} and {_scalar_name(b)} is unsupported.")
    if a.category > b.category:
        a, b = b, a
    if b.category == 3:
        return _promote_complex(a, b)
    if a.category < b.category:
        return b
    return _promote_floats(a, b) if b.category == 2 else _promote_integers(a, b)


def _promote_complex(a: dtype, b: dtype) -> dtype:
    parts = a.to_real() if a.category >= 2 else b.to_real()
    real = promote_types(parts, b.to_real())
    return complex64 if real is bfloat16 else real.to_complex()


def _promote_floats(a: dtype, b: dtype) -> dtype:
    if {a, b} == {float16, bfloat16}:
        return float32
    return a if a.itemsize > b.itemsize else b


def _promote_integers(a: dtype, b: dtype) -> dtype:
    if uint8 not in (a, b):
        return a if a.itemsize > b.itemsize else b
    other = b if a is uint8 else a
    return int16 if other is int8 else other


_SCALAR_NAMES = {
    "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long", "float16": "Half",
    "float32": "Float", "float64": "Double", "complex32": "ComplexHalf", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble", "bool": "Bool", "bfloat16": "BFloat16", "uint16": "UInt16", "uint32": "UInt32",
    "uint64": "UInt64", "quint8": "QUInt8", "qint8": "QInt8", "qint32": "QInt32",
}  # fmt: skip


def _scalar_name(d: dtype) -> str:
    return _SCALAR_NAMES.get(d.name) or d.name[0].upper() + d.name[1:]


def scalar_type_name(d: dtype) -> str:
    """The C++ name that PyTorch's messages use: ``Float``, ``Long``, ``BFloat16``."""
    return _scalar_name(d)


def can_cast(from_: dtype, to: dtype) -> builtins.bool:
    """Whether a result of type `from_` may be written to a tensor of type `to` (``torch.can_cast``)."""
    from_, to = each_dtype("can_cast", from_=from_, to=to)
    if from_.is_complex and not to.is_complex:
        return False
    if from_.is_floating_point and to.category < 2:
        return False
    return not (from_.category > 0 and to.category == 0)


_CPP_NAMES = {
    "float32": "float",
    "float64": "double",
    "int64": "long int",
    "int32": "int",
    "int16": "short int",
    "int8": "signed char",
    "uint8": "unsigned char",
    "bool": "bool",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
    "complex32": "c10::complex<c10::Half>",
    "uint16": "short unsigned int",
    "uint32": "unsigned int",
    "uint64": "long unsigned int",
    "float8_e4m3fn": "c10::Float8_e4m3fn",
    "float8_e4m3fnuz": "c10::Float8_e4m3fnuz",
    "float8_e5m2": "c10::Float8_e5m2",
    "float8_e5m2fnuz": "c10::Float8_e5m2fnuz",
    "float8_e8m0fnu": "c10::Float8_e8m0fnu",
}


def cpp_type_name(d: dtype) -> str:
    """What PyTorch's messages call the C++ type of the elements."""
    return _CPP_NAMES.get(d.name, scalar_type_name(d))


#: Of these, PyTorch has tensor classes in Python.
_WITH_CLASSES = frozenset({"uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"})


def tensor_type_name(d: dtype) -> str:
    """What PyTorch's messages call the type of CPU tensors: that of their class, or, without one, a name in C++."""
    name = scalar_type_name(d)
    return f"torch.{name}Tensor" if d.name in _WITH_CLASSES else f"CPU{name}Type"


def _limited(given: Any, asked: str) -> dtype:
    """The dtype whose limits are asked for."""
    return each_dtype(asked, type=given)[0]


#: Stands for the default dtype at the time of a call; None does not.
_DEFAULT: Any = object()


class finfo:
    """Numerical limits of a floating (or complex: its parts') dtype.

    ``bits eps max min tiny smallest_normal resolution``.
    """

    def __init__(self, type: Any = _DEFAULT) -> None:
        d = _limited(_default_dtype if type is _DEFAULT else type, "finfo")
        if not (d.is_floating_point or d.is_complex):
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        d = d.to_real()
        if d in (float16, float32, float64):
            info = np.finfo(d.numpy_dtype)
        else:
            import ml_dtypes  # lazy: few programs use its types

            info = ml_dtypes.finfo(d.numpy_dtype)  # type: ignore[no-untyped-call]
        self.bits = d.itemsize * 8
        self.eps = builtins.float(info.eps)
        self.max = builtins.float(info.max)
        self.min = builtins.float(info.min)
        self.tiny = self.smallest_normal = builtins.float(info.smallest_normal)
        self.resolution = 10.0 ** -builtins.int(-math.log10(info.eps))
        self.dtype = d.name

    def __eq__(self, other: object) -> Any:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> builtins.int:
        return hash(("finfo", self.dtype))

    def __repr__(self) -> str:
        fields = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({', '.join(f'{f}={getattr(self, f):g}' for f in fields)}, dtype={self.dtype})"


class iinfo:
    """Limits of an integer dtype: ``bits max min``."""

    def __init__(self, type: dtype) -> None:
        d = _limited(type, "iinfo")
        if d is bool:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if not d.is_integral:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        info = np.iinfo(d.numpy_dtype)
        self.bits = d.itemsize * 8
        self.max = builtins.int(info.max)
        self.min = builtins.int(info.min)
        self.dtype = d.name

    def __eq__(self, other: object) -> Any:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> builtins.int:
        return hash(("iinfo", self.dtype))

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
