"""Checks for declarations: which dtypes an elementwise operator is written for, and what PyTorch says of the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..dtypes import dtype, scalar_type_name

__all__ = [
    "BOOL", "COMPLEX", "COMPLEX_HALF", "FLOAT8", "FLOATS", "INTEGERS", "REAL", "UNSIGNED", "Supported", "Refusal",
    "c_name",
]  # fmt: skip

BOOL = frozenset({dtypes.bool})
INTEGERS = frozenset({dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64})
UNSIGNED = frozenset({dtypes.uint16, dtypes.uint32, dtypes.uint64})
FLOATS = frozenset({dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64})
COMPLEX = frozenset({dtypes.complex64, dtypes.complex128})
COMPLEX_HALF = frozenset({dtypes.complex32})
FLOAT8 = frozenset(
    {dtypes.float8_e4m3fn, dtypes.float8_e4m3fnuz, dtypes.float8_e5m2, dtypes.float8_e5m2fnuz, dtypes.float8_e8m0fnu}
)
#: What real arithmetic covers.
REAL = BOOL | INTEGERS | FLOATS


#: What C++ calls the types, as some of PyTorch's messages do.
_C_NAMES = {
    dtypes.uint8: "unsigned char", dtypes.int8: "signed char", dtypes.int16: "short int", dtypes.int32: "int",
    dtypes.int64: "long int", dtypes.float16: "c10::Half", dtypes.bfloat16: "c10::BFloat16", dtypes.float32: "float",
    dtypes.float64: "double", dtypes.complex64: "c10::complex<float>", dtypes.complex128: "c10::complex<double>",
    dtypes.bool: "bool",
}  # fmt: skip


def c_name(d: dtype) -> str:
    """The C++ type of a dtype's elements: ``long int``."""
    return _C_NAMES.get(d, d.name)


class Refusal:
    """Dtypes that an operator refuses with a text of its own; ``{}`` in it is PyTorch's name of the dtype."""

    __slots__ = ("dtypes", "message", "error")

    def __init__(self, dtypes: frozenset[dtype], message: str, error: type[Exception] = RuntimeError) -> None:
        self.dtypes = dtypes
        self.message = message
        self.error = error


class Supported:
    """A check that the common dtype is one that the operator is written for.

    Parameters
    ----------
    kernel
        What PyTorch calls the kernel in ``"..." not implemented for 'Bool'``.
    accepted
        The dtypes that the operator is written for.
    refusals
        Dtypes refused in other words.
    also
        A further check, called first with the same arguments; it must refuse nothing when all parameters have their
        defaults and the dtype is `unchecked`.
    unchecked
        The dtypes for which nothing is refused: `accepted`, unless said otherwise.

    Raises
    ------
    NotImplementedError
        In PyTorch's words, or what a `Refusal` says.
    """

    __slots__ = ("kernel", "accepted", "unchecked", "refusals", "also")

    def __init__(
        self, kernel: str, accepted: frozenset[dtype], *refusals: Refusal, also: Callable[..., None] | None = None,
        unchecked: frozenset[dtype] | None = None,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.accepted = accepted
        self.unchecked = accepted if unchecked is None else unchecked
        self.refusals = refusals
        self.also = also

    def __call__(self, args: tuple[Any, ...], common: dtype) -> None:
        if self.also is not None:
            self.also(args, common)
        if common in self.accepted:
            return
        for refusal in self.refusals:
            if common in refusal.dtypes:
                raise refusal.error(refusal.message.format(scalar_type_name(common)))
        raise NotImplementedError(f"\"{self.kernel}\" not implemented for '{scalar_type_name(common)}'")
