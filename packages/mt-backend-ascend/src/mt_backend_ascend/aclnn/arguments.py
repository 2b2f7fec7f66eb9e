"""Arguments of aclnn operators, from Python's values."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

from mt_core.dtypes import dtype as DType
from mt_core.keys import CONJUGATE, NEGATIVE
from mt_core.plugins.kernel_arguments import CType, HalfType, Typed, tensor
from mt_core.tensor import Tensor

from ..custom_kernel.places import DEVICE
from .descriptors import DATA_TYPES, FORMATS, Descriptors, Given

__all__ = ["Formatted", "Scalar", "converted", "formatted", "scalar", "tensors_of"]


class Scalar(NamedTuple):
    """A number for an aclScalar."""

    value: Any
    dtype: Any


class Formatted(NamedTuple):
    """A tensor that is described in a format."""

    tensor: Tensor
    format: str


def scalar(value: Any, dtype: Any) -> Scalar:
    """A number of a dtype, for a parameter of type ``aclScalar``."""
    if not isinstance(dtype, DType) or dtype not in DATA_TYPES:
        raise TypeError(f"an aclScalar has a dtype that CANN knows, not {dtype!r}")
    if isinstance(value, Tensor):
        raise TypeError("an aclScalar is a number of the host: use .item()")
    return Scalar(value, dtype)


def formatted(tensor: Tensor, format: str) -> Formatted:
    """A tensor, described in a format other than ND: operators on images ask for NCHW or the like."""
    if format not in FORMATS:
        raise ValueError(f"formats are {', '.join(FORMATS)}, not {format!r}")
    return Formatted(tensor, format)


def tensors_of(values: Sequence[Any]) -> list[Tensor]:
    """All tensors among arguments."""
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Formatted):
            found.append(value.tensor)
        elif isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)) and not isinstance(value, (Typed, Scalar)):
            found.extend(tensors_of(value))
    return found


def converted(value: Any, declared: Any, where: str, descriptors: Descriptors, made: list[Given]) -> tuple[Any, Any]:
    """An argument's C type and value; what is made for it is put into `made`.

    Raises
    ------
    TypeError, OverflowError, ValueError
        When the value is not what was declared, or says too little of itself.
    """
    try:
        handle = _converted(value, declared, descriptors, made)
    except (TypeError, OverflowError, ValueError) as error:
        raise type(error)(f"{where}: {error}") from None
    return handle


def _converted(value: Any, declared: Any, descriptors: Descriptors, made: list[Given]) -> tuple[Any, Any]:
    if declared is not None and declared is not tensor and not isinstance(declared, (CType, str)):
        raise TypeError(f"{declared!r} is no type of arguments: those are tensor, 'scalar', 'ints', 'text', i64, ...")
    if declared == "scalar" and value is not None and not isinstance(value, Scalar):
        raise TypeError(f"an aclScalar has a dtype: write scalar({value!r}, dtype)")
    if isinstance(declared, CType) or isinstance(value, Typed):
        typed: Typed = value if isinstance(value, Typed) else declared(value)  # type: ignore[misc, operator]
        if isinstance(declared, CType) and typed.ctype is not declared:
            raise TypeError(f"{declared} is declared, not {typed.ctype}")
        if isinstance(typed.ctype, HalfType):
            raise TypeError(f"operators take a {typed.ctype.c_name} as an aclScalar: write scalar(number, dtype)")
        return typed.ctype.ctype, typed.value
    if value is None:
        return ctypes.c_void_p, None
    if isinstance(value, str) or declared == "text":
        if not isinstance(value, str):
            raise TypeError(f"a text is declared, not {type(value).__name__}")
        return ctypes.c_char_p, value.encode()
    given = _described(value, declared, descriptors, made)
    made.append(given)
    return ctypes.c_void_p, given[0]


def _described(value: Any, declared: Any, descriptors: Descriptors, made: list[Given]) -> Given:
    if isinstance(value, Scalar):
        return descriptors.scalar(value.value, value.dtype)
    if isinstance(value, (Tensor, Formatted)):
        if declared not in (None, tensor):
            raise TypeError(f"{declared!r} is declared, not a tensor")
        return _tensor(value, descriptors)
    if isinstance(value, (list, tuple)):
        return _list(value, declared, descriptors)
    if declared is tensor or declared == "ints":
        raise TypeError(f"{declared!r} is declared, not {type(value).__name__}")
    raise TypeError(
        f"a bare {type(value).__name__} may be meant as an aclScalar or in a C type: write scalar({value!r}, dtype), "
        "i64(...), f64(...), boolean(...) or the like, or declare argtypes"
    )


def _tensor(value: Tensor | Formatted, descriptors: Descriptors) -> Given:
    each, name = (value.tensor, value.format) if isinstance(value, Formatted) else (value, "ND")
    if each.device.type != DEVICE:
        raise ValueError(f"operators of device '{DEVICE}' cannot read a tensor on '{each.device}'")
    if each._keys & (CONJUGATE | NEGATIVE):
        raise ValueError("the tensor is a lazy conjugate or negative: use .resolve_conj().resolve_neg()")
    if each.dtype not in DATA_TYPES:
        raise TypeError(f"CANN has no tensors of {each.dtype!r}")
    storage = each.untyped_storage()
    return descriptors.tensor(
        storage.data_ptr(), storage.nbytes() // each.itemsize, tuple(each.shape), each.stride(), each.storage_offset(),
        DATA_TYPES[each.dtype], FORMATS[name],
    )  # fmt: skip


def _list(values: Sequence[Any], declared: Any, descriptors: Descriptors) -> Given:
    kinds = {"ints": descriptors.ints, "floats": descriptors.floats, "bools": descriptors.bools}
    if declared in kinds:
        kind = declared
    elif values and all(isinstance(v, (Tensor, Formatted)) for v in values):
        return descriptors.tensors([_tensor(v, descriptors) for v in values])
    elif values and all(isinstance(v, bool) for v in values):
        kind = "bools"
    elif values and all(isinstance(v, int) and not isinstance(v, bool) for v in values):
        kind = "ints"
    elif values and all(isinstance(v, float) for v in values):
        kind = "floats"
    else:
        raise TypeError(
            f"{values!r} may be an aclIntArray, aclFloatArray or aclBoolArray: declare 'ints', 'floats' or 'bools'"
        )
    if kind == "ints":
        return descriptors.ints([operator.index(v) for v in values])
    return kinds[kind](list(values))
