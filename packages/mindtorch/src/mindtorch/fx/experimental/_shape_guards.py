"""Guards of a `ShapeEnv` as Python code, and their evaluation on other tensors."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mt_core.symbolic import SymInt
from mt_core.tensor import Tensor

from ..._sources import LocalSource, Source, TensorProperty, TensorPropertySource
from ...utils._sympy._library import sympy
from ...utils._sympy.functions import FloorDiv, PythonMod
from ._symbolic_contexts import (
    ConstraintViolationError,
    DimDynamic,
    RelaxedUnspecConstraint,
    StatelessSymbolicContext,
    StrictMinMaxConstraint,
)

if TYPE_CHECKING:
    from ...utils._sympy.value_ranges import ValueRanges

__all__ = ["GuardPrinter", "GuardProduction"]

_OPERATORS = {"Eq": "==", "Ne": "!=", "Lt": "<", "Le": "<=", "Gt": ">", "Ge": ">="}
_ATOM, _PRODUCT, _SUM = 100, 50, 40


class GuardPrinter:
    """Writes expressions as Python code, each symbol as the expression that reads it.

    Parameters
    ----------
    name_of
        Symbol -> its text.
    """

    def __init__(self, name_of: Callable[[Any], str]) -> None:
        self.name_of = name_of

    def relation(self, expr: Any) -> str:
        """The text of a relation, or of several that hold together."""
        if isinstance(expr, (sympy.And, sympy.Or)):
            word = " and " if isinstance(expr, sympy.And) else " or "
            return word.join(f"({self.relation(arg)})" for arg in expr.args)
        if isinstance(expr, sympy.Not):
            return f"not ({self.relation(expr.args[0])})"
        if expr in (sympy.true, sympy.false):
            return str(expr)
        sign = _OPERATORS[type(expr).__name__.replace("Equality", "Eq").replace("Unequality", "Ne")
                          .replace("StrictLessThan", "Lt").replace("StrictGreaterThan", "Gt")
                          .replace("LessThan", "Le").replace("GreaterThan", "Ge")]  # fmt: skip
        lhs, rhs = (self.side(arg) for arg in expr.args)
        return f"{lhs} {sign} {rhs}"

    def side(self, expr: Any) -> str:
        text = self.text(expr)
        return text if expr.is_number or expr.is_Symbol else f"({text})"

    def text(self, expr: Any) -> str:
        """The text of an expression.

        Raises
        ------
        NotImplementedError
            For a function that has no text.
        """
        return self._written(expr)[0]

    def _in(self, expr: Any, strength: int) -> str:
        text, own = self._written(expr)
        return text if own >= strength else f"({text})"

    def _written(self, expr: Any) -> tuple[str, int]:
        if expr.is_Symbol:
            return self.name_of(expr), _ATOM
        if expr.is_number:
            return (str(int(expr)) if expr.is_Integer else repr(float(expr))), _ATOM if expr >= 0 else _SUM
        if isinstance(expr, sympy.Add):
            return " + ".join(self._in(arg, _SUM) for arg in expr.args), _SUM
        if isinstance(expr, sympy.Mul):
            return "*".join(self._in(arg, _PRODUCT) for arg in expr.args), _PRODUCT
        if isinstance(expr, sympy.Pow) and expr.args[1].is_Integer and expr.args[1] > 0:
            return "*".join([self._in(expr.args[0], _ATOM)] * int(expr.args[1])), _PRODUCT
        if isinstance(expr, FloorDiv):
            return f"{self._in(expr.base, _ATOM)} // {self._in(expr.divisor, _ATOM)}", _SUM
        if isinstance(expr, PythonMod):
            return f"{self._in(expr.args[0], _ATOM)} % {self._in(expr.args[1], _ATOM)}", _SUM
        called = _CALLED.get(type(expr).__name__) or _opaque(type(expr).__name__)
        if called is None:
            raise NotImplementedError(f"guards with {type(expr).__name__} have no text")
        return called.format(*map(self.text, expr.args), all=", ".join(map(self.text, expr.args))), _ATOM


#: Function -> Python code.
_CALLED = {
    "Max": "max({all})", "Min": "min({all})", "ToFloat": "float({0})", "IntTrueDiv": "({0} / {1})",
    "FloatTrueDiv": "({0} / {1})", "CeilToInt": "math.ceil({0})", "FloorToInt": "math.floor({0})",
    "TruncToInt": "math.trunc({0})", "RoundToInt": "round({0})", "RoundDecimal": "round({0}, {1})",
    "PowByNatural": "({0} ** {1})", "FloatPow": "({0} ** {1})", "Abs": "abs({0})",
    "BitwiseFn_bitwise_and": "({0} & {1})", "BitwiseFn_bitwise_or": "({0} | {1})",
    "BitwiseFn_bitwise_xor": "({0} ^ {1})",
}  # fmt: skip


def _opaque(name: str) -> str | None:
    return f"math.{name.removeprefix('OpaqueUnaryFn_')}({{0}})" if name.startswith("OpaqueUnaryFn_") else None


class GuardProduction:
    """What a `ShapeEnv` says of its guards."""

    guards: list[Any]
    backed_var_to_val: dict[Any, Any]
    var_to_sources: dict[Any, list[Source]]
    replace: Callable[[Any], Any]
    _maybe_evaluate_static: Callable[[Any], Any]
    specialize_zero_one: bool

    @property
    def var_to_range(self) -> dict[Any, ValueRanges]:
        raise NotImplementedError("of a ShapeEnv")

    # As code

    def produce_guards(self, *args: Any, **kwargs: Any) -> list[str]:
        """Guards on arguments as Python code; see `produce_guards_verbose`."""
        return self.produce_guards_verbose(*args, **kwargs)[0].exprs

    def produce_guards_verbose(
        self, placeholders: Sequence[Any], sources: Sequence[Source],
        source_ref: Callable[[Source], str] = lambda source: source.name, *, guards: list[Any] | None = None,
        input_contexts: Any = None, equalities_inputs: Any = None, _simplified: bool = False,
        ignore_static: bool = True, langs: tuple[str, ...] = ("python",),
    ) -> list[Any]:  # fmt: skip
        """For what other arguments a program would have run the same, as Python code.

        Parameters
        ----------
        placeholders
            The fake tensors and symbolic integers that were the arguments.
        sources
            Where each can be read.
        source_ref
            Source -> its text.
        guards
            In place of all guards.
        input_contexts
            For each argument, None or the symbolic context that it was made with, whose constraints are checked.
        ignore_static
            Leave out sizes that were numbers from the start.

        Raises
        ------
        ConstraintViolationError
            Where a size that was to stay free did not.
        NotImplementedError
            For `equalities_inputs`: they are not checked here.
        """
        if equalities_inputs is not None and (equalities_inputs.source_pairs or equalities_inputs.derived_equalities):
            raise NotImplementedError("ShapeEnv.produce_guards(equalities_inputs) is not supported by mindtorch")
        places = list(_places(placeholders, sources))
        _check_constraints(self, placeholders, sources, input_contexts, source_ref)
        first: dict[Any, Source] = {}
        for source, value in places:
            expr = self.replace(_expression(value))
            if expr.is_Symbol:
                first.setdefault(expr, source)
        printer = GuardPrinter(lambda symbol: self._text_of(symbol, first, source_ref))
        exprs = list(self._equalities(places, first, printer, source_ref, ignore_static))
        for guard in self.guards if guards is None else guards:
            if self._maybe_evaluate_static_without_guards(guard.expr) is not sympy.true:
                exprs.append(printer.relation(self.replace(guard.expr)))
        exprs += self._bounds(first, printer)
        return [_Produced(exprs)] * len(langs)

    def _text_of(self, symbol: Any, first: dict[Any, Source], source_ref: Callable[[Source], str]) -> str:
        if symbol in first:
            return source_ref(first[symbol])
        known = self.var_to_sources.get(symbol)
        if known:
            return source_ref(known[0])
        raise AssertionError(f"{symbol} (could be from no argument): it is no size, stride or offset of an argument")

    def _equalities(
        self, places: Any, first: Any, printer: GuardPrinter, source_ref: Any, ignore_static: bool
    ) -> Any:  # fmt: skip
        """Of numbers that are not the first place of a symbol: what they equal."""
        for source, value in places:
            original, expr = _expression(value), self.replace(_expression(value))
            if expr.is_Symbol and first[expr] is source:
                continue
            if expr.is_number and original.is_number and (ignore_static or isinstance(value, int)):
                if not ignore_static:
                    yield f"{source_ref(source)} == {expr}"
                continue
            yield f"{source_ref(source)} == {printer.text(expr)}"

    def _bounds(self, first: dict[Any, Source], printer: GuardPrinter) -> Any:
        for symbol in first:
            if symbol not in self.backed_var_to_val:
                continue
            known = self.var_to_range[symbol]
            implied = known.lower.is_infinite or known.lower == 0 and symbol.is_nonnegative
            parts = [*([] if implied else [str(known.lower)]), printer.text(symbol)]
            if not known.upper.is_infinite:
                parts.append(str(known.upper))
            if len(parts) > 1:
                yield " <= ".join(parts)

    def _maybe_evaluate_static_without_guards(self, expr: Any) -> Any:
        """Whether a guard says nothing any more: by what its symbols have become, or by their ranges."""
        expr = self.replace(expr)
        if expr in (sympy.true, sympy.false):
            return expr
        if isinstance(expr, sympy.core.relational.Relational):
            return self._facts._relation_by_range(expr)  # type: ignore[attr-defined]
        return None

    def produce_guards_expression(
        self, placeholders: Sequence[Any], *, guards: list[Any] | None = None, ignore_static: bool = True
    ) -> str | None:
        """`produce_guards` as one expression of ``L['t0']``, ``L['t1']`` ...; None without any."""
        sources = [LocalSource(f"t{i}") for i in range(len(placeholders))]
        produced = self.produce_guards(placeholders, sources, guards=guards, ignore_static=ignore_static)
        return " and ".join(produced) if produced else None

    def evaluate_guards_expression(self, code: str, args: Sequence[Any]) -> bool:
        """Whether what `produce_guards_expression` gave holds for other arguments."""
        names = {"L": {f"t{i}": value for i, value in enumerate(args)}, "math": math}
        return bool(eval(code, {**names, "max": max, "min": min}))  # noqa: S307 - our own text

    def evaluate_guards_for_args(
        self, placeholders: Sequence[Any], args: Sequence[Any], *, ignore_static: bool = True
    ) -> bool:
        """Whether the program would have run the same on other arguments."""
        code = self.produce_guards_expression(placeholders, ignore_static=ignore_static)
        return code is None or self.evaluate_guards_expression(code, args)

    # Values

    def bind_symbols(self, placeholders: Sequence[Any], args: Sequence[Any]) -> dict[Any, int]:
        """Symbol -> its value, for other arguments in place of those that the symbols were made for.

        Raises
        ------
        AssertionError
            Where one symbol would have two values.
        """
        found: dict[Any, int] = {}
        sources = [LocalSource(f"t{i}") for i in range(len(placeholders))]
        given = [value for _, value in _places(args, sources)]
        for (_, value), other in zip(_places(placeholders, sources), given, strict=True):
            expr = self.replace(_expression(value))
            if expr.is_Symbol:
                if found.setdefault(expr, other) != other:
                    raise AssertionError(f"{expr} is {found[expr]} and {other}")
            elif expr.is_number and not (-expr).is_Symbol and int(expr) != other:
                raise AssertionError(f"{expr} is given as {other}")
        return found

    def evaluate_symexpr(self, code: str) -> Any:
        """The value of an expression of names of symbols, in the example."""
        names = {str(symbol): int(value) for symbol, value in self.backed_var_to_val.items()}
        return eval(code, {"math": math, "max": max, "min": min}, names)  # noqa: S307 - expressions of ours

    def get_nontrivial_guards(self) -> list[Any]:
        """The guards that do not follow from what is known otherwise."""
        return [
            self.replace(guard.expr) for guard in self.guards
            if self._maybe_evaluate_static_without_guards(guard.expr) is not sympy.true
        ]  # fmt: skip

    def get_pruned_guards(self, symints: Sequence[Any]) -> list[Any]:
        """The guards of the symbols of some symbolic integers."""
        symbols = {s for value in symints if isinstance(value, SymInt) for s in value.node.expr.free_symbols}
        return [guard for guard in self.guards if self.replace(guard.expr).free_symbols & symbols]

    def format_guards(self, verbose: bool = False) -> str:
        """The guards as a list."""
        return "\n".join(f" - {guard.expr}" for guard in self.guards)


class _Produced:
    """The text of guards."""

    def __init__(self, exprs: list[str]) -> None:
        self.exprs = exprs


def _expression(value: Any) -> Any:
    """The expression of a number, before anything was found out of its symbols."""
    return value.node._expr if isinstance(value, SymInt) else sympy.Integer(operator.index(value))


def _places(values: Sequence[Any], sources: Sequence[Source]) -> Any:
    """(source, number) of each size, stride and offset of tensors, and of each integer."""
    for value, source in zip(values, sources, strict=True):
        if isinstance(value, (SymInt, int)) and not isinstance(value, bool):
            yield source, value
        elif isinstance(value, Tensor):
            for i, size in enumerate(value.shape):
                yield TensorPropertySource(source, TensorProperty.SIZE, i), size
            for i, step in enumerate(value.stride()):
                yield TensorPropertySource(source, TensorProperty.STRIDE, i), step
            yield TensorPropertySource(source, TensorProperty.STORAGE_OFFSET), value.storage_offset()


def _check_constraints(env: Any, placeholders: Any, sources: Any, contexts: Any, source_ref: Any) -> None:
    """Whether sizes that were to stay free did.

    Raises
    ------
    ConstraintViolationError
        Listing those that did not.
    """
    wrong = []
    for value, source, context in zip(placeholders, sources, contexts or ()):
        if not isinstance(context, StatelessSymbolicContext) or not isinstance(value, Tensor):
            continue
        for i, constraint in enumerate(context.constraint_sizes):
            if constraint is None or context.dynamic_sizes[i] is DimDynamic.STATIC:
                continue
            name = source_ref(TensorPropertySource(source, TensorProperty.SIZE, i))
            broken = _violation(env, constraint, env.replace(_expression(value.shape[i])), name)
            if broken is not None and not constraint.warn_only:
                wrong.append((name, broken))
    if wrong:
        raise ConstraintViolationError(
            f"Constraints violated ({', '.join(name for name, _ in wrong)})! For more information, run with "
            'TORCH_LOGS="+dynamic".\n' + "\n".join(f"  - {why}" for _, why in wrong)
        )


def _violation(env: Any, constraint: Any, expr: Any, name: str) -> str | None:
    if expr.is_number:
        return (
            f"You marked {name} as dynamic but your code specialized it to be a constant ({expr}). If you're using "
            "mark_dynamic, either remove it or use maybe_mark_dynamic. If you're using Dim.DYNAMIC, replace it with "
            "either Dim.STATIC or Dim.AUTO."
        )
    if isinstance(constraint, StrictMinMaxConstraint) and not constraint.vr.issubset(env.bound_sympy(expr)):
        return f"Not all values of {name} in the specified range {constraint.vr} satisfy {env.bound_sympy(expr)}."
    if isinstance(constraint, (StrictMinMaxConstraint, RelaxedUnspecConstraint)):
        return None
    raise NotImplementedError(f"constraints of the class {type(constraint).__name__}")
