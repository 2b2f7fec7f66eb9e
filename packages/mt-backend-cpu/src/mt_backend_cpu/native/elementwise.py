"""Arithmetic by the native library: of half types as they are stored, and of several steps in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from mt_core.dispatch.kernel import Accepts
from mt_core.dispatch.registry import register_kernel
from mt_core.dtypes import bfloat16, float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64
from mt_core.dtypes import bool as bool_dtype
from mt_core.keys import CPU

from ..kernels import elementwise as on_numpy
from ..registry import kernel, kernels
from . import library

HALF_TYPES = frozenset((bfloat16, float16))
_SINGLE = frozenset((float32,))


def are_tensors(*arguments: Any) -> bool:
    """Whether all operands are tensors of several elements: PyTorch rounds no number, and no single element, first."""
    return all(hasattr(a, "_array") and a._array.size != 1 for a in arguments)


def _first_two(self: Any, other: Any, *rest: Any) -> bool:
    return are_tensors(self, other)


def _negated(alpha: Any) -> Any:
    """The factor of a sum for that of a difference; integers wrap around as int64 does."""
    if isinstance(alpha, int) and not -(1 << 63) < alpha < 1 << 63:
        return ((1 << 63) - alpha) % (1 << 64) - (1 << 63)
    return -alpha


def _is_scaled(self: Any, other: Any, alpha: Any) -> bool:
    return hasattr(other, "_array") and bool(alpha != 1 and abs(alpha) < _HELD)


def _is_held(*arguments: Any) -> bool:
    """Whether the number at the end is one of float32; the others are for the operator's check to refuse."""
    return bool(abs(arguments[-1]) < _HELD)


#: Below the largest number of float32.
_HELD = 3e38

if library is not None:
    _add_scaled, _addcmul, _addcdiv, _lerp = library.add_scaled, library.addcmul, library.addcdiv, library.lerp

    def subtract_scaled(self: Any, other: Any, alpha: Any, out: Any = None) -> Any:
        """self (*), other (*), broadcast -> the common shape."""
        return _add_scaled(self, other, _negated(alpha), out=out)

    # NumPy's own loops, which the library calls, and divides among threads, for what it has no loops of its own for

    _Loops = library.Loops
    _OTHERS = frozenset((bool_dtype, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64))
    kernels(
        {"add.Tensor": _Loops(np.add), "sub.Tensor": _Loops(np.subtract)},
        accepts=Accepts(dtypes=_OTHERS, defaults=("alpha",)),
    )
    kernels({"mul.Tensor": _Loops(np.multiply), "div.Tensor": _Loops(np.true_divide)}, accepts=Accepts(dtypes=_OTHERS))
    kernels({"neg": _Loops(np.negative)}, accepts=Accepts(layout="row_major"))
    kernels({"abs": _Loops(np.absolute)})
    _fmod = _Loops(np.fmod)

    @kernel("fmod.Tensor", "fmod.Scalar")
    def fmod(self: Any, other: Any) -> Any:
        """self (*), other (*), broadcast -> the common shape."""
        if self.dtype.kind in "iu":
            on_numpy.refuse_zero(self, other)
        return _fmod(self, other)

    # Single precision, numbers too; several steps in one pass

    kernels({"add.Tensor": _add_scaled, "sub.Tensor": subtract_scaled}, accepts=Accepts(dtypes=_SINGLE))
    kernels(
        {"add.Tensor": library.add, "sub.Tensor": library.sub}, accepts=Accepts(dtypes=_SINGLE, defaults=("alpha",))
    )
    kernels({"mul.Tensor": library.mul, "div.Tensor": library.div}, accepts=Accepts(dtypes=_SINGLE))

    # Integers by a number

    _remainder = library.remainder

    @kernel("remainder.Tensor", "remainder.Scalar", accepts=Accepts(dtypes=frozenset((int32, int64))))
    def remainder(self: Any, other: Any) -> Any:
        """self (*) of int32 or int64, other (*), broadcast, or a number -> the common shape."""
        if getattr(other, "size", 1) == 1 and not getattr(other, "ndim", 0) and self.__class__ is np.ndarray:
            divisor = int(other)  # any number but 0, which is for NumPy's kernel to refuse, and those of wider types
            if divisor and abs(divisor) < 1 << (self.dtype.itemsize * 8 - 1) and self.flags.c_contiguous:
                return _remainder(self, divisor)
        return on_numpy.remainder(self, other)

    kernels({"sign": library.sign}, accepts=Accepts(dtypes=_SINGLE))

    # Half types, as they are stored: entered after single precision, whose kernels take them too, widened

    library.use_bfloat16(bfloat16.numpy_dtype)
    kernels(
        {"add.Tensor": _add_scaled, "sub.Tensor": subtract_scaled},
        accepts=Accepts(dtypes=HALF_TYPES, also=_first_two), half="native",
    )  # fmt: skip
    kernels(
        {"add.Tensor": library.add, "sub.Tensor": library.sub},
        accepts=Accepts(dtypes=HALF_TYPES, defaults=("alpha",), also=_first_two), half="native",
    )  # fmt: skip
    kernels(
        {"mul.Tensor": library.mul, "div.Tensor": library.div},
        accepts=Accepts(dtypes=HALF_TYPES, also=_first_two), half="native",
    )  # fmt: skip

    def add_into(self: Any, other: Any, alpha: Any) -> None:
        _add_scaled(self, other, alpha, out=self)

    def subtract_into(self: Any, other: Any, alpha: Any) -> None:
        _add_scaled(self, other, _negated(alpha), out=self)

    def addcmul_into(self: Any, tensor1: Any, tensor2: Any, value: Any) -> None:
        _addcmul(self, tensor1, tensor2, value, out=self)

    def addcdiv_into(self: Any, tensor1: Any, tensor2: Any, value: Any) -> None:
        _addcdiv(self, tensor1, tensor2, value, out=self)

    def lerp_into(self: Any, end: Any, weight: Any) -> None:
        _lerp(self, end, weight, out=self)

    for _name, _function, _also in (
        ("add_.Tensor", add_into, _is_scaled), ("sub_.Tensor", subtract_into, _is_scaled),
        ("addcmul_", addcmul_into, _is_held), ("addcdiv_", addcdiv_into, _is_held),
        ("lerp_.Scalar", lerp_into, _is_held),
    ):  # fmt: skip
        accepted = Accepts(dtypes=_SINGLE, alike=True, also=_also)
        register_kernel(CPU, (_name,), _function, accepts=accepted, out="first")
