"""``torch.utils._sympy.functions``: what Python does to integers and floats, as functions of expressions.

Each knows what it is of numbers, and simplifies only where that holds for all values that its arguments can have.
"""

from __future__ import annotations

import math
from typing import Any

from ._library import sympy

__all__ = [
    "BitwiseFn_bitwise_and", "BitwiseFn_bitwise_or", "BitwiseFn_bitwise_xor", "CeilToInt", "FloatPow", "FloatTrueDiv",
    "FloorDiv", "FloorToInt", "IntTrueDiv", "LShift", "Max", "Min", "Mod", "PowByNatural", "PythonMod", "RShift",
    "RoundDecimal", "RoundToInt", "ToFloat", "TruncToInt", "opaque_unary",
]  # fmt: skip

Max, Min = sympy.Max, sympy.Min


def _numbers(*args: Any) -> bool:
    return all(arg.is_number for arg in args)


def _common_factor(base: Any, divisor: Any) -> Any:
    """What divides both, found without taking sums apart more than by their content and shared factors."""
    terms = [sympy.Mul.make_args(term) for term in sympy.Add.make_args(base)]
    found = []
    content = math.gcd(*[int(_coefficient(term)) for term in terms], int(_coefficient(sympy.Mul.make_args(divisor))))
    if content > 1:
        found.append(sympy.Integer(content))
    for factor in sympy.Mul.make_args(divisor):
        if not factor.is_number and factor.is_positive and all(factor in term for term in terms):
            found.append(factor)
    return sympy.Mul(*found)


def _coefficient(factors: tuple[Any, ...]) -> Any:
    return next((factor for factor in factors if factor.is_Integer), sympy.Integer(1))


def _over(base: Any, factor: Any) -> Any:
    """A sum with each term divided by what is a factor of each."""
    return sympy.Add(*[term / factor for term in sympy.Add.make_args(base)])


class FloorDiv(sympy.Function):
    """``base // divisor`` of integers."""

    nargs = (2,)
    is_integer = True
    precedence = 35  # how it is put in parentheses

    @property
    def base(self) -> Any:
        return self.args[0]

    @property
    def divisor(self) -> Any:
        return self.args[1]

    @classmethod
    def eval(cls, base: Any, divisor: Any) -> Any:
        if divisor.is_zero:
            raise ZeroDivisionError("division by zero")
        if base.is_zero:
            return sympy.Integer(0)
        if divisor == 1:
            return base
        if divisor == -1:
            return -base
        if base.is_Integer and divisor.is_Integer:
            return sympy.Integer(int(base) // int(divisor))
        if base == divisor and divisor.is_nonzero:
            return sympy.Integer(1)
        if isinstance(base, FloorDiv) and base.divisor.is_positive and divisor.is_positive:
            return FloorDiv(base.base, base.divisor * divisor)
        if not divisor.is_nonzero:
            return None
        whole, rest = _split(base, divisor)
        if whole is not None:
            return whole + FloorDiv(rest, divisor)
        factor = _common_factor(base, divisor)
        if factor != 1:
            return FloorDiv(_over(base, factor), divisor / factor)
        return None

    def _eval_is_nonnegative(self) -> Any:
        return True if self.base.is_nonnegative and self.divisor.is_positive else None

    def _sympystr(self, printer: Any) -> str:
        base, divisor = (printer.parenthesize(arg, 999.5) for arg in self.args)
        return f"({base}//{divisor})"


def _split(base: Any, divisor: Any) -> tuple[Any, Any]:
    """The quotients of those terms of a sum that the divisor divides, and the other terms; (None, base) without any."""
    whole: list[Any] = []
    rest: list[Any] = []
    for term in sympy.Add.make_args(base):
        quotient = term / divisor
        (whole if quotient.is_integer else rest).append(quotient if quotient.is_integer else term)
    return (sympy.Add(*whole), sympy.Add(*rest)) if whole else (None, base)


class PythonMod(sympy.Function):
    """``p % q`` of integers, which has the sign of q."""

    nargs = (2,)
    is_integer = True

    @classmethod
    def eval(cls, p: Any, q: Any) -> Any:
        if q.is_zero:
            raise ZeroDivisionError("integer modulo by zero")
        if p.is_zero or q == 1 or p == q and q.is_nonzero:
            return sympy.Integer(0)
        if p.is_Integer and q.is_Integer:
            return sympy.Integer(int(p) % int(q))
        if not q.is_nonzero:
            return None
        whole, rest = _split(p, q)
        return None if whole is None else cls(rest, q)

    def _eval_is_nonnegative(self) -> Any:
        return True if self.args[1].is_positive else None


class Mod(PythonMod):
    """``p % q`` of integers of which neither is negative."""

    is_nonnegative = True

    @classmethod
    def eval(cls, p: Any, q: Any) -> Any:
        found = super().eval(p, q)
        if found is None and p.is_positive and q.is_positive and (p - q).is_negative:
            return p
        return found


class ToFloat(sympy.Function):
    """``float(x)`` of an integer."""

    nargs = (1,)
    is_real = True

    @classmethod
    def eval(cls, x: Any) -> Any:
        return sympy.Float(float(x)) if x.is_number else None

    def _eval_is_nonnegative(self) -> Any:
        return self.args[0].is_nonnegative

    def _eval_is_positive(self) -> Any:
        return self.args[0].is_positive


class IntTrueDiv(sympy.Function):
    """``p / q`` of integers, a float."""

    nargs = (2,)
    is_real = True

    @classmethod
    def eval(cls, p: Any, q: Any) -> Any:
        if q.is_zero:
            raise ZeroDivisionError("division by zero")
        if p.is_Integer and q.is_Integer:
            return sympy.Float(int(p) / int(q))
        return None


class FloatTrueDiv(sympy.Function):
    """``p / q`` of floats."""

    nargs = (2,)
    is_real = True

    @classmethod
    def eval(cls, p: Any, q: Any) -> Any:
        if q.is_zero:
            raise ZeroDivisionError("float division by zero")
        return sympy.Float(float(p) / float(q)) if _numbers(p, q) else None


class PowByNatural(sympy.Function):
    """``base ** exponent`` of integers, the exponent not negative."""

    nargs = (2,)
    is_integer = True

    @classmethod
    def eval(cls, base: Any, exponent: Any) -> Any:
        if exponent.is_Integer:
            return sympy.Pow(base, exponent)
        return None


class FloatPow(sympy.Function):
    """``base ** exponent`` of floats."""

    nargs = (2,)
    is_real = True

    @classmethod
    def eval(cls, base: Any, exponent: Any) -> Any:
        return sympy.Float(float(base) ** float(exponent)) if _numbers(base, exponent) else None


def LShift(base: Any, shift: Any) -> Any:
    """``base << shift``."""
    return base * 2**shift


def RShift(base: Any, shift: Any) -> Any:
    """``base >> shift``."""
    return FloorDiv(base, 2**shift)


def _to_int(name: str, doc: str, of: Any) -> Any:
    def evaluate(cls: Any, x: Any) -> Any:
        if x.is_integer and not isinstance(x, ToFloat):
            return x
        if isinstance(x, ToFloat):
            return x.args[0]
        return sympy.Integer(of(float(x))) if x.is_number else None

    return type(
        name, (sympy.Function,), {"nargs": (1,), "is_integer": True, "eval": classmethod(evaluate), "__doc__": doc}
    )


CeilToInt = _to_int("CeilToInt", "``math.ceil(x)``.", math.ceil)
FloorToInt = _to_int("FloorToInt", "``math.floor(x)``.", math.floor)
TruncToInt = _to_int("TruncToInt", "``math.trunc(x)``.", math.trunc)
RoundToInt = _to_int("RoundToInt", "``round(x)``.", round)


class RoundDecimal(sympy.Function):
    """``round(x, digits)`` of a float."""

    nargs = (2,)
    is_real = True

    @classmethod
    def eval(cls, x: Any, digits: Any) -> Any:
        return sympy.Float(round(float(x), int(digits))) if _numbers(x, digits) else None


def _bitwise(name: str, of: Any) -> Any:
    def evaluate(cls: Any, a: Any, b: Any) -> Any:
        return sympy.Integer(of(int(a), int(b))) if _numbers(a, b) else None

    return type(
        name, (sympy.Function,),
        {"nargs": (2,), "is_integer": True, "eval": classmethod(evaluate), "__doc__": "Bit by bit, of integers."},
    )  # fmt: skip


BitwiseFn_bitwise_and = _bitwise("BitwiseFn_bitwise_and", lambda a, b: a & b)
BitwiseFn_bitwise_or = _bitwise("BitwiseFn_bitwise_or", lambda a, b: a | b)
BitwiseFn_bitwise_xor = _bitwise("BitwiseFn_bitwise_xor", lambda a, b: a ^ b)

_unary: dict[str, Any] = {}


def opaque_unary(name: str) -> Any:
    """``OpaqueUnaryFn_sqrt`` and its kin: a function of `math`, of which nothing is known but its values."""
    if name not in _unary:
        compute = getattr(math, name)

        def evaluate(cls: Any, x: Any) -> Any:
            return sympy.Float(compute(float(x))) if x.is_number else None

        _unary[name] = type(
            f"OpaqueUnaryFn_{name}", (sympy.Function,),
            {"nargs": (1,), "is_real": True, "eval": classmethod(evaluate), "__doc__": f"``math.{name}(x)``."},
        )  # fmt: skip
    return _unary[name]
