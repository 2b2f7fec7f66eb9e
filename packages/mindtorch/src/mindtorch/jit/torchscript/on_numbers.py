"""Operators on numbers. Integers have 64 bits, as in PyTorch's interpreter."""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable
from typing import Any

from .sequences import concatenated, repeated
from .table import PLAIN, enter
from .types import BOOL, COMPLEX, FLOAT, INT, NUMBER, STR, UNKNOWN, Type

__all__ = ["add", "wrapped"]

_HALF = 1 << 63
_MASK = (1 << 64) - 1


def wrapped(number: int) -> int:
    """An integer in 64 bits."""
    return ((number + _HALF) & _MASK) - _HALF


def _arithmetic(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def compute(a: Any, b: Any) -> Any:
        result = function(a, b)
        return wrapped(result) if type(result) is int and not -_HALF <= result < _HALF else result

    return compute


_sub = _arithmetic(operator.sub)
_add_numbers = _arithmetic(operator.add)
_mul_numbers = _arithmetic(operator.mul)


def add(a: Any, b: Any) -> Any:
    """The sum of numbers, or two texts or lists one after the other."""
    if isinstance(a, (str, list)):
        return concatenated(a, b)
    return _add_numbers(a, b)


def _mul(a: Any, b: Any) -> Any:
    if isinstance(a, (list, str)) or isinstance(b, list):
        return repeated(a, b)
    return _mul_numbers(a, b)


def _div(a: Any, b: Any) -> Any:
    if b == 0 and not isinstance(a, complex):
        a = float(a)
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, float(b))
    return a / b


def _floordiv(a: Any, b: Any) -> Any:
    if b == 0:
        if isinstance(a, int) and isinstance(b, int):
            raise RuntimeError("division by 0")
        quotient = _div(a, b)
        return quotient
    if isinstance(a, int) and isinstance(b, int):
        return wrapped(a // b)
    return float(math.floor(a / b)) if math.isfinite(a / b) else a / b


def _remainder(a: Any, b: Any) -> Any:
    if b == 0:
        if isinstance(a, int) and isinstance(b, int):
            raise RuntimeError("division by 0")
        return math.nan
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    return math.fmod(math.fmod(a, b) + b, b) if math.isfinite(a) else math.nan


def _divmod(a: Any, b: Any) -> Any:
    if b == 0:
        raise RuntimeError("ZeroDivisionError: " + ("integer division or modulo by zero" if isinstance(a, int)
                           and isinstance(b, int) else "float divmod()"))  # fmt: skip
    return divmod(a, b)


def _pow(a: Any, b: Any) -> Any:
    if isinstance(a, complex) or isinstance(b, complex):
        return complex(a) ** complex(b)
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and float(b) % 2 == 1 else math.inf
    except ValueError:
        return math.inf if a == 0 else math.nan


def _round_to_zero(a: int, b: int) -> int:
    if b == 0:
        raise RuntimeError("division by 0")
    return wrapped(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1))


def _of_float(function: Callable[[float], float], other: Callable[[complex], complex] | None = None) -> Any:
    """A function of the C library: what Python raises for is nan or infinite there."""

    def compute(a: Any) -> Any:
        if isinstance(a, complex) and other is not None:
            return other(a)
        try:
            return function(float(a))
        except ValueError:
            return -math.inf if a == 0 and function in (math.log, math.log2, math.log10) else math.nan
        except OverflowError:
            return math.inf

    return compute


_FLOAT_FUNCTIONS = {
    "sqrt": _of_float(math.sqrt, cmath.sqrt), "exp": _of_float(math.exp, cmath.exp), "sin": _of_float(math.sin),
    "cos": _of_float(math.cos), "tan": _of_float(math.tan), "asin": _of_float(math.asin), "acos": _of_float(math.acos),
    "atan": _of_float(math.atan), "sinh": _of_float(math.sinh), "cosh": _of_float(math.cosh),
    "tanh": _of_float(math.tanh), "asinh": _of_float(math.asinh), "acosh": _of_float(math.acosh),
    "atanh": _of_float(math.atanh), "log10": _of_float(math.log10, cmath.log10), "log1p": _of_float(math.log1p),
    "expm1": _of_float(math.expm1), "erf": _of_float(math.erf), "erfc": _of_float(math.erfc),
    "gamma": _of_float(math.gamma), "lgamma": _of_float(math.lgamma), "degrees": _of_float(math.degrees),
    "radians": _of_float(math.radians), "fabs": _of_float(math.fabs),
}  # fmt: skip
_log_of = _of_float(math.log, cmath.log)


def _log(a: Any, base: Any = None) -> Any:
    return _log_of(a) if base is None else _div(_log_of(a), _log_of(base))


def _round(a: Any) -> Any:
    return float(round(a)) if math.isfinite(a) else a


def _gcd(a: int, b: int) -> int:
    return math.gcd(a, b)


def _fmod(a: Any, b: Any) -> float:
    return math.fmod(a, b) if b != 0 else math.nan


def _mathremainder(a: Any, b: Any) -> float:
    return math.remainder(a, b) if b != 0 else math.nan


def _factorial(a: int) -> int:
    if a < 0:
        raise RuntimeError("factorial() not defined for negative values")
    result = 1
    for factor in range(2, min(a, 70) + 1):
        result = wrapped(result * factor)
    return result if a <= 70 else 0


def _shift_left(a: int, b: int) -> int:
    return wrapped(a << (b & 63))


def _shift_right(a: int, b: int) -> int:
    return a >> (b & 63)


def _range_length(low: int, high: int, step: int) -> int:
    if step == 0:
        raise RuntimeError("range() arg 3 must not be zero")
    return len(range(low, high, step))


def _as_int(value: Any) -> int:
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            raise RuntimeError(f"invalid literal for int() with base 10: '{value}'") from None
    return _whole(value, int)


def _whole(value: Any, function: Callable[[Any], int]) -> int:
    if isinstance(value, float) and not -_HALF <= value < _HALF:
        raise RuntimeError(f"Cannot convert float {value:f} to integer")
    return wrapped(function(value))


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except ValueError:
        raise RuntimeError(f"could not convert string to float: '{value}'") from None


def _wider(types: list[Type]) -> Type:
    """The type of sums and products of numbers."""
    known = {INT: 0, FLOAT: 1, COMPLEX: 2}
    if all(t in known for t in types):
        return max(types, key=known.__getitem__)
    if len(types) == 2 and types[0].name in ("str", "List") and types[0] == types[1]:
        return types[0]
    if len(types) == 2 and {types[0].name, types[1].name} == {"List", "int"}:
        return next(t for t in types if t.name == "List")
    return NUMBER if all(t in known or t == NUMBER for t in types) else UNKNOWN


def _of_division(types: list[Type]) -> Type:
    return COMPLEX if COMPLEX in types else FLOAT if all(t in (INT, FLOAT) for t in types) else UNKNOWN


def _bitwise(types: list[Type]) -> Type:
    return types[0] if types[0] in (INT, BOOL) else UNKNOWN


def _abs_type(types: list[Type]) -> Type:
    return FLOAT if types[0] == COMPLEX else types[0]


def _of_extremes(types: list[Type]) -> Type:
    if len(types) == 1:
        return types[0].parts[0] if types[0].name == "List" else UNKNOWN
    return types[0] if types[0] == types[1] else _wider(types)


def _extreme(function: Callable[..., Any]) -> Callable[..., Any]:
    def compute(*args: Any) -> Any:
        found = function(*args)
        if len(args) == 2 and isinstance(args[0], (int, float)) and {type(a) for a in args} == {int, float}:
            return float(found)
        if len(args) == 1 and not args[0]:
            raise RuntimeError("max() arg is an empty sequence")
        return found

    return compute


def _identity(value: Any) -> Any:
    return value


enter(PLAIN, {"add": add, "sub": _sub, "mul": _mul}, _wider)
enter(PLAIN, {"div": _div}, _of_division)
enter(PLAIN, {"floordiv": _floordiv, "remainder": _remainder}, _wider)
enter(PLAIN, {"pow": _pow}, _of_division)
enter(PLAIN, {"neg": lambda a: wrapped(-a) if type(a) is int else -a}, lambda types: types[0])
enter(PLAIN, {"divmod": _divmod, "frexp": math.frexp, "modf": math.modf})
enter(PLAIN, {"__and__": operator.and_, "__or__": operator.or_, "__xor__": operator.xor}, _bitwise)
enter(PLAIN, {"__lshift__": _shift_left, "__rshift__": _shift_right, "__round_to_zero_floordiv": _round_to_zero}, INT)
enter(PLAIN, {"gcd": _gcd, "factorial": _factorial, "bitwise_not": lambda a: ~a}, INT)
enter(PLAIN, {"floor": lambda a: _whole(a, math.floor), "ceil": lambda a: _whole(a, math.ceil)}, INT)
enter(PLAIN, {"round": _round, "fmod": _fmod, "mathremainder": _mathremainder, "copysign": math.copysign}, FLOAT)
enter(PLAIN, {"ldexp": math.ldexp, "atan2": math.atan2}, FLOAT)
enter(PLAIN, dict(_FLOAT_FUNCTIONS), lambda types: COMPLEX if types[0] == COMPLEX else FLOAT)
enter(PLAIN, {"log": _log}, lambda types: COMPLEX if COMPLEX in types else FLOAT)
enter(PLAIN, {"abs": abs}, _abs_type)
enter(PLAIN, {"real": lambda a: complex(a).real, "imag": lambda a: complex(a).imag, "angle": cmath.phase}, FLOAT)
enter(PLAIN, {"isnan": lambda a: a != a, "isinf": cmath.isinf, "isfinite": cmath.isfinite}, BOOL)
enter(PLAIN, {"min": _extreme(min), "max": _extreme(max)}, _of_extremes)
enter(PLAIN, {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt}, BOOL)
enter(PLAIN, {"ge": operator.ge}, BOOL)
enter(PLAIN, {"__range_length": _range_length, "__derive_index": lambda i, start, step: wrapped(start + i * step)}, INT)
enter(PLAIN, {"Int": _as_int}, INT)
enter(PLAIN, {"Float": _as_float}, FLOAT)
enter(PLAIN, {"Bool": bool}, BOOL)
enter(PLAIN, {"Complex": complex}, COMPLEX)
enter(PLAIN, {"hex": hex, "oct": oct, "bin": bin, "chr": chr}, STR)
enter(PLAIN, {"ord": ord, "hash": hash}, INT)
