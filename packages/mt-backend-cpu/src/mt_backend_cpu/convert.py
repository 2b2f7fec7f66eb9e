"""Conversion between element types, as PyTorch converts where NumPy does otherwise."""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np

from mt_core.dtypes import bfloat16, float8_e4m3fn, float8_e8m0fnu, saturated
from mt_core.state import run_quietly

__all__ = ["cast"]

_SINGLE = np.dtype(np.float32)
_HALVES = frozenset((bfloat16.numpy_dtype, np.dtype(np.float16)))
#: What holds no infinity, or no zero; compared as dtypes, for NumPy makes a dtype's name anew each time.
_SATURATING = frozenset((float8_e4m3fn.numpy_dtype, float8_e8m0fnu.numpy_dtype))

#: From so many elements on, a conversion is worth asking the native library for.
_LARGE = 4096


def cast(array: np.ndarray, target: np.dtype) -> np.ndarray:
    """The array in another element type; the array itself where it already has it.

    Complex to real takes the real part without NumPy's warning; floating point goes to small integers by way of larger
    ones, as in PyTorch: what is out of their range, and NaN, is the least of them, and then loses its upper bits.
    """
    source = array.dtype
    if source == target:
        return array
    if target is _SINGLE and source in _HALVES or source is _SINGLE and target in _HALVES:
        made = _between_halves(array, target)
        if made is not None:
            return made
    kind, wanted = source.kind, target.kind
    if array.size >= _LARGE and kind in "biuf" and wanted in "biuf":
        made = _by_library(array, target)
        if made is not None:
            return made
    if target.names is not None or source.names is not None:
        return _cast_complex_half(array, target)
    if kind == "c" and target == np.uint32:
        return run_quietly(_to_uint32, array.real, array)
    if kind == "c" and wanted not in "cb":
        real = array.real
        return real.astype(target) if real.dtype == target else cast(real, target)  # never a view of the pairs
    if kind in "biu" and (wanted in "biu" or target.itemsize > 2):  # nothing becomes infinite
        return array.astype(target)
    # Infinity and NaN become whole numbers, numbers too large infinity, without a word.
    if wanted in "iu" and target.itemsize < 8 and kind in "fV":
        if target == np.uint32:
            return run_quietly(_to_uint32, array)
        return run_quietly(_wrapped, array, source if source.char in "fd" else np.dtype(np.float32), target)
    if target.type is np.void and target.names is None:
        raise RuntimeError(
            "empty_strided not supported on quantized tensors yet see https://github.com/pytorch/pytorch/issues/74540: "
            "numbers become quantized tensors by quantize_per_tensor"
        )
    if target in _SATURATING:
        return run_quietly(np.asarray(saturated(array, target)).astype, target)
    if kind == "f" and wanted in "fc" and target.itemsize > source.itemsize:
        return array.astype(target)
    return run_quietly(array.astype, target)


def _between_halves(array: np.ndarray, target: np.dtype) -> np.ndarray | None:
    """By the native library, where it is there and the array has no gaps."""
    from .native import library  # lazy: a program without half types loads it with its first kernel

    if library is None:
        return None
    library.use_bfloat16(bfloat16.numpy_dtype)
    made: np.ndarray | None = library.cast(array, target)
    return made


def _by_library(array: np.ndarray, target: np.dtype) -> np.ndarray | None:
    """By the native library, in threads; None where it has no conversion of these types."""
    from .native import library  # lazy: as above

    made: np.ndarray | None = None if library is None else library.cast_rows(array, target)
    return made


def _wrapped(array: np.ndarray, through: np.dtype, target: np.dtype) -> np.ndarray:
    return array.astype(through).astype(np.int64 if target == np.uint8 else np.int32).astype(target)


#: How many numbers PyTorch converts at a time from a dtype to uint32, and how many the last of these turns needs.
_LANES = {
    np.dtype(np.float32): (4, 4), np.dtype(np.float64): (4, 4), np.dtype(np.complex64): (4, 5),
    np.dtype(np.complex128): (4, 4), bfloat16.numpy_dtype: (8, 8),
}  # fmt: skip


def _to_uint32(array: np.ndarray, whole: np.ndarray | None = None) -> np.ndarray:
    """Floating point to uint32: through int64 one at a time, and through int32 where PyTorch takes several at once.

    They differ below -2**31 and for NaN, where C++ leaves the result open; `whole` is the complex array whose real
    part the array is.
    """
    source = array if whole is None else whole
    wide = array.astype(np.float64)
    one_by_one = wide.astype(np.int64).astype(np.uint32)
    lanes, least = _LANES.get(source.dtype, (1, 0))
    if lanes == 1 or not (source.flags.c_contiguous or source.flags.f_contiguous):
        return one_by_one
    order: Literal["C", "F"] = "C" if source.flags.c_contiguous else "F"
    taken = max(0, (array.size - least) // lanes + 1) * lanes
    upper = wide >= 2.0**31
    at_once = (wide - upper * 2.0**31).astype(np.int32).astype(np.uint32) ^ (upper.astype(np.uint32) << 31)
    result = one_by_one.ravel(order)
    result[:taken] = at_once.ravel(order)[:taken]
    return result.reshape(array.shape, order=order)


def _cast_complex_half(array: np.ndarray, target: np.dtype) -> np.ndarray:
    """To or from complex32, stored as pairs of halves."""
    if array.dtype.names is not None:
        whole = np.empty(array.shape, np.complex64)
        whole.real, whole.imag = array["real"], array["imag"]
        return cast(whole, target)
    whole = cast(array, np.dtype(np.complex64))
    pairs = np.empty(array.shape, target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # values beyond the half range become infinities, as in PyTorch
        pairs["real"], pairs["imag"] = whole.real, whole.imag
    return pairs
