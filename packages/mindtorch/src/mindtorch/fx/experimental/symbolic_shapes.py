"""``torch.fx.experimental.symbolic_shapes``: programs run on tensors whose sizes are symbols.

How a fake tensor with dynamic dimensions is made, and how guards are read::

    env = ShapeEnv()
    mode = FakeTensorMode(shape_env=env)
    context = StatelessSymbolicContext(
        dynamic_sizes=[DimDynamic.DYNAMIC, DimDynamic.STATIC],            # one for each dimension
        constraint_sizes=[StrictMinMaxConstraint(False, ValueRanges(2, 64)), None],
    )
    fake = mode.from_tensor(x, source=LocalSource("x"), symbolic_context=context)
    fake.shape                       # torch.Size([s77, 3]); fake.shape[0].node.expr is a symbol of sympy

    ... run the program on it, inside of `mode` or a tracer's ...

    env.guards                       # [ShapeGuard(expr=...)]: what was relied on
    env.replacements                 # symbol -> expression it was found to equal (``{s77: 4}`` where it was fixed)
    env.var_to_range                 # symbol -> ValueRanges
    env.produce_guards([fake], [LocalSource("x")], input_contexts=[context])   # Python code; ConstraintViolationError
    env.evaluate_guards_for_args([fake], [other])     # whether another tensor would have run the same
    env.bind_symbols([fake], [other])                 # symbol -> int

Without a context, each size gets the symbol of its value (``DUCK``); ``mode.from_tensor(x, static_shapes=True)`` keeps
numbers. A symbolic integer that a program computes with has ``node.expr``; `guard_int(s)` fixes it, with a guard.

The functions here take ordinary numbers as well, and need sympy for symbolic ones only; `ShapeEnv` needs it.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from typing import Any

from mt_core.symbolic import SYMBOLIC, SymBool, SymFloat, SymInt
from mt_core.tensor import Tensor

from ..._symbolic import sym_not
from ._symbolic_contexts import (
    ConstraintViolationError,
    DimDynamic,
    EqualityConstraint,
    GuardOnDataDependentSymNode,
    RelaxedUnspecConstraint,
    StatefulSymbolicContext,
    StatelessSymbolicContext,
    StrictMinMaxConstraint,
    SubclassSymbolicContext,
    SymbolicContext,
)

__all__ = [
    "ConstraintViolationError", "DimDynamic", "EqualityConstraint", "GuardOnDataDependentSymNode",
    "RelaxedUnspecConstraint", "StatefulSymbolicContext", "StatelessSymbolicContext", "StrictMinMaxConstraint",
    "SubclassSymbolicContext", "SymbolicContext", "bind_symbols", "constrain_range", "constrain_unify",
    "context_of_marks", "definitely_true", "eval_guards", "expect_true", "free_symbols", "free_unbacked_symbols",
    "guard_bool", "guard_float", "guard_int", "guard_or_false", "guard_or_true", "guard_scalar",
    "guard_size_oblivious", "guarding_hint_or_throw", "has_free_symbols", "has_free_unbacked_symbols",
    "has_guarding_hint", "has_static_value", "has_symbolic_sizes_strides", "hint_int", "is_concrete_bool",
    "is_concrete_float", "is_concrete_int", "is_nested_int", "is_symbolic", "optimization_hint",
    "statically_known_false", "statically_known_true", "sym_and", "sym_eq", "sym_or",
]  # fmt: skip

for _class in (
    ConstraintViolationError, DimDynamic, EqualityConstraint, GuardOnDataDependentSymNode, RelaxedUnspecConstraint,
    StatefulSymbolicContext, StatelessSymbolicContext, StrictMinMaxConstraint, SubclassSymbolicContext, SymbolicContext,
):  # fmt: skip
    _class.__module__ = __name__

#: What needs sympy, and where it is.
_NEED_SYMPY = {
    "ShapeEnv": "._shape_env", "ShapeEnvSettings": "._shape_env", "ShapeGuard": "._shape_env",
    "RuntimeAssert": "._shape_env", "SymNode": ".sym_node",
    "ValueRanges": "...utils._sympy.value_ranges", "bound_sympy": "...utils._sympy.value_ranges",
    "int_oo": "...utils._sympy.numbers",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    place = _NEED_SYMPY.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # with what needs sympy, which is not needed for the rest

    found = getattr(import_module(place, __package__), name)
    globals()[name] = found
    return found


# Values


def guard_int(a: Any) -> int:
    """The value of an integer, with a guard that it stays so."""
    return a.node.guard_int("", 0) if isinstance(a, SymInt) else _of_type(a, int)  # type: ignore[no-any-return]


def guard_float(a: Any) -> float:
    """The value of a float, with a guard that it stays so."""
    return a.node.guard_float("", 0) if isinstance(a, SymFloat) else _of_type(a, float)  # type: ignore[no-any-return]


def guard_bool(a: Any) -> bool:
    """The truth value, with a guard that it stays so."""
    return a.node.guard_bool("", 0) if isinstance(a, SymBool) else _of_type(a, bool)  # type: ignore[no-any-return]


def _of_type(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise AssertionError(f"expected {kind.__name__}, got {type(value)}")
    return value


def guard_scalar(a: Any) -> Any:
    """The value of a number, with a guard that it stays so."""
    if isinstance(a, (SymBool, bool)):
        return guard_bool(a)
    return guard_int(a) if isinstance(a, (SymInt, int)) else guard_float(a)


def guard_size_oblivious(expr: Any) -> bool:
    """The truth value, where sizes that depend on elements count as larger than 1."""
    return expr.node.guard_size_oblivious("", 0) if isinstance(expr, SymBool) else _of_type(expr, bool)  # type: ignore[no-any-return]


def guard_or_false(a: Any) -> bool:
    """The truth value, with a guard; False where it depends on elements and nothing tells."""
    return a.node.guard_or_false("", 0) if isinstance(a, SymBool) else bool(a)


def guard_or_true(a: Any) -> bool:
    """The truth value, with a guard; True where it depends on elements and nothing tells."""
    return a.node.guard_or_true("", 0) if isinstance(a, SymBool) else bool(a)


def statically_known_true(x: Any) -> bool:
    """Whether it is true whatever the sizes are; no guard."""
    return x.node.statically_known_true("", 0) if isinstance(x, SymBool) else bool(x)


def statically_known_false(x: Any) -> bool:
    """Whether it is false whatever the sizes are; no guard."""
    return statically_known_true(sym_not(x))


definitely_true = statically_known_true


def expect_true(a: Any, skip: int = 0) -> bool:
    """Rely on a relation: by a guard, or as a check of numbers that depend on elements."""
    return a.node.expect_true("", 0) if isinstance(a, SymBool) else _of_type(a, bool)  # type: ignore[no-any-return]


def hint_int(a: Any, fallback: int | None = None) -> int:
    """The value of an integer in the example, without a guard: for choices that change no result.

    Raises
    ------
    GuardOnDataDependentSymNode
        Where there is none, and no `fallback`.
    """
    if not isinstance(a, SymInt):
        return _of_type(a, int)  # type: ignore[no-any-return]
    hint = a.node.hint
    if hint is None and fallback is None:
        return int(a.node.shape_env.size_hint(a.node.expr))
    return fallback if hint is None else hint  # type: ignore[return-value]


optimization_hint = hint_int
guarding_hint_or_throw = hint_int


def has_guarding_hint(a: Any) -> bool:
    """Whether a number has a value in the example."""
    return a.node.has_hint() if isinstance(a, SYMBOLIC) else True  # type: ignore[attr-defined]


def is_concrete_int(a: Any) -> bool:
    """Whether an integer is constant."""
    return a.node.known() is not None if isinstance(a, SymInt) else isinstance(a, int)


def is_concrete_float(a: Any) -> bool:
    """Whether a float is constant."""
    return a.node.known() is not None if isinstance(a, SymFloat) else isinstance(a, float)


def is_concrete_bool(a: Any) -> bool:
    """Whether a truth value is constant."""
    return a.node.known() is not None if isinstance(a, SymBool) else isinstance(a, bool)


def has_static_value(a: Any) -> bool:
    """Whether a number has one value, whatever the sizes are."""
    if not isinstance(a, SYMBOLIC):
        return True
    node = a.node  # type: ignore[attr-defined]
    return node.known() is not None or node.shape_env._maybe_evaluate_static(node.expr) is not None


def is_symbolic(val: Any) -> bool:
    """Whether a number is symbolic."""
    return isinstance(val, SYMBOLIC) and val.node.is_symbolic()  # type: ignore[attr-defined]


def is_nested_int(s: Any) -> bool:
    """Whether it stands for the sizes of a nested tensor: there are none."""
    return False


# Relations


def sym_and(x: Any, *others: Any) -> Any:
    """``x and ...``, without a guard."""
    return functools.reduce(operator.and_, others, x)


def sym_or(x: Any, *others: Any) -> Any:
    """``x or ...``, without a guard."""
    return functools.reduce(operator.or_, others, x)


def sym_eq(x: Any, y: Any) -> Any:
    """Whether two numbers, or sequences of numbers, are equal, without a guard."""
    if isinstance(x, (tuple, list)) and isinstance(y, (tuple, list)):
        if len(x) != len(y):
            return False
        return functools.reduce(operator.and_, map(sym_eq, x, y), True)
    if isinstance(x, (int, SymInt)) and isinstance(y, (int, SymInt)):
        return x == y
    raise AssertionError(f"unexpected sym_eq between {type(x)} {type(y)}")


def constrain_range(a: Any, *, min: int | None, max: int | None = None) -> None:
    """Take for known that an integer is in a range.

    Raises
    ------
    ValueError
        Where it is a constant outside of it.
    """
    from ...utils._sympy.numbers import int_oo  # as needs sympy

    low, high = -int_oo if min is None else min, int_oo if max is None else max
    if high < low:
        raise ValueError(f"Maximum value to constrain_as_size can't be less than the specified min value, received min={low} and max={high}")  # fmt: skip # noqa: E501
    if isinstance(a, int):
        if not low <= a <= high:
            raise ValueError(f"Invalid value {a} for range [{low}:{high}]")
        return
    symbol = a.node.expr
    if not symbol.is_Symbol:
        raise AssertionError("constraining non-Symbols NYI")
    a.node.shape_env.constrain_symbol_range(symbol, low, high)


def constrain_unify(a: Any, b: Any) -> None:
    """Take for known that two integers are equal.

    Raises
    ------
    ValueError
        For constants that differ.
    """
    same = a == b
    if isinstance(same, bool):
        if not same:
            raise ValueError(f"{a} and {b} are not equal")
    elif not same.node.shape_env.guard_or_defer_runtime_assert(same.node.expr, ""):
        raise ValueError(f"{a} and {b} are not equal")


# What is symbolic


def _expressions(value: Any) -> Iterator[Any]:
    if isinstance(value, SYMBOLIC):
        yield value.node.expr  # type: ignore[attr-defined]
    elif isinstance(value, Tensor):
        yield from _expressions([*value.shape, *value.stride(), value.storage_offset()])
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _expressions(item)
    elif hasattr(value, "free_symbols"):
        yield value


def free_symbols(val: Any) -> Any:
    """The symbols in a number, an expression, a tensor's layout, or several of them."""
    found: set[Any] = set()
    return found.union(*[expr.free_symbols for expr in _expressions(val)])


def has_free_symbols(val: Any) -> bool:
    """Whether there are any `free_symbols`."""
    return bool(free_symbols(val))


def free_unbacked_symbols(x: Any) -> Any:
    """The symbols of numbers that depend on elements."""
    return {symbol for symbol in free_symbols(x) if symbol.name.startswith(("u", "zuf"))}


def has_free_unbacked_symbols(x: Any) -> bool:
    """Whether there are any `free_unbacked_symbols`."""
    return bool(free_unbacked_symbols(x))


def has_symbolic_sizes_strides(elem: Tensor) -> bool:
    """Whether a tensor's layout has a symbolic number."""
    return any(isinstance(value, SymInt) for value in (*elem.shape, *elem.stride(), elem.storage_offset()))


def context_of_marks(tensor: Tensor, static: bool = False) -> StatelessSymbolicContext:
    """What the sizes of a tensor become where its caller has not said so, by `torch._dynamo.mark_dynamic` and kin."""
    marks = tensor.__dict__
    sizes, constraints = [], []
    for dim in range(tensor.dim()):
        dynamic = dim in marks.get("_dynamo_dynamic_indices", ())
        weak = dim in marks.get("_dynamo_weak_dynamic_indices", ())
        fixed = dim in marks.get("_dynamo_static_indices", ())
        if fixed or static and not (dynamic or weak):
            sizes.append(DimDynamic.STATIC)
        else:
            sizes.append(DimDynamic.DYNAMIC if dynamic else DimDynamic.DUCK)
        constraints.append(RelaxedUnspecConstraint(warn_only=False) if dynamic and not fixed else None)
    return StatelessSymbolicContext(dynamic_sizes=sizes, constraint_sizes=constraints)


# Graphs


def fx_placeholder_vals(gm: Any) -> list[Any]:
    """What the arguments of a graph looked like when it was traced."""
    return [node.meta["val"] for node in gm.graph.nodes if node.op == "placeholder"]


def fx_placeholder_targets(gm: Any) -> list[str]:
    """The names of the arguments of a graph."""
    return [node.target for node in gm.graph.nodes if node.op == "placeholder"]


def eval_guards(gm: Any, *args: Any, ignore_static: bool = True) -> bool:
    """Whether a graph that `make_fx` made is right for other arguments."""
    return gm.shape_env.evaluate_guards_for_args(fx_placeholder_vals(gm), args, ignore_static=ignore_static)  # type: ignore[no-any-return]


def bind_symbols(gm: Any, *args: Any) -> dict[Any, int]:
    """Symbol -> its value, for arguments of a graph that `make_fx` made."""
    return gm.shape_env.bind_symbols(fx_placeholder_vals(gm), args)  # type: ignore[no-any-return]
