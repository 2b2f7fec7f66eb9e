"""``ShapeEnv``: the symbols of sizes, what is known of them, and what a program has relied on (guards)."""

from __future__ import annotations

import contextlib
import hashlib
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mt_core.symbolic import SymBool, SymFloat, SymInt

from ..._sources import AttrSource, ConstantSource, Source, TensorProperty, TensorPropertySource
from ...utils._sympy._library import sympy
from ...utils._sympy.functions import PythonMod
from ...utils._sympy.value_ranges import ValueRanges, bound_sympy
from ._shape_facts import Facts, solved_for
from ._shape_guards import GuardProduction
from ._symbolic_contexts import DimDynamic, GuardOnDataDependentSymNode, StrictMinMaxConstraint
from .sym_node import SymNode, wrapped

__all__ = ["RuntimeAssert", "ShapeEnv", "ShapeEnvSettings", "ShapeGuard"]

_log = logging.getLogger("torch.fx.experimental.symbolic_shapes")
_oo = sympy.oo


class ShapeGuard(NamedTuple):
    """A relation that a program relied on."""

    expr: Any
    sloc: Any = None
    size_oblivious: bool = False


class RuntimeAssert(NamedTuple):
    """A relation, of numbers that depend on elements, that is to be checked when the program runs."""

    expr: Any
    msg: str = ""
    stack: Any = None


@dataclass
class ShapeEnvSettings:
    """What a `ShapeEnv` was made with."""

    allow_scalar_outputs: bool
    allow_dynamic_output_shape_ops: bool
    assume_static_by_default: bool
    specialize_zero_one: bool
    duck_shape: bool
    prefer_deferred_runtime_asserts_over_guards: bool
    trace_asserts: bool


def _refuse(**options: Any) -> None:
    """Refuse the first of several options that is set."""
    for name, given in options.items():
        if given:
            raise NotImplementedError(f"ShapeEnv({name}=True) is not supported by mindtorch")


class ShapeEnv(GuardProduction):
    """Knows the symbols that stand for sizes, and records the relations of them that a program has relied on.

    A symbol has a *hint*, the size in the example that the program is run on. A question whose answer does not follow
    from what is known (``s > 4``) is answered by the hint, and a guard records the answer; guards together say for
    which other sizes the run would have been the same.

    Parameters
    ----------
    allow_scalar_outputs, allow_dynamic_output_shape_ops
        Numbers read from elements, and shapes that depend on elements, become symbols without a hint (``u0``); else
        they are refused.
    assume_static_by_default
        Sizes of tensors are numbers, unless a symbolic context or `torch._dynamo.mark_dynamic` says otherwise.
    specialize_zero_one
        Sizes of 0 and 1 are numbers.
    duck_shape
        Sizes that are equal in the example have one symbol.

    Attributes
    ----------
    guards
        List of `ShapeGuard`.
    replacements
        Symbol -> the expression that it was found to equal.
    var_to_range
        Symbol -> the range of its values.
    var_to_val, backed_var_to_val
        Symbol -> its hint.
    var_to_sources
        Symbol -> where its value can be read.
    deferred_runtime_asserts
        Symbol without a hint -> what is to be checked of it when the program runs.
    """

    def __init__(
        self, *, should_record_events: bool | None = None, tracked_fakes: list[Any] | None = None, **kwargs: Any
    ) -> None:
        _refuse(should_record_events=should_record_events)
        self.tracked_fakes = tracked_fakes
        self._init(**kwargs)

    def _init(
        self, *, allow_scalar_outputs: bool = True, allow_dynamic_output_shape_ops: bool = True,
        assume_static_by_default: bool = False, specialize_zero_one: bool = True, duck_shape: bool | None = None,
        co_fields: dict[str, str] | None = None, prefer_deferred_runtime_asserts_over_guards: bool = False,
        trace_asserts: bool = False,
    ) -> None:  # fmt: skip
        _refuse(
            trace_asserts=trace_asserts,
            prefer_deferred_runtime_asserts_over_guards=prefer_deferred_runtime_asserts_over_guards,
        )
        self.settings = ShapeEnvSettings(
            allow_scalar_outputs, allow_dynamic_output_shape_ops, assume_static_by_default, specialize_zero_one,
            duck_shape is None or duck_shape, False, False,
        )  # fmt: skip
        self.allow_scalar_outputs = allow_scalar_outputs
        self.allow_dynamic_output_shape_ops = allow_dynamic_output_shape_ops
        self.assume_static_by_default = assume_static_by_default
        self.specialize_zero_one = specialize_zero_one
        self.duck_shape = True if duck_shape is None else duck_shape
        self.co_fields = dict(co_fields or {})
        self.guards: list[ShapeGuard] = []
        self.backed_var_to_val: dict[Any, Any] = {}
        self.var_to_sources: dict[Any, list[Source]] = {}
        self.source_to_var: dict[str, Any] = {}
        self.val_to_var: dict[int, Any] = {}
        self.unique_ids: set[int] = set()
        self.deferred_runtime_asserts: dict[Any, list[RuntimeAssert]] = {}
        self.size_like: set[Any] = set()
        self.frozen = False
        #: Told of what a program computes of symbols: (function, arguments, result).
        self.watcher: Callable[[Any, tuple[Any, ...], Any], None] | None = None
        self._facts = Facts()
        self._suppressed = 0
        self._large = 0
        self._unbacked_counters = {int: 0, float: 0}
        self._unnamed = 0
        self.pending_fresh_unbacked_symbols: list[Any] = []

    @property
    def var_to_val(self) -> dict[Any, Any]:
        return self.backed_var_to_val

    @property
    def replacements(self) -> dict[Any, Any]:
        return self._facts.replacements

    @property
    def var_to_range(self) -> dict[Any, ValueRanges]:
        return self._facts.var_to_range

    # Symbols

    def _generate_unique_id(self, source_name: str) -> int:
        """The number of a symbol: it follows from the source, and is the next free one where that is taken."""
        found = int(hashlib.sha256(source_name.encode()).hexdigest(), 16) % 100
        while found in self.unique_ids:
            found += 1
        self.unique_ids.add(found)
        return found

    def create_symbol(
        self, val: int, source: Source, dynamic_dim: DimDynamic = DimDynamic.DUCK, constraint_dim: Any = None,
        positive: bool | None = True, do_not_specialize_zero_one: bool = False, symbolic_context: Any = None,
    ) -> Any:  # fmt: skip
        """The symbol of a size, or its value where it is to be a number.

        Parameters
        ----------
        val
            The hint.
        source
            Where the size can be read.
        dynamic_dim
            Whether it is a symbol at all, and whether of its own.
        constraint_dim
            A `StrictMinMaxConstraint` gives the range.
        positive
            Whether it is at least 0; None where that is not known.
        """
        known = self.source_to_var.get(source.name)
        if known is not None:
            return known
        if dynamic_dim is DimDynamic.UNBACKED:
            made = self.source_to_var[source.name] = self.create_unbacked_symint(source).node.expr
            return self._sized(made)
        specializes = self.specialize_zero_one and not do_not_specialize_zero_one
        if dynamic_dim is DimDynamic.STATIC or val in (0, 1) and specializes:
            return sympy.Integer(val)
        shared = self.duck_shape and dynamic_dim in (DimDynamic.DUCK, DimDynamic.INFER_STRIDE)
        if shared and val in self.val_to_var:
            symbol = self.source_to_var[source.name] = self.val_to_var[val]
            self.var_to_sources[symbol].append(source)
            return symbol
        least = 2 if specializes and positive else 0 if positive else -_oo
        assumed = {"positive": True} if least == 2 else {"nonnegative": True} if least == 0 else {}
        symbol = sympy.Symbol(f"s{self._generate_unique_id(source.name)}", integer=True, **assumed)
        self._enter(symbol, val, source, ValueRanges(least, _oo))
        if isinstance(constraint_dim, StrictMinMaxConstraint):
            self._narrow(symbol, constraint_dim.vr)
        if shared:
            self.val_to_var[val] = symbol
        return symbol

    def _enter(self, symbol: Any, val: Any, source: Source, values: ValueRanges) -> None:
        self.backed_var_to_val[symbol] = sympy.sympify(val)
        self.var_to_sources[symbol] = [source]
        self.source_to_var[source.name] = symbol
        self.var_to_range[symbol] = values
        self._facts.changed()

    def _sized(self, symbol: Any) -> Any:
        """An unbacked symbol, which is a size."""
        self.size_like.add(symbol)
        self._narrow(symbol, ValueRanges(0, _oo))
        return symbol

    def create_unspecified_symbol(
        self, val: Any, source: Source, dynamic_dim: DimDynamic = DimDynamic.DUCK, constraint_dim: Any = None,
        symbolic_context: Any = None,
    ) -> Any:  # fmt: skip
        """The symbol of a number that is an argument, of which nothing is known."""
        if isinstance(val, float):
            raise NotImplementedError("ShapeEnv.create_unspecified_symbol: symbols of floats are not supported")
        return self.create_symbol(
            val, source, dynamic_dim, constraint_dim, positive=None, do_not_specialize_zero_one=True
        )

    def create_unspecified_symint_and_symbol(self, value: int, source: Source, dynamic_dim: DimDynamic) -> Any:
        """A symbolic integer for a number that is an argument."""
        return self.create_symintnode(
            self.create_unspecified_symbol(value, source, dynamic_dim), hint=value, source=source
        )

    def create_symintnode(self, sym: Any, *, hint: Any, source: Source | None = None) -> Any:
        """The symbolic integer of an expression; the integer where that is a constant."""
        sym = sympy.sympify(sym)
        return int(sym) if sym.is_number else SymInt(SymNode(sym, self, int, hint))

    def create_symfloatnode(self, sym: Any, *, hint: Any, source: Source | None = None) -> Any:
        """The symbolic float of an expression."""
        sym = sympy.sympify(sym)
        return float(sym) if sym.is_number else SymFloat(SymNode(sym, self, float, hint))

    def create_symboolnode(self, sym: Any) -> Any:
        """The symbolic truth value of a relation."""
        return SymBool(SymNode(sym, self, bool))

    def create_unbacked_symint(self, source: Source | None = None) -> SymInt:
        """An integer that depends on elements: nothing is known of it, and it has no hint."""
        symbol = sympy.Symbol(f"u{self._unbacked_counters[int]}", integer=True)
        self._unbacked_counters[int] += 1
        return SymInt(self._unbacked(symbol, int))

    def create_unbacked_symfloat(self) -> SymFloat:
        """A float that depends on elements."""
        symbol = sympy.Symbol(f"zuf{self._unbacked_counters[float]}", real=True)
        self._unbacked_counters[float] += 1
        return SymFloat(self._unbacked(symbol, float))

    def create_unbacked_symbool(self) -> SymBool:
        """A truth value that depends on elements."""
        symbol = sympy.Symbol(f"u{self._unbacked_counters[int]}", integer=True)
        self._unbacked_counters[int] += 1
        node = self._unbacked(symbol, int)
        self.var_to_range[symbol] = ValueRanges(0, 1)
        return SymBool(SymNode(sympy.Eq(node.expr, 1), self, bool))

    def _unbacked(self, symbol: Any, kind: type) -> SymNode:
        self.var_to_range[symbol] = ValueRanges(-_oo, _oo)
        self.pending_fresh_unbacked_symbols.append(symbol)
        return SymNode(symbol, self, kind)

    def new_size(self, *, min: int = 0, max: int | None = None) -> SymInt:
        """A size that depends on elements, within bounds."""
        made = self.create_unbacked_symint()
        symbol = made.node.expr
        self._sized(symbol)
        self._narrow(symbol, ValueRanges(min, _oo if max is None else max))
        return made

    @contextlib.contextmanager
    def sizes_are_large(self) -> Iterator[None]:
        """Inside of it, sizes that depend on elements count as larger than 1: where layouts are described."""
        self._large += 1
        try:
            yield
        finally:
            self._large -= 1

    def is_unbacked_symint(self, symbol: Any) -> bool:
        """Whether a symbol stands for a number that depends on elements."""
        return symbol not in self.backed_var_to_val

    # Layouts of tensors

    def unknown_source(self) -> Source:
        """A name of its own for a tensor that nobody knows how to read."""
        self._unnamed += 1
        return ConstantSource(f"__meta_utils_unknown_tensor{self._unnamed - 1}")

    def symbol_of_memory(self, nbytes: int, source: Source) -> Any:
        """A symbolic integer for the number of bytes of a tensor's memory, where its layout does not tell."""
        at = AttrSource(source, "untyped_storage().nbytes()")
        symbol = self.create_symbol(nbytes, at, DimDynamic.DYNAMIC, do_not_specialize_zero_one=True)
        return self.create_symintnode(symbol, hint=nbytes)

    def in_example(self, value: Any) -> Any:
        """A number, or what a symbolic one is in the example; None where it depends on elements. No guard."""
        return value.node.hint if isinstance(value, SymInt) else value

    def create_symbolic_sizes_strides_storage_offset(
        self, ex: Any, source: Source | None = None, *, symbolic_context: Any = None
    ) -> tuple[tuple[Any, ...], tuple[Any, ...], Any]:
        """Symbolic shape, strides and offset for a tensor; numbers where they are to be numbers.

        A stride that is the product of a size and the stride next to it is that expression, so that a contiguous
        tensor stays contiguous.
        """
        source = self.unknown_source() if source is None else source
        context = symbolic_context if symbolic_context is not None else self._context_for(ex)
        sizes = [
            self.create_symbol(
                value, TensorPropertySource(source, TensorProperty.SIZE, i), context.dynamic_sizes[i],
                context.constraint_sizes[i],
            )
            for i, value in enumerate(_plain(ex.shape))
        ]  # fmt: skip
        strides = self._strides(_plain(ex.shape), _plain(ex.stride()), sizes, source, context)
        offset = self.create_symbol(
            _plain([ex.storage_offset()])[0], TensorPropertySource(source, TensorProperty.STORAGE_OFFSET),
            _of_offset(context),
        )  # fmt: skip
        numbers = [self.create_symintnode(expr, hint=None) for expr in (*sizes, *strides, offset)]
        return tuple(numbers[: len(sizes)]), tuple(numbers[len(sizes) : -1]), numbers[-1]

    def _context_for(self, ex: Any) -> Any:
        from .symbolic_shapes import context_of_marks  # late: which gives this class its public place

        return context_of_marks(ex, self.assume_static_by_default)

    def _strides(self, shape: Sequence[int], steps: Sequence[int], sizes: Any, source: Source, context: Any) -> Any:
        found: list[Any] = [None] * len(shape)
        #: step -> expression, of the steps that follow from the dimensions so far
        following: dict[int, Any] = {}
        for dim in sorted(range(len(shape)), key=lambda d: (steps[d], -d)):
            step = steps[dim]
            if context.dynamic_strides[dim] is not DimDynamic.INFER_STRIDE or step in (0, 1):
                how = context.dynamic_strides[dim]
                at = TensorPropertySource(source, TensorProperty.STRIDE, dim)
                found[dim] = sympy.Integer(step) if step in (0, 1) else self.create_symbol(step, at, how)
            elif step in following:
                found[dim] = following[step]
            else:
                at = TensorPropertySource(source, TensorProperty.STRIDE, dim)
                found[dim] = self.create_symbol(step, at, DimDynamic.INFER_STRIDE)
            following.setdefault(step * shape[dim], found[dim] * sizes[dim])
        return found

    # Values

    def replace(self, expr: Any) -> Any:
        """An expression with symbols replaced by what they equal."""
        return self._facts.replace(expr)

    def simplify(self, expr: Any, size_oblivious: bool = False) -> Any:
        """An expression in fewer symbols, and what is known of relations; without a guard."""
        expr = self.replace(expr)
        return expr

    def bound_sympy(self, expr: Any, size_oblivious: bool = False) -> ValueRanges:
        """The range of an expression."""
        return bound_sympy(self.replace(expr), self.var_to_range)

    def size_hint(self, expr: Any, *, allow_none: bool = False) -> Any:
        """The value of an expression in the example.

        Raises
        ------
        GuardOnDataDependentSymNode
            Where it depends on elements, unless None may be the answer.
        """
        value = self._in_example(expr)
        if value is None and not allow_none:
            raise self._depends_on_elements(self.replace(expr))
        return value

    guarding_hint_or_throw = size_hint

    def _in_example(self, expr: Any) -> Any:
        expr = self.replace(sympy.sympify(expr))
        value = expr.xreplace(self.backed_var_to_val)
        return value if not value.free_symbols else None

    def _maybe_evaluate_static(self, expr: Any, *, size_oblivious: bool = False, **unused: Any) -> Any:
        """What an expression is for all sizes that are possible; None where that depends on them. No guard."""
        expr = self.replace(expr)
        if size_oblivious:
            expr = expr.xreplace({s: self._as_large(s) for s in expr.free_symbols & self.size_like})
        return self._facts.decide(expr)

    def _as_large(self, symbol: Any) -> Any:
        """The symbol that stands for a size that depends on elements, taken to be larger than 1."""
        large = sympy.Symbol(f"{symbol}", integer=True, positive=True)
        known = self.var_to_range[symbol]
        self.var_to_range[large] = ValueRanges(max(2, known.lower), max(2, known.upper))
        return large

    def evaluate_expr(
        self, orig_expr: Any, hint: Any = None, fx_node: Any = None, size_oblivious: bool = False,
        fallback_value: bool | None = None, *, forcing_spec: bool = False,
    ) -> Any:  # fmt: skip
        """The value of an expression, with a guard that it stays so where that does not follow from what is known.

        Parameters
        ----------
        size_oblivious
            Sizes that depend on elements count as larger than 1.
        fallback_value
            The answer where it depends on elements.

        Raises
        ------
        GuardOnDataDependentSymNode
            Where it depends on elements.
        """
        expr = self.replace(sympy.sympify(orig_expr))
        found = self._maybe_evaluate_static(expr, size_oblivious=size_oblivious or self._large > 0)
        if found is not None:
            return found
        value = self._in_example(expr)
        if value is None:
            if fallback_value is not None:
                return sympy.sympify(fallback_value)
            raise self._depends_on_elements(expr)
        if not self._suppressed:
            self._guard(expr, value)
        return value

    def _guard(self, expr: Any, value: Any) -> None:
        if value is sympy.true or value is sympy.false:
            relation = expr if value is sympy.true else sympy.Not(expr)
        else:
            relation = sympy.Eq(expr, value)
        if self.frozen:
            _log.warning("Ignored guard %s == %s, this could result in accuracy problems", expr, value)
            return
        self.guards.append(ShapeGuard(relation))
        self._learn(relation)

    def _depends_on_elements(self, expr: Any) -> GuardOnDataDependentSymNode:
        sizes = ", ".join(sorted(map(str, expr.free_symbols & self.size_like))) or "none"
        what = "guard on" if expr.is_Boolean or expr.is_Relational else "extract specialized integer from"
        return GuardOnDataDependentSymNode(
            expr,
            f"Could not {what} data-dependent expression {expr} (unhinted: {expr}).  (Size-like symbols: {sizes})\n\n"
            "consider using data-dependent friendly APIs such as guard_or_false, guard_or_true and "
            "statically_known_true.",
        )

    def guard_or_defer_runtime_assert(self, orig_expr: Any, msg: str, fx_node: Any = None) -> bool:
        """Rely on a relation: by a guard, or, where it depends on elements, as a check for when the program runs."""
        expr = self.replace(orig_expr)
        found = self._maybe_evaluate_static(expr)
        if found is not None:
            return bool(found)
        if self._in_example(expr) is not None:
            return bool(self.evaluate_expr(expr))
        for symbol in expr.free_symbols:
            if self.is_unbacked_symint(symbol):
                self.deferred_runtime_asserts.setdefault(symbol, []).append(RuntimeAssert(expr, msg))
        self._learn(expr)
        return True

    # What follows from a relation that holds

    def _learn(self, relation: Any) -> None:
        if isinstance(relation, sympy.And):
            for part in relation.args:
                self._learn(part)
            return
        self._facts.learn(relation)
        if isinstance(relation, sympy.Eq):
            self._learn_equality(relation)
        elif isinstance(relation, sympy.core.relational.Relational):
            self._learn_bound(relation)

    def _learn_equality(self, relation: Any) -> None:
        lhs, rhs = relation.args
        if lhs.atoms(PythonMod) or rhs.atoms(PythonMod) or not (lhs.is_integer and rhs.is_integer):
            return
        by_size = sorted(relation.free_symbols, key=self._replaceability, reverse=True)
        for symbol in by_size:
            value = solved_for(symbol, lhs, rhs)
            if value is not None and value.is_integer and self._may_replace(symbol, value):
                self._set_replacement(symbol, value)
                return
        if len(by_size) == 1:
            self._learn_multiple(by_size[0], sympy.expand(lhs - rhs))

    def _learn_multiple(self, symbol: Any, difference: Any) -> None:
        """From ``k * symbol + c == 0``, the value."""
        factor = difference.coeff(symbol, 1)
        rest = sympy.expand(difference - factor * symbol)
        if factor.is_Integer and factor != 0 and rest.is_Integer and rest % factor == 0:
            self._set_replacement(symbol, -rest / factor)

    def _replaceability(self, symbol: Any) -> tuple[Any, ...]:
        """Numbers that depend on elements are replaced first, then those with larger hints and later names."""
        hint = self.backed_var_to_val.get(symbol)
        return hint is None, 0 if hint is None else int(hint), symbol.name

    def _may_replace(self, symbol: Any, value: Any) -> bool:
        """Whether a symbol that equals an expression may be read as it: that must be in its range by itself."""
        if self.is_unbacked_symint(symbol) or value.is_number:
            return True
        if not all(s in self.backed_var_to_val for s in value.free_symbols):
            return False
        known = self.var_to_range[symbol]
        if value.is_Symbol:
            return True
        return self.bound_sympy(value).issubset(known)

    def _set_replacement(self, symbol: Any, value: Any) -> None:
        known = self.var_to_range[symbol]
        if value.is_number:
            self._narrow(symbol, ValueRanges(value, value))
        elif value.is_Symbol:
            self._narrow(value, known)
            self._narrow(symbol, self.var_to_range[value])
        else:
            self._narrow(symbol, self.bound_sympy(value))
        self.replacements[symbol] = value
        self._facts.changed()

    def _learn_bound(self, relation: Any) -> None:
        """Narrow the range of a symbol that stands alone on one side of an inequality."""
        for symbol in relation.free_symbols:
            value = solved_for(symbol, relation.lhs, relation.rhs)
            if value is None:
                continue
            difference = sympy.expand(relation.lhs - relation.rhs)
            flipped = difference.coeff(symbol, 1) == -1
            bounds = self.bound_sympy(value)
            kind = type(relation)
            if kind is sympy.Ne:
                self._exclude(symbol, value)
                continue
            upper = kind in (sympy.Lt, sympy.Le)
            strict = 1 if kind in (sympy.Lt, sympy.Gt) else 0
            if upper is not flipped:
                self._narrow(symbol, ValueRanges(-_oo, bounds.upper - strict))
            else:
                self._narrow(symbol, ValueRanges(bounds.lower + strict, _oo))

    def _exclude(self, symbol: Any, value: Any) -> None:
        known = self.var_to_range[symbol]
        if value.is_number and value == known.lower:
            self._narrow(symbol, ValueRanges(value + 1, _oo))
        elif value.is_number and value == known.upper:
            self._narrow(symbol, ValueRanges(-_oo, value - 1))

    def _narrow(self, symbol: Any, values: ValueRanges) -> None:
        found = self.var_to_range[symbol] & values
        if found != self.var_to_range[symbol]:
            self.var_to_range[symbol] = found
            self._facts.changed()
            if found.is_singleton() and symbol not in self.replacements:
                self.replacements[symbol] = found.lower
                self._facts.changed()

    def constrain_symbol_range(self, s: Any, compiler_min: Any, compiler_max: Any) -> None:
        """Narrow the range of a symbol to what the caller knows of it."""
        self._narrow(s, ValueRanges(compiler_min, compiler_max))

    @contextlib.contextmanager
    def suppress_guards(self) -> Iterator[None]:
        """Inside of it, answers that rely on the example leave no guard: for whoever asks without relying on it."""
        self._suppressed += 1
        try:
            yield
        finally:
            self._suppressed -= 1

    @contextlib.contextmanager
    def ignore_fresh_unbacked_symbols(self) -> Iterator[None]:
        """Inside of it, new symbols without a hint are not expected to be part of a result."""
        kept = list(self.pending_fresh_unbacked_symbols)
        try:
            yield
        finally:
            self.pending_fresh_unbacked_symbols[:] = kept

    def freeze(self) -> None:
        """From now on, no guard is recorded; each that would be is logged as a warning."""
        self.frozen = True

    def wrap(self, expr: Any, kind: type = int) -> Any:
        """The symbolic number of an expression."""
        return wrapped(SymNode(expr, self, kind))


def _plain(values: Any) -> list[int]:
    return [value.node.hint if isinstance(value, SymInt) else int(value) for value in values]


def _of_offset(context: Any) -> DimDynamic:
    static = all(how is DimDynamic.STATIC for how in context.dynamic_sizes)
    return DimDynamic.STATIC if static else DimDynamic.DUCK
