"""Sizes that vary, while a module is exported: their symbols, what is computed of them, and what is relied on."""

from __future__ import annotations

import contextlib
import itertools
import operator
from collections.abc import Iterator
from typing import Any

from mt_core import Tensor
from mt_core.keys import TRACING
from mt_core.state import tls
from mt_core.symbolic import SYMBOLIC, SymInt, has_symbols, plain
from mt_library.ops import ops

from .._dynamo.exc import UserError
from .._sources import ConstantSource, GetItemSource, LocalSource, Source, TensorProperty, TensorPropertySource
from .._subclasses.fake_tensor import is_fake
from ..fx.experimental._interpreted import interpreted
from ..fx.experimental._shape_env import ShapeEnv
from ..fx.experimental._shape_guards import GuardPrinter
from ..fx.experimental._symbolic_slots import SymbolicSlots, note_layout
from ..fx.experimental.symbolic_shapes import (
    ConstraintViolationError,
    DimDynamic,
    StatelessSymbolicContext,
    StrictMinMaxConstraint,
)
from ..fx.graph import Graph
from ..fx.node import Node
from ..fx.proxy import GraphAppendingTracer, Proxy
from ..utils._sympy._library import sympy
from ..utils._sympy.value_ranges import ValueRanges
from ._dims import Dim, DimHint
from ._violations import check_declared
from .dynamic_shapes import Leaf

__all__ = ["Place", "Symbols"]

#: Functions whose result is the same polynomial of their arguments for all sizes.
_EXACT = (operator.add, operator.sub, operator.mul, operator.neg, operator.pos)
#: Sizes of which a `ShapeEnv` takes for granted that they are none of a symbol's.
_SMALL = (0, 1)
#: With more symbols than these, small sizes are not tried out.
_MOST_COMPARED = 3
_SIZE_READERS = (
    ops.aten.sym_size.int, ops.aten.sym_stride.int, ops.aten.sym_numel.default, ops.aten.sym_storage_offset.default,
)  # fmt: skip


class Place:
    """A size of an argument that may vary.

    Attributes
    ----------
    source
        Where it is read.
    said
        A `Dim` or a `DimHint`.
    expr
        Its symbol, or its number.
    """

    def __init__(self, source: Source, said: Any, expr: Any) -> None:
        self.source, self.said, self.expr = source, said, expr


class ExportShapeEnv(ShapeEnv):
    """A `ShapeEnv` that knows for which sizes of 0 and 1 the program would have run otherwise.

    Symbols are taken to be larger than 1, but the graph may be called with such sizes where what the program asked has
    the same answer for them.

    Attributes
    ----------
    least
        Symbol -> the least size that the graph is right for.
    """

    def __init__(self) -> None:
        super().__init__(allow_scalar_outputs=False, allow_dynamic_output_shape_ops=False, duck_shape=False)
        self.least: dict[Any, int] = {}
        self.is_silent = False

    def is_asked_by_program(self) -> bool:
        """Whether code of the program runs, and no operator that it has called."""
        return not self.is_silent and not tls.exclude & TRACING

    def evaluate_expr(self, orig_expr: Any, *args: Any, **kwargs: Any) -> Any:
        if self.is_asked_by_program():
            expr = self.replace(sympy.sympify(orig_expr))
            static = self._maybe_evaluate_static(expr)
            if static is not None:
                self._rely(expr.free_symbols, lambda values: self._maybe_evaluate_static(expr.xreplace(values)) == static)  # fmt: skip # noqa: E501
        return super().evaluate_expr(orig_expr, *args, **kwargs)

    def rely_on_result(self, function: Any, args: tuple[Any, ...], made: Any) -> None:
        """Note for which small sizes a function would have given another number."""
        if function in _EXACT:
            return
        exprs = [arg.node.expr for arg in args if isinstance(arg, SYMBOLIC)]  # type: ignore[attr-defined]
        symbols = set().union(*(expr.free_symbols for expr in exprs))
        result = made.node.expr

        def same(values: dict[Any, Any]) -> bool:
            found = [_at(arg, values) for arg in args]
            expected = result.xreplace(values) if hasattr(result, "xreplace") else result
            if None in found or expected.free_symbols:
                return not (result.is_number or result.is_Boolean and not result.free_symbols)
            try:
                return bool(sympy.sympify(function(*found)) == expected)
            except ZeroDivisionError:
                return False

        self._rely(symbols, same)

    def _rely(self, symbols: Any, same: Any) -> None:
        ordered = sorted(symbols, key=str)
        if len(ordered) > _MOST_COMPARED:
            self.least.update(dict.fromkeys(ordered, 2))
            return
        for values in itertools.product((*_SMALL, None), repeat=len(ordered)):
            small = {s: sympy.Integer(v) for s, v in zip(ordered, values, strict=True) if v is not None}
            if small and all(v >= self.least.get(s, 0) for s, v in small.items()) and not same(small):
                first = next(iter(small))
                self.least[first] = int(small[first]) + 1


def _at(value: Any, values: dict[Any, Any]) -> Any:
    """A number for other sizes; None where not all of its symbols have one."""
    if not isinstance(value, SYMBOLIC):
        return value
    expr = value.node.expr.xreplace(values)  # type: ignore[attr-defined]
    if expr.free_symbols:
        return None
    return value.node._as_python(expr)  # type: ignore[attr-defined]


class _Tracer(GraphAppendingTracer):
    """Writes steps that compute with sizes, and tells them the modules that they are in."""

    def __init__(self, graph: Graph, stack: dict[str, Any]) -> None:
        super().__init__(graph)
        self._stack = stack

    def create_proxy(self, *args: Any, **kwargs: Any) -> Any:
        proxy = super().create_proxy(*args, **kwargs)
        proxy.node.meta["nn_module_stack"] = dict(self._stack)
        return proxy


class Symbols:
    """The sizes of a program's arguments that vary.

    Parameters
    ----------
    leaves
        Parameter -> the leaves of its argument.
    """

    def __init__(self, leaves: dict[str, list[Leaf]]) -> None:
        self.env = ExportShapeEnv()
        self._leaves = leaves
        self.places: list[Place] = []
        #: Source -> fake tensor, of each tensor among the arguments.
        self.tensors: list[tuple[Source, Any]] = []
        self._roots: dict[str, Any] = {}

    # Arguments

    def fakes(self, mode: Any) -> dict[str, list[Any]]:
        """Parameter -> the leaves of its argument, with fake tensors in place of tensors.

        Raises
        ------
        torch.fx.experimental.symbolic_shapes.ConstraintViolationError
            For a size that is not in the range that was declared.
        """
        with self.silent():
            made = {name: [self._fake(mode, leaf) for leaf in leaves] for name, leaves in self._leaves.items()}
        for places in self._by_name().values():
            self._derive(places)
        return made

    def _by_name(self) -> dict[str, list[Place]]:
        named: dict[str, list[Place]] = {}
        for place in self.places:
            if isinstance(place.said, Dim):
                named.setdefault(place.said.root.__name__, []).append(place)
        return named

    def _fake(self, mode: Any, leaf: Leaf) -> Any:
        if not isinstance(leaf.value, Tensor):
            return leaf.value
        source: Source = LocalSource(leaf.path[0])
        for key in leaf.path[1:]:
            source = GetItemSource(source, key)
        how, constraints = [], []
        for i, (said, size) in enumerate(zip(leaf.sizes, leaf.value.shape, strict=True)):
            free = isinstance(said, Dim) or isinstance(said, DimHint) and said.name != "STATIC"
            how.append(DimDynamic.DYNAMIC if free else DimDynamic.STATIC)
            constraints.append(_constraint(said) if free else None)
            self._check_size(said, size, TensorPropertySource(source, TensorProperty.SIZE, i))
        context = StatelessSymbolicContext(dynamic_sizes=how, constraint_sizes=constraints)
        fake = mode.from_tensor(leaf.value, source=source, symbolic_context=context)
        self.tensors.append((source, fake))
        for i, (said, size) in enumerate(zip(leaf.sizes, fake.shape, strict=True)):
            if how[i] is DimDynamic.DYNAMIC:
                expr = size.node._expr if isinstance(size, SymInt) else sympy.Integer(size)
                self.places.append(Place(TensorPropertySource(source, TensorProperty.SIZE, i), said, expr))
        return fake

    def _check_size(self, said: Any, size: int, source: Source) -> None:
        if isinstance(said, int) and said != size:
            raise ConstraintViolationError(
                f"Static shape constraint of {said} does not match input size of {size}, for {source.name}"
            )
        if isinstance(said, (Dim, DimHint)) and said is not Dim.STATIC:
            low, high = _bounds(said)
            if size > 1 and not max(low, 2) <= size <= high or size < 2 and size < low:
                raise ConstraintViolationError(f"{size} not in range [{max(low, 2)}, {_shown(high)}]")

    def _derive(self, places: list[Place]) -> None:
        """Have the sizes that follow from a name be expressions of its symbol."""
        own = [place.expr for place in places if place.said.root is place.said and place.expr.is_Symbol]
        derived = [place for place in places if place.said.root is not place.said and place.expr.is_Symbol]
        if not derived:
            return
        root = own[-1] if own else self._phantom(derived[0])
        for place in derived:
            expr = place.said.factor * root + place.said.offset
            if self.env._in_example(expr) != self.env._in_example(place.expr):
                raise UserError(
                    f"Expected {place.source.name} = {self.env._in_example(place.expr)} to be of the form "
                    f"{place.said.__name__}, where {place.said.root.__name__} is an integer"
                )
            self.env._set_replacement(place.expr, expr)
            self.env._facts.changed()

    def _phantom(self, place: Place) -> Any:
        """The symbol of a name that no size is by itself."""
        dim = place.said
        size = int(self.env._in_example(place.expr))
        root = (size - dim.offset) // dim.factor
        if root < 2:
            raise UserError(
                f"{place.source.name} = {size} makes {dim.root.__name__} = {root}: sizes of examples are larger than 1"
            )
        source = ConstantSource(dim.root.__name__)
        return self.env.create_symbol(root, source, DimDynamic.DYNAMIC, _constraint(dim.root))

    # While the program runs

    def watch(self, graph: Graph, stack: dict[str, Any]) -> SymbolicSlots:
        """Write what is computed of sizes from now on to a graph."""
        slots = SymbolicSlots(_Tracer(graph, stack))

        def watcher(function: Any, args: tuple[Any, ...], made: Any) -> None:
            if self.env.is_asked_by_program():
                self.env.rely_on_result(function, args, made)
                with self.silent():
                    slots.note(function, args, made)

        self.env.watcher = watcher
        self._slots = slots
        return slots

    @contextlib.contextmanager
    def silent(self) -> Iterator[None]:
        """Inside of it, what is computed of sizes, and asked of them, is no part of the program."""
        before, self.env.is_silent = self.env.is_silent, True
        try:
            yield
        finally:
            self.env.is_silent = before

    def note_layout(self, tensor: Any, node: Node) -> None:
        """Have sizes of a result be read off its step."""
        if is_fake(tensor) and has_symbols((*tensor.shape, *tensor.stride(), tensor.storage_offset())):
            with self.silent():
                note_layout(self._slots, tensor, Proxy(node, self._slots._tracer))

    def note_removal(self, tensor: Any) -> None:
        """Note that an operator left dimensions alone that it would have removed at a size of 1."""
        for size in tensor.shape:
            if isinstance(size, SymInt):
                for symbol in size.node.expr.free_symbols:
                    self.env.least[symbol] = 2

    def node_of(self, number: Any) -> Any:
        """The step that computes a symbolic number; the number itself where it is constant."""
        with self.silent():
            found = self._slots.proxy_of(number)
        return found.node if isinstance(found, Proxy) else found

    # Afterwards

    def tidy(self, graph: Graph) -> None:
        """Compute all sizes of those of the arguments, which are read at the beginning, each once; remove the rest."""
        self.env.watcher = None
        with self.silent():
            _Tidying(self, graph).run()

    def range_constraints(self) -> dict[Any, ValueRanges]:
        """Symbol -> the sizes that it may be: the declared range where there is one."""
        found: dict[Any, ValueRanges] = {}
        for place in self.places:
            expr = self.env.replace(place.expr)
            if expr.is_number:
                continue
            known = self.env.bound_sympy(expr)
            if isinstance(place.said, Dim):
                low, high = _bounds(place.said)
                known = ValueRanges(low if low < 2 else known.lower, min(known.upper, high))
            elif place.said.min is not None and known.lower == 2:
                known = ValueRanges(max(place.said.min, 0), known.upper)
            if expr in found:
                known = known & found[expr] if known.lower >= 2 else known
            found[expr] = known
        for expr in list(found):
            for symbol in sorted(expr.free_symbols, key=str):
                if symbol not in found:
                    found[symbol] = self.env.var_to_range[symbol]
        return found

    def check(self) -> None:
        """See that what was declared of sizes holds.

        Raises
        ------
        torch._dynamo.exc.UserError
            Naming each name that the program does not let vary as declared.
        ValueError
            For a size of 0 or 1 that was to vary.
        """
        self._join()
        check_declared(self.env, self.places, self.text)

    def _join(self) -> None:
        """Have the sizes of one name be one symbol, where the program has not made them one."""
        for places in self._by_name().values():
            first, *others = [place.expr for place in places if place.said.root is place.said] or [None]
            for other in others:
                here, there = self.env.replace(first), self.env.replace(other)
                if here != there and self.env._in_example(here) != self.env._in_example(there):
                    name = places[0].said.root.__name__
                    raise UserError(f"The sizes of {name} differ: {self.env._in_example(here)} and {self.env._in_example(there)}")  # fmt: skip # noqa: E501
                if here != there:
                    self.env._learn(sympy.Eq(here, there))

    def text(self, expr: Any) -> str:
        """An expression, or relation, as Python code that reads sizes."""
        printer = GuardPrinter(self._name_of)
        return printer.relation(expr) if expr.is_Boolean or expr.is_Relational else printer.text(expr)

    def _name_of(self, symbol: Any) -> str:
        for place in self.places:
            if self.env.replace(place.expr) == symbol:
                return place.source.name
        for place in self.places:  # of a name that no size is by itself
            expr = self.env.replace(place.expr)
            if isinstance(place.said, Dim) and expr.free_symbols == {symbol}:
                return f"({_without(place)} // {place.said.factor})"
        found = self.env.var_to_sources[symbol]
        return str(found[0].name)

    def guards(self) -> list[str]:
        """What must hold of arguments, as Python code; ranges and constant sizes are not among it."""
        found = []
        first: dict[Any, Source] = {}
        for place in self.places:
            expr = self.env.replace(place.expr)
            if expr.is_number:
                continue
            if expr.is_Symbol and expr not in first:
                first[expr] = place.source
            elif not (expr.is_Symbol and first[expr] is place.source):
                found.append(self._place_guard(place, expr))
        for symbol, least in self.env.least.items():
            expr = self.env.replace(symbol)
            if least == 2 and expr.is_Symbol:
                found.append(f"{self.text(expr)} >= 2")
            elif not expr.is_number:
                found.append(f"{self.text(expr)} >= {least}" if expr.is_Symbol else f"({self.text(expr)}) >= {least}")
        found += [self.text(expr) for expr in self.env.get_nontrivial_guards()]
        return list(dict.fromkeys(found))

    def _place_guard(self, place: Place, expr: Any) -> str:
        if isinstance(place.said, Dim) and place.said.root is not place.said and self._is_phantom(expr):
            return f"{_without(place)} % {place.said.factor} == 0"
        text = self.text(expr)
        return f"{place.source.name} == {text if expr.is_Symbol else f'({text})'}"

    def _is_phantom(self, expr: Any) -> bool:
        return all(self.env.replace(place.expr) not in expr.free_symbols for place in self.places)


def _without(place: Place) -> str:
    """A size less what is added in its declaration."""
    offset = place.said.offset
    return f"({place.source.name} - {offset})" if offset else place.source.name


def _bounds(said: Any) -> tuple[Any, Any]:
    low = 0 if said.min is None else said.min
    high = sympy.oo if said.max is None or said.max >= 2**63 - 1 else said.max
    return low, high


def _shown(bound: Any) -> str:
    return "int_oo" if bound == sympy.oo else str(bound)


def _constraint(said: Any) -> StrictMinMaxConstraint:
    low, high = _bounds(said)
    return StrictMinMaxConstraint(warn_only=False, vr=ValueRanges(low, high))


class _Tidying:
    """Rewrites what a graph computes of sizes."""

    def __init__(self, symbols: Symbols, graph: Graph) -> None:
        self._symbols, self._graph = symbols, graph
        self._known: dict[Any, Node] = {}
        self._numbers: list[Node] = []

    def run(self) -> None:
        placeholders = [node for node in self._graph.nodes if node.op == "placeholder"]
        traced = [node for node in self._graph.nodes if node.op != "placeholder"]
        with self._graph.inserting_before(traced[0]):
            for node in placeholders:
                self._read_sizes(node)
        for node in traced:
            value = node.meta.get("val")
            if node.op == "call_function" and isinstance(value, SYMBOLIC):
                self._number(node, value)
        for node in reversed(self._numbers):
            if not node.users:
                self._graph.erase_node(node)

    def _read_sizes(self, node: Node) -> None:
        """Steps that read the symbols that sizes of an argument are by themselves."""
        value = node.meta.get("val")
        for i, size in enumerate(value.shape if isinstance(value, Tensor) else ()):
            if isinstance(size, SymInt) and size.node._expr.is_Symbol and not isinstance(plain(size), int):
                reader = self._graph.call_function(ops.aten.sym_size.int, (node, i))
                reader.meta.update(val=size, nn_module_stack={})
                self._numbers.append(reader)
                if size.node.expr.is_Symbol:
                    self._known[size.node.expr] = reader

    def _number(self, node: Node, value: Any) -> None:
        expr = value.node.expr  # type: ignore[attr-defined]
        known = self._known.get(expr)
        of_step = node.target in _SIZE_READERS and node.args[0].op != "placeholder"  # type: ignore[union-attr]
        if known is None and of_step:
            known = self._recomputed(node, expr)
        if known is None:
            self._known[expr] = node
            self._numbers.append(node)
            return
        node.replace_all_uses_with(known)
        self._graph.erase_node(node)

    def _recomputed(self, node: Node, expr: Any) -> Node | None:
        """Steps that compute what was read off a step, out of sizes of the arguments."""
        env = self._symbols.env
        if not expr.free_symbols <= self._known.keys():
            return None
        with self._graph.inserting_before(node):

            def note(function: Any, args: tuple[Any, ...], made: Any) -> None:
                if isinstance(made, SYMBOLIC) and made.node.expr not in self._known:  # type: ignore[attr-defined]
                    given = tuple(self._known[a.node.expr] if isinstance(a, SYMBOLIC) else a for a in args)  # type: ignore[attr-defined]
                    step = self._graph.call_function(function, given)
                    step.meta.update(val=made, nn_module_stack=node.meta["nn_module_stack"])
                    self._known[made.node.expr] = step  # type: ignore[attr-defined]
                    self._numbers.append(step)

            interpreted(expr, env.wrap, note)
        return self._known.get(expr)
