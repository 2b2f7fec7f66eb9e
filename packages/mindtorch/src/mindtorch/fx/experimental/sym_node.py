"""``torch.fx.experimental.sym_node``: what a symbolic number computes with."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from mt_core.python_dispatch import mode_of_kind
from mt_core.symbolic import SymBool, SymFloat, SymInt

from ...utils._python_dispatch import _TorchDispatchModeKey
from ...utils._sympy._library import sympy
from ...utils._sympy.functions import (
    BitwiseFn_bitwise_and,
    BitwiseFn_bitwise_or,
    BitwiseFn_bitwise_xor,
    CeilToInt,
    FloatPow,
    FloatTrueDiv,
    FloorDiv,
    FloorToInt,
    IntTrueDiv,
    LShift,
    Max,
    Min,
    Mod,
    PowByNatural,
    PythonMod,
    RoundDecimal,
    RoundToInt,
    RShift,
    ToFloat,
    TruncToInt,
    opaque_unary,
)

__all__ = ["SymNode", "to_node", "wrapped"]

_CLASSES: dict[type, type] = {int: SymInt, float: SymFloat, bool: SymBool}
_SYMBOLIC = (SymInt, SymFloat, SymBool)
_RELATIONS = {"eq": sympy.Eq, "ne": sympy.Ne, "lt": sympy.Lt, "le": sympy.Le, "gt": sympy.Gt, "ge": sympy.Ge}


def _mod(a: Any, b: Any) -> Any:
    return (Mod if a.is_nonnegative and b.is_nonnegative else PythonMod)(a, b)


def _power(a: Any, b: Any) -> Any:
    return a**b if b.is_Integer and b >= 0 else PowByNatural(a, b)


#: Name -> what it gives of two integers.
_INTEGERS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": FloorDiv, "mod": _mod, "pow": _power,
    "sym_max": Max, "sym_min": Min, "lshift": LShift, "rshift": RShift, "bitwise_and": BitwiseFn_bitwise_and,
    "bitwise_or": BitwiseFn_bitwise_or, "bitwise_xor": BitwiseFn_bitwise_xor,
}  # fmt: skip
#: Name -> what it gives of two floats.
_FLOATS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": FloatTrueDiv, "pow": FloatPow,
    "sym_max": Max, "sym_min": Min, "floordiv": lambda a, b: ToFloat(FloorToInt(FloatTrueDiv(a, b))),
}  # fmt: skip
#: Name -> what Python calls it.
_PYTHON: dict[str, Any] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow, "eq": operator.eq, "ne": operator.ne,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "lshift": operator.lshift,
    "rshift": operator.rshift, "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "and": operator.and_, "or": operator.or_, "neg": operator.neg, "pos": operator.pos, "abs": operator.abs,
    "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "round": round, "round_digits": round,
}  # fmt: skip
#: Name -> the function of ``torch`` that computes it; entered by `mindtorch._symbolic`.
SYM_FUNCTIONS: dict[str, Any] = {}


class SymNode:
    """An expression of symbols, the environment that knows them, and of which Python type its value is.

    Parameters
    ----------
    expr
        Of sympy.
    shape_env
        The `ShapeEnv`, or None for a constant.
    pytype
        ``int``, ``float`` or ``bool``.
    hint
        Its value in the example that the environment goes by, or None where there is none; found when asked for if it
        is not given.
    """

    def __init__(
        self, expr: Any, shape_env: Any, pytype: type, hint: Any = None, constant: Any = None, fx_node: Any = None,
        optimized_summation: bool = False,
    ) -> None:  # fmt: skip
        self._expr = sympy.sympify(expr)
        self.shape_env = shape_env
        self.pytype = pytype
        self._hint = hint
        self.constant = constant
        self.fx_node = fx_node

    @property
    def expr(self) -> Any:
        """The expression, of those symbols that are known to equal no other expression."""
        return self._expr if self.shape_env is None else self.shape_env.replace(self._expr)

    @property
    def hint(self) -> Any:
        """The value in the example; None for what depends on elements. Whoever reads it relies on nothing."""
        if self._hint is None and self.shape_env is not None:
            found = self.shape_env.size_hint(self.expr, allow_none=True)
            self._hint = None if found is None else self._as_python(found)
        return self._hint if self.shape_env is not None else self.known()

    def has_hint(self) -> bool:
        """Whether there is a value in the example."""
        return self.hint is not None

    def _as_python(self, value: Any) -> Any:
        return bool(value) if self.pytype is bool else self.pytype(value)

    def known(self) -> Any:
        """The value where the expression is a constant; else None."""
        expr = self.expr
        if self.pytype is bool:
            return bool(expr) if expr in (sympy.true, sympy.false) else None
        return self._as_python(expr) if expr.is_number else None

    def maybe_as_int(self) -> int | None:
        """`known`, of an integer."""
        return self.known() if self.pytype is int else None

    def maybe_as_float(self) -> float | None:
        """`known`, of a float."""
        return self.known() if self.pytype is float else None

    def maybe_as_bool(self) -> bool | None:
        """`known`, of a truth value."""
        return self.known() if self.pytype is bool else None

    def is_int(self) -> bool:
        return self.pytype is int

    def is_float(self) -> bool:
        return self.pytype is float

    def is_bool(self) -> bool:
        return self.pytype is bool

    def is_symbolic(self) -> bool:
        return True

    def is_constant(self) -> bool:
        return False

    def is_nested_int(self) -> bool:
        return False

    def __str__(self) -> str:
        return str(self.expr)

    __repr__ = __str__

    # Values that are relied on

    def guard_int(self, file: Any, line: Any) -> int:
        """The value, with a guard that it stays so."""
        return int(self._guarded())

    def guard_float(self, file: Any, line: Any) -> float:
        """The value, with a guard that it stays so."""
        return float(self._guarded())

    def guard_bool(self, file: Any, line: Any) -> bool:
        """The value, with a guard that it stays so."""
        return bool(self._guarded())

    def int_(self) -> int:
        return self.guard_int("", 0)

    def bool_(self) -> bool:
        return self.guard_bool("", 0)

    def _guarded(self) -> Any:
        known = self.known()
        return known if known is not None else self.shape_env.evaluate_expr(self.expr)

    def guard_size_oblivious(self, file: Any, line: Any) -> bool:
        """As `guard_bool`, where sizes that depend on elements count as larger than 1."""
        known = self.known()
        return bool(self.shape_env.evaluate_expr(self.expr, size_oblivious=True)) if known is None else known

    def guard_or_false(self, file: Any, line: Any) -> bool:
        """As `guard_bool`; False where it depends on elements."""
        known = self.known()
        return bool(self.shape_env.evaluate_expr(self.expr, fallback_value=False)) if known is None else known

    def guard_or_true(self, file: Any, line: Any) -> bool:
        """As `guard_bool`; True where it depends on elements."""
        known = self.known()
        return bool(self.shape_env.evaluate_expr(self.expr, fallback_value=True)) if known is None else known

    def statically_known_true(self, file: Any, line: Any) -> bool:
        """Whether it is true whatever the sizes are, for all that is known of them; no guard."""
        known = self.known()
        return self.shape_env._maybe_evaluate_static(self.expr) is sympy.true if known is None else known

    def expect_true(self, file: Any, line: Any) -> bool:
        """Rely on it: by a guard, or as an assertion of the values that it depends on."""
        known = self.known()
        return self.shape_env.guard_or_defer_runtime_assert(self.expr, "") if known is None else known

    # Arithmetic

    def operate(self, name: str, left: Any, right: Any) -> Any:
        """The symbolic number that a function of two numbers gives."""
        a, b = to_node(left, self.shape_env), to_node(right, self.shape_env)
        made = wrapped(_computed(name, a, b))
        if made.node.pytype is float and name != "truediv":
            left, right = (_as_float(side) if name != "round_digits" else side for side in (left, right))
        return _noted(_PYTHON.get(name) or SYM_FUNCTIONS[name], (left, right), made)

    def of_layout(self, name: str, left: Any, right: Any) -> Any:
        """`operate` for those who describe a layout: it is no part of the program."""
        return wrapped(_computed(name, to_node(left, self.shape_env), to_node(right, self.shape_env)))

    def binary(self, name: str, other: Any) -> Any:
        """`operate` of its own number and another."""
        return self.operate(name, wrapped(self), other)

    def unary(self, name: str) -> Any:
        """The symbolic number that a function of its own number gives."""
        made = wrapped(_computed_one(name, self))
        return _noted(_PYTHON.get(name) or SYM_FUNCTIONS[name], (wrapped(self),), made)

    def choice(self, yes: Any, no: Any) -> Any:
        """`yes` where it is true, else `no`."""
        a, b = to_node(yes, self.shape_env), to_node(no, self.shape_env)
        if a.pytype is not b.pytype:
            raise TypeError(f"sym_ite: {a.pytype.__name__} and {b.pytype.__name__} are of different types")
        made = SymNode(sympy.Piecewise((a.expr, self.expr), (b.expr, True)), self.shape_env, a.pytype)
        return _noted(SYM_FUNCTIONS["sym_ite"], (wrapped(self), yes, no), wrapped(made))

    def sum_of(self, numbers: Any) -> Any:
        """The sum of several integers."""
        total = sympy.Add(*[to_node(number, self.shape_env).expr for number in numbers])
        made = wrapped(SymNode(total, self.shape_env, int))
        return _noted(SYM_FUNCTIONS["sym_sum"], (tuple(numbers),), made)

    def wrap_int(self, value: int) -> SymNode:
        """The node of a constant."""
        return SymNode(sympy.Integer(value), self.shape_env, int)

    def wrap_float(self, value: float) -> SymNode:
        """The node of a constant."""
        return SymNode(sympy.Float(value), self.shape_env, float)

    def wrap_bool(self, value: bool) -> SymNode:
        """The node of a constant."""
        return SymNode(sympy.true if value else sympy.false, self.shape_env, bool)

    def __getattr__(self, name: str) -> Any:
        """``node.add(other)`` and its kin: functions of nodes."""
        plain = {"and_": "and", "or_": "or", "sym_and": "and", "sym_or": "or", "int_floordiv": "floordiv"}.get(
            name, name
        )
        if plain in _UNARY:
            return lambda: _computed_one(plain, self)
        if plain in _INTEGERS or plain in _RELATIONS or plain in ("truediv", "int_truediv", "and", "or"):
            return lambda other: _computed(plain.replace("int_true", "true"), self, other)
        raise AttributeError(f"'SymNode' object has no attribute {name!r}")


def _as_float(side: Any) -> Any:
    """An integer as a float."""
    if isinstance(side, SymInt):
        return side.node.unary("sym_float")
    return float(side) if isinstance(side, int) else side


def to_node(value: Any, shape_env: Any) -> SymNode:
    """The node of a symbolic number, or of a constant."""
    if isinstance(value, _SYMBOLIC):
        return value.node  # type: ignore[no-any-return]
    if isinstance(value, bool):
        return SymNode(sympy.true if value else sympy.false, shape_env, bool)
    if isinstance(value, int):
        return SymNode(sympy.Integer(value), shape_env, int)
    if isinstance(value, float):
        return SymNode(sympy.Float(value), shape_env, float)
    raise TypeError(f"{type(value).__name__} is no number that sizes are computed with")


def wrapped(node: SymNode) -> Any:
    """The symbolic number of a node."""
    return _CLASSES[node.pytype](node)


def _noted(function: Any, args: tuple[Any, ...], made: Any) -> Any:
    """What was computed, which a mode that writes a graph is told of, or else who watches the environment."""
    mode = mode_of_kind(_TorchDispatchModeKey.PROXY)
    if mode is not None:
        mode.note_symbolic(function, args, made)
    elif made.node.shape_env is not None and made.node.shape_env.watcher is not None:
        made.node.shape_env.watcher(function, args, made)
    return made


def _integral(node: SymNode) -> SymNode:
    """A truth value as an integer."""
    if node.pytype is not bool:
        return node
    return SymNode(sympy.Piecewise((1, node.expr), (0, True)), node.shape_env, int)


def _computed(name: str, a: SymNode, b: SymNode) -> SymNode:
    env = a.shape_env if a.shape_env is not None else b.shape_env
    if env is not b.shape_env and b.shape_env is not None and b.expr.free_symbols:
        raise AssertionError("symbolic numbers of different shape environments cannot be mixed")
    if name in ("and", "or"):
        if a.pytype is not bool or b.pytype is not bool:
            raise TypeError(f"{name} of a {a.pytype.__name__} and a {b.pytype.__name__}")
        return SymNode((sympy.And if name == "and" else sympy.Or)(a.expr, b.expr), env, bool)
    if a.pytype is bool and b.pytype is bool and name in ("eq", "ne"):
        same = sympy.Equivalent(a.expr, b.expr)
        return SymNode(same if name == "eq" else sympy.Not(same), env, bool)
    a, b = _integral(a), _integral(b)
    if name in _RELATIONS:
        return SymNode(_RELATIONS[name](*_alike(a, b)), env, bool)
    if a.pytype is int and b.pytype is int:
        if name == "truediv":
            return SymNode(IntTrueDiv(a.expr, b.expr), env, float)
        if name == "pow" and b.expr.is_negative:
            return SymNode(FloatPow(ToFloat(a.expr), ToFloat(b.expr)), env, float)
        return SymNode(_INTEGERS[name](a.expr, b.expr), env, int)
    if name == "round_digits":
        return SymNode(RoundDecimal(a.expr, b.expr), env, float)
    if name not in _FLOATS:
        raise TypeError(f"unsupported operand types for {name}: '{a.pytype.__name__}' and '{b.pytype.__name__}'")
    return SymNode(_FLOATS[name](*_alike(a, b)), env, float)


def _alike(a: SymNode, b: SymNode) -> tuple[Any, Any]:
    """The expressions of two numbers, both as floats if one is."""
    if a.pytype is b.pytype:
        return a.expr, b.expr
    return tuple(n.expr if n.pytype is float else ToFloat(n.expr) for n in (a, b))  # type: ignore[return-value]


_MATH = "sqrt cos cosh sin sinh tan tanh asin acos atan log2".split()
_UNARY = {"neg", "pos", "abs", "floor", "ceil", "trunc", "round", "sym_float", "sym_int", "sym_not",
          *(f"sym_{name}" for name in _MATH)}  # fmt: skip


def _computed_one(name: str, a: SymNode) -> SymNode:
    env = a.shape_env
    if name == "sym_not":
        return SymNode(sympy.Not(a.expr), env, bool)
    a = _integral(a)
    if name == "neg":
        return SymNode(-a.expr, env, a.pytype)
    if name == "pos":
        return a
    if name == "abs":
        return SymNode(abs(a.expr), env, a.pytype)
    if name == "sym_float":
        return SymNode(ToFloat(a.expr) if a.pytype is int else a.expr, env, float)
    if name in ("floor", "ceil", "trunc", "round", "sym_int"):
        make = {"floor": FloorToInt, "ceil": CeilToInt, "round": RoundToInt}.get(name, TruncToInt)
        return a if a.pytype is int else SymNode(make(a.expr), env, int)
    return SymNode(opaque_unary(name.removeprefix("sym_"))(_computed_one("sym_float", a).expr), env, float)


from ... import _symbolic as _functions  # noqa: E402 - which computes with what is defined above

SymNode.str = SymNode.__str__  # type: ignore[attr-defined]
SYM_FUNCTIONS.update({name: getattr(_functions, name) for name in _functions.__all__ if name.startswith("sym_")})
SYM_FUNCTIONS.update({f"sym_{name}": getattr(_functions, f"_sym_{name}") for name in _MATH})
