"""Checks for declarations: which dtypes an elementwise operator is written for, and what PyTorch says of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .. import dtypes
from ..dtypes import can_cast, cpp_type_name, dtype, scalar_type_name
from ..number_range import check_factor, check_number

__all__ = [
    "BOOL", "COMPLEX", "COMPLEX_HALF", "EXACT_OUT", "FLOAT8", "FLOATS", "INTEGERS", "LAPACK", "NUMBERS", "REAL",
    "UNSIGNED", "USUAL", "OutDtypes", "OutOf", "Refusal", "Supported", "has_float8", "is_exactly", "is_scaling_float8",
    "never", "not_castable",
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
#: What people calculate in: almost every kernel is written for these, few for the others.
USUAL = REAL | COMPLEX
#: What has a sum and a product.
NUMBERS = frozenset(dtypes.ALL_DTYPES) - BOOL
#: What LAPACK has routines for.
LAPACK = COMPLEX | {dtypes.float32, dtypes.float64}
#: What is said of an ``out`` whose dtype is not the result's, by operators that do not convert.
EXACT_OUT = "Found dtype {out} but expected {expected}"


def has_float8(args: tuple[Any, ...]) -> bool:
    """Whether an operand is a float8 tensor."""
    return any(getattr(value, "_dtype", None) in FLOAT8 for value in args)


def is_scaling_float8(args: tuple[Any, ...]) -> bool:
    """Whether the second operand is a number or a single element, for which PyTorch has kernels of their own."""
    return has_float8(args[:2]) and (not hasattr(args[1], "_array") or args[1].numel() == 1)


class OutDtypes:
    """Which dtypes of ``out`` an operator takes beside the result's own, and what it says of others.

    Parameters
    ----------
    words
        With ``{name}`` for the argument ("result" where it is ``out``), and ``{out}`` and ``{expected}`` for the dtypes,
        ``{cpp_out}`` and ``{cpp_expected}`` for their names in C++.
    accepts
        Called with the result's dtype and that of ``out``; what the result can be cast to, unless said otherwise.
    error
        The class of the refusal.
    """

    __slots__ = ("words", "accepts", "error")

    def __init__(
        self,
        words: str,
        accepts: Callable[[dtype, dtype], bool] = can_cast,
        error: type[Exception] = RuntimeError,
    ) -> None:
        self.words = words
        self.accepts = accepts
        self.error = error

    def require(self, name: str, result: dtype, out: dtype, first: Any) -> None:
        """Raise PyTorch's error for an ``out`` that is not accepted; `first` is the call's first argument."""
        if result is not out and not self.accepts(result, out):
            shown = {"out": scalar_type_name(out), "expected": scalar_type_name(result)}
            in_cpp = {"cpp_out": cpp_type_name(out), "cpp_expected": cpp_type_name(result)}
            raise self.error(self.words.format(name="result" if name == "out" else name, **shown, **in_cpp))


class OutOf:
    """What ``out`` may be, where that hangs on the first argument, too.

    `refuse` is called with the first argument, the result's dtype and that of ``out``, and raises PyTorch's error.
    """

    __slots__ = ("refuse",)

    def __init__(self, refuse: Callable[[Any, dtype, dtype], None]) -> None:
        self.refuse = refuse

    def require(self, name: str, result: dtype, out: dtype, first: Any) -> None:
        """Raise PyTorch's error for an ``out`` that is not accepted."""
        self.refuse(first, result, out)


def never(result: dtype, out: dtype) -> bool:
    """Of `OutDtypes`: nothing but the result's dtype is accepted."""
    return False


def not_castable(result: dtype, out: dtype) -> RuntimeError:
    """The error for an ``out`` that a result cannot be cast to."""
    shown = scalar_type_name(result), scalar_type_name(out)
    return RuntimeError(f"result type {shown[0]} can't be cast to the desired output type {shown[1]}")


def is_exactly(wanted: dtype, out: dtype) -> None:
    """Refuse an ``out`` of another dtype in the words of `EXACT_OUT`."""
    if out is not wanted:
        raise RuntimeError(EXACT_OUT.format(out=scalar_type_name(out), expected=scalar_type_name(wanted)))


class Refusal:
    """Dtypes that an operator refuses with a text of its own; ``{}`` in it is PyTorch's name of the dtype."""

    __slots__ = ("dtypes", "message", "error")

    def __init__(self, dtypes: frozenset[dtype], message: str, error: type[Exception] = RuntimeError) -> None:
        self.dtypes = dtypes
        self.message = message
        self.error = error


class Supported:
    """A check that the common dtype is one that the operator is written for.

    A call refuses what PyTorch refuses before it looks at shapes; `require` what it refuses after that.

    Parameters
    ----------
    kernel
        What PyTorch calls the kernel in ``"..." not implemented for 'Bool'``; a function of the arguments where they
        decide, which returns None when there is nothing to require.
    accepted
        The dtypes that the operator is written for.
    refusals
        Dtypes refused in other words.
    also
        A further check, called first with the same arguments; it must refuse nothing when all parameters have their
        defaults and the dtype is `unchecked`.
    takes_reals
        Whether `also` refuses no real number but a bool beside floating-point elements.
    unchecked
        The dtypes for which nothing is refused: `accepted`, unless said otherwise.
    stored, factors
        Positions of numbers that are converted to the common dtype, or to the one that it is computed in; a number
        that this does not hold is refused after the dtype.
    idle
        The calls that PyTorch answers without a kernel, so that no dtype is refused: "scalar" where the first tensor
        has no dimensions, "empty" where one of them has no elements.
    warns
        Whether `also` may warn: then it is asked once a call, and no call is planned.
    """

    __slots__ = (
        "kernel", "accepted", "unchecked", "refusals", "also", "takes_reals", "stored", "factors", "idle", "warns"
    )  # fmt: skip

    def __init__(
        self,
        kernel: str | Callable[[tuple[Any, ...]], str | None],
        accepted: frozenset[dtype],
        *refusals: Refusal,
        also: Callable[..., None] | None = None,
        takes_reals: bool = False,
        unchecked: frozenset[dtype] | None = None,
        stored: tuple[int, ...] = (),
        factors: tuple[int, ...] = (),
        idle: str = "",
        warns: bool = False,
    ) -> None:
        self.kernel = kernel
        self.accepted = accepted
        self.unchecked = accepted if unchecked is None else unchecked
        self.refusals = refusals
        self.also = also
        self.takes_reals = takes_reals
        self.stored = stored
        self.factors = factors
        self.idle = frozenset(idle.split())
        self.warns = warns

    @property
    def asks_parameters(self) -> bool:
        """Whether more than the dtype decides."""
        return bool(self.also or self.stored or self.factors)

    def is_idle(self, tensors: Iterable[Any]) -> bool:
        """Whether a call with these tensors needs no kernel."""
        first, *rest = (tensor._array for tensor in tensors)
        if "scalar" in self.idle and not first.ndim:
            return True
        return "empty" in self.idle and not all(array.size for array in (first, *rest))

    def __call__(self, args: tuple[Any, ...], common: dtype) -> None:
        """Raise what a `Refusal` says, or what `also` does."""
        if self.also is not None:
            self.also(args, common)
        for refusal in self.refusals:
            if common in refusal.dtypes:
                raise refusal.error(refusal.message.format(scalar_type_name(common)))

    def require(self, args: tuple[Any, ...], common: dtype) -> None:
        """Raise PyTorch's NotImplementedError where the dtype is not accepted, and RuntimeError for numbers."""
        if common in self.accepted:
            for at in self.stored:
                check_number(args[at], common)
            for at in self.factors:
                check_factor(args[at], common)
            return
        kernel = self.kernel if isinstance(self.kernel, str) else self.kernel(args)
        if kernel is not None:
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_type_name(common)}'")
