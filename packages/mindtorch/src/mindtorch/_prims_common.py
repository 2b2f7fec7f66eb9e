"""``torch._prims_common``: what is known of tensors without their elements, compared."""

from __future__ import annotations

import numbers
from enum import Enum
from typing import Any

from mt_core import Tensor, dtypes
from mt_core.formats import contiguous_format, memory_format
from mt_core.layout import suggested_format
from mt_core.promotion import result_type_of

__all__ = [
    "ELEMENTWISE_TYPE_PROMOTION_KIND", "compare_tensor_meta", "corresponding_complex_dtype", "corresponding_real_dtype",
    "dtype_to_type", "elementwise_dtypes", "suggest_memory_format",
]  # fmt: skip

_REAL_OF = {dtypes.complex32: dtypes.float16, dtypes.complex64: dtypes.float32, dtypes.complex128: dtypes.float64}
_COMPLEX_OF = {real: complex_ for complex_, real in _REAL_OF.items()} | {dtypes.bfloat16: dtypes.complex64}


def corresponding_real_dtype(dtype: dtypes.dtype) -> dtypes.dtype:
    """The dtype of a complex one's parts. Raises KeyError for others."""
    return _REAL_OF[dtype]


def corresponding_complex_dtype(dtype: dtypes.dtype) -> dtypes.dtype:
    """The complex dtype whose parts have a floating one, complex64 for bfloat16. Raises KeyError for others."""
    return _COMPLEX_OF[dtype]


#: The integer types whose elements are numbers: not those of less than a byte.
_INTEGERS = frozenset(f"{sign}int{8 << i}" for sign in ("", "u") for i in range(4))


def dtype_to_type(dtype: dtypes.dtype) -> type:
    """The Python number that elements of a dtype become: bool, int, float or complex.

    Raises
    ------
    AssertionError
        For what is no dtype.
    ValueError
        For dtypes whose elements are no numbers (bits, integers of less than a byte, quantized ones).
    """
    if not isinstance(dtype, dtypes.dtype):
        raise AssertionError(f"Expected torch.dtype, got {type(dtype)}")
    if dtype is dtypes.bool:
        return bool
    if dtype.is_complex:
        return complex
    if dtype.is_floating_point:
        return float
    if dtype.name in _INTEGERS:
        return int
    raise ValueError("Invalid dtype!")


class ELEMENTWISE_TYPE_PROMOTION_KIND(Enum):
    """How elementwise operators find the dtype of their result (`elementwise_dtypes`)."""

    DEFAULT = (0,)
    NO_OPMATH = (1,)
    INT_TO_FLOAT = (2,)
    ALWAYS_BOOL = (3,)
    COMPLEX_TO_FLOAT = (4,)
    BOOL_TO_LONG = (5,)


def elementwise_dtypes(
    *_args: Tensor | complex | None, type_promotion_kind: ELEMENTWISE_TYPE_PROMOTION_KIND
) -> tuple[dtypes.dtype, dtypes.dtype]:
    """The dtype that an elementwise operator computes in, and that of its result.

    Parameters
    ----------
    *_args
        Tensors and numbers, of which those of a higher category decide, tensors with dimensions before others; None is
        left out.
    type_promotion_kind
        `DEFAULT` is the promoted dtype, `INT_TO_FLOAT` the default dtype for integers, `ALWAYS_BOOL` bool,
        `COMPLEX_TO_FLOAT` that of the parts of a complex one, `BOOL_TO_LONG` int64 for bool. All but `NO_OPMATH`
        compute with half types in single precision.

    Raises
    ------
    ValueError
        For an argument of another type.
    """
    kind = ELEMENTWISE_TYPE_PROMOTION_KIND
    given = tuple(value for value in _args if value is not None)
    for value in given:
        if not isinstance(value, (Tensor, numbers.Number)):
            raise ValueError(f"Unexpected type {type(value)} when computing elementwise type promotion!")
    promoted = result_type_of(given) if given else dtypes.bool
    if type_promotion_kind is kind.NO_OPMATH:
        return promoted, promoted
    if type_promotion_kind is kind.INT_TO_FLOAT and not (promoted.is_floating_point or promoted.is_complex):
        promoted = dtypes.get_default_dtype()
    if type_promotion_kind is kind.BOOL_TO_LONG and promoted is dtypes.bool:
        promoted = dtypes.int64
    computed = _COMPUTED_IN.get(promoted, promoted)
    if type_promotion_kind is kind.ALWAYS_BOOL:
        return computed, dtypes.bool
    if type_promotion_kind is kind.COMPLEX_TO_FLOAT and promoted.is_complex:
        return computed, _REAL_OF[promoted]
    return computed, promoted


_COMPUTED_IN = {
    dtypes.float16: dtypes.float32, dtypes.bfloat16: dtypes.float32, dtypes.complex32: dtypes.complex64,
}  # fmt: skip


def suggest_memory_format(x: Tensor) -> memory_format:
    """The format that results of operators on a tensor have: channels last, or contiguous."""
    return suggested_format(x) or contiguous_format


def compare_tensor_meta(
    a: Tensor, b: Tensor, check_sizes: bool = True, check_strides: bool = False, *, check_conj: bool = True
) -> None:
    """Refuse tensors of different shape, dtype, device, and of other strides in dimensions with several indices.

    Raises
    ------
    AssertionError
        For what is no tensor, and for different shapes, dtypes and devices.
    RuntimeError
        For different strides, and where only one is conjugated or negated.
    """
    for value in (a, b):
        if not isinstance(value, Tensor):
            raise AssertionError(f"expected a tensor, got {type(value)}")
    facts = ("dtype", "device", *(["shape"] if check_sizes else []))
    for fact in facts:
        if getattr(a, fact) != getattr(b, fact):
            raise AssertionError(f"{fact}: {getattr(a, fact)} and {getattr(b, fact)} are not equal!")
    if check_strides and a.numel() and _counting(a) != _counting(b):
        raise RuntimeError(f"Stride mismatch! Strides are {a.stride()} and {b.stride()}!")
    if check_conj and (a.is_conj(), a.is_neg()) != (b.is_conj(), b.is_neg()):
        raise RuntimeError("Conj mismatch! One of the tensors is conjugated or negated, and the other is not")


def _counting(tensor: Any) -> tuple[int, ...]:
    return tuple(step for size, step in zip(tensor.shape, tensor.stride(), strict=True) if size > 1)
