"""Conversion between element types, as PyTorch converts where NumPy does otherwise."""

from __future__ import annotations

import warnings

import numpy as np

from mt_core.dtypes import float8_e4m3fn, float8_e8m0fnu, saturated
from mt_core.state import run_quietly

__all__ = ["cast"]

#: What holds no infinity, or no zero; compared as dtypes, for NumPy makes a dtype's name anew each time.
_SATURATING = frozenset((float8_e4m3fn.numpy_dtype, float8_e8m0fnu.numpy_dtype))


def cast(array: np.ndarray, target: np.dtype) -> np.ndarray:
    """The array in another element type; the array itself where it already has it.

    Complex to real takes the real part without NumPy's warning; floating point goes to small integers by way of larger
    ones, as in PyTorch: what is out of their range, and NaN, is the least of them, and then loses its upper bits.
    """
    source = array.dtype
    if source == target:
        return array
    kind, wanted = source.kind, target.kind
    if target.names is not None or source.names is not None:
        return _cast_complex_half(array, target)
    if kind == "c" and wanted not in "cb":
        return cast(array.real, target)
    if kind in "biu" and target not in _SATURATING:
        return array.astype(target)
    # Infinity and NaN become whole numbers, numbers too large infinity, without a word.
    if wanted in "iu" and target.itemsize < 8 and kind in "fV":
        return run_quietly(_wrapped, array, np.float64 if kind == "V" else source, target)
    if target in _SATURATING:
        return run_quietly(saturated(array, target).astype, target)
    if kind == "f" and wanted in "fc" and target.itemsize > source.itemsize:
        return array.astype(target)
    return run_quietly(array.astype, target)


#: Through which integers floating point goes to unsigned ones, where it is not int32.
_ON_THE_WAY = {np.dtype(np.uint8): np.int64, np.dtype(np.uint32): np.int64}


def _wrapped(array: np.ndarray, through: np.dtype, target: np.dtype) -> np.ndarray:
    return array.astype(through).astype(_ON_THE_WAY.get(target, np.int32)).astype(target)


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
