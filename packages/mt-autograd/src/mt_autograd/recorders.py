"""Recording closures, written out for the pattern of an operator's arguments and results.

`recorder` makes the closure that runs an operator below autograd and enters the node of its result. A loop over
arguments, or a function call for each of them, would cost as much as the operator of a small tensor. So the closure's
source is put together from a few lines per argument, saved tensor and result, of which the pattern needs no more than
these; operators of one pattern share the compiled code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

from mt_core.autograd_state import AutogradState
from mt_core.dispatch.lookup import backend_for
from mt_core.dispatch.registry import Overload
from mt_core.dtypes import scalar_type_name
from mt_core.keys import AUTOGRAD, CPU, HOLLOW, MULTI_VIEW, NO_GRAD_VIEW, PYTHON, SPARSE, STRIDED
from mt_core.schema import Argument, Schema
from mt_core.state import effective_keys
from mt_core.tensor_types import tensors_in

from .node import EMPTY_SPEC, LEAF, NO_EDGE, next_sequence_nr, output_spec
from .operator_node import OperatorNode, keep_spec
from .recording import (
    DIFFERENTIABLE,
    REAL,
    edges_of_list,
    make_output,
    real_results_only,
    refuse_gradient,
    tells_first,
    watch,
)
from .rules import Plan
from .saved import HandledOutput, SavedOutput, version_of
from .views import edge_of

__all__ = ["recorder"]

Callee = Callable[..., Any]


class Pattern(NamedTuple):
    """All that the source of a closure depends on.

    Attributes
    ----------
    kinds : tuple of str
        Of each argument: ``"tensor"``, ``"optional"`` (or a number in a tensor's place), ``"list"``, ``"plain"``.
    inputs : tuple of int
        Positions of the differentiable arguments.
    saved : tuple of (bool, int, int)
        Whether it is a result, its position, and the mask of the arguments that want it saved.
    values : tuple of int
        Positions of the other arguments that the node keeps.
    specs : tuple of (int, str)
        Position and kind of layouts to keep.
    outputs : tuple of bool or None
        Which results are differentiable; None for a list of any length.
    single : bool
        Whether the operator returns a tensor, not a tuple.
    is_view, hands_on_creation, watched : bool
    handled : bool
        Whether handlers of ``__torch_dispatch__`` see what is saved.
    real_only : bool
        Whether a complex result is refused; of a single result the closure sees it, of several `layer` does.
    """

    kinds: tuple[str, ...]
    inputs: tuple[int, ...]
    saved: tuple[tuple[bool, int, int], ...]
    values: tuple[int, ...]
    specs: tuple[tuple[int, str], ...]
    outputs: tuple[bool, ...] | None
    single: bool
    is_view: bool
    hands_on_creation: bool
    watched: bool
    handled: bool = False
    real_only: bool = False

    @property
    def sole(self) -> bool:
        """Whether one tensor is all there is: then it requires grad, else the closure would not have been called."""
        tensors = [kind for kind in self.kinds if kind != "plain"]
        return tensors == ["tensor"] and len(self.inputs) == 1

    @property
    def several(self) -> bool:
        return len(self.inputs) > 1


def recorder(cls: type[OperatorNode], overload: Overload, below: Callee, call_keys: int, watched: bool) -> Callee:
    """The closure that records an operator which makes new tensors or views.

    Parameters
    ----------
    cls
        The operator's node class.
    below
        The operator without autograd; takes all of the schema's arguments.
    call_keys
        The call keys that the closure is for.
    watched
        Whether packing hooks or anomaly mode may be on in this thread, or an inference tensor be among the arguments.
    """
    pattern = pattern_of(cls.plan, overload, call_keys, watched)
    record = _compiled(pattern)(cls, below)
    executors = getattr(backend_for(CPU), "executors", None) if call_keys & CPU else None
    if executors is None or not _is_plain(pattern):
        return record
    return executors.recorder(  # type: ignore[no-any-return]
        record, cls, below, _TOOLS_OF_REALS if pattern.real_only else _TOOLS, pattern.kinds, pattern.inputs,
        pattern.saved, pattern.values, pattern.specs, pattern.outputs, pattern.single, pattern.is_view,
    )  # fmt: skip


def _is_plain(pattern: Pattern) -> bool:
    """Whether a backend's own recorder takes a pattern: single results or tuples, and nobody who watches."""
    return (
        not (pattern.watched or pattern.handled or pattern.hands_on_creation)
        and bool(pattern.outputs)
        and len(pattern.kinds) <= _MOST_ARGUMENTS
        and not any(not is_result and pattern.kinds[position] == "list" for is_result, position, _ in pattern.saved)
    )


#: A backend's own recorder takes so many arguments.
_MOST_ARGUMENTS = 16


def pattern_of(plan: Plan, overload: Overload, call_keys: int, watched: bool) -> Pattern:
    schema, numbers = plan.schema, overload.declaration.take_numbers
    is_view = schema.returns[0].alias is not None and not call_keys & SPARSE  # those share nothing that is written to
    return Pattern(
        kinds=tuple(_kind(argument, numbers) for argument in schema.arguments),
        inputs=plan.positions,
        saved=tuple((slot.is_result, slot.position, slot.wanted_by) for slot in plan.saved),
        values=tuple(position for _, position in plan.values),
        specs=tuple((position, kind) for _, position, kind in plan.specs),
        outputs=_outputs(plan, schema),
        single=len(schema.returns) == 1 and not schema.returns[0].is_list,
        is_view=is_view,
        # Views that may not be written to say why not, and so do views of theirs.
        hands_on_creation=is_view and bool(call_keys & (NO_GRAD_VIEW | MULTI_VIEW) or watched),
        watched=watched,
        # What a transform's level records is told of further out.
        handled=bool(effective_keys(call_keys) & PYTHON) and not call_keys & HOLLOW,
        real_only=plan.rule.real_only,
    )


def _kind(argument: Argument, numbers: frozenset[str]) -> str:
    if not argument.is_tensor:
        return "plain"
    if argument.is_list:
        return "list"
    return "optional" if argument.optional or argument.name in numbers else "tensor"


def _outputs(plan: Plan, schema: Schema) -> tuple[bool, ...] | None:
    chosen = plan.rule.differentiable_outputs
    if any(result.is_list for result in schema.returns):
        if chosen is not None:
            raise ValueError(f"{plan.rule.name} has a list among its results: all of them are differentiable")
        return None
    return tuple([True] * len(schema.returns) if chosen is None else map(bool, chosen))


@cache
def _compiled(pattern: Pattern) -> Callable[[type[OperatorNode], Callee], Callee]:
    """``make(cls, below)`` for a pattern."""
    lines = "\n".join(f"        {line}" for line in _lines(pattern))
    arguments = _arguments(pattern)
    source = f"def make(cls, below):\n    def record({arguments}):\n{lines}\n    return record\n"
    space = dict(_NAMES)
    exec(compile(source, f"<recorder of {', '.join(pattern.kinds)}>", "exec"), space)  # noqa: S102 - our own lines
    return space["make"]  # type: ignore[no-any-return]


def _ended(cls: type[OperatorNode], result: Any, args: tuple[Any, ...]) -> Any:
    """A result that has no gradient: here the graph ends, unless the operator, or an argument, does not let it.

    Integers require grad where something that does was written to them.
    """
    rule = cls.plan.rule
    if result._dtype.is_complex:
        raise real_results_only(cls.plan.schema)
    if (
        rule.refuses_integers
        or not rule.ends_at_integers
        and any(t._keys & AUTOGRAD and t._dtype not in DIFFERENTIABLE for t in tensors_in(args))
    ):
        raise RuntimeError(f"Autograd not support dtype: {scalar_type_name(result._dtype)}")
    return result


def _tools(recorded: frozenset[Any]) -> tuple[Any, ...]:
    """What a backend's own recorder works with; `recorded` are the dtypes that a single result may have."""
    return (
        recorded, DIFFERENTIABLE, SavedOutput, LEAF, next_sequence_nr, edge_of, keep_spec, _ended, AutogradState(),
        tuple(name for name in AutogradState.__slots__ if name not in ("tangents", "__weakref__")), AUTOGRAD, STRIDED,
    )  # fmt: skip


_TOOLS, _TOOLS_OF_REALS = _tools(DIFFERENTIABLE), _tools(REAL)

#: What the lines of a closure call.
_NAMES: dict[str, Any] = {
    "AUTOGRAD": AUTOGRAD, "AutogradState": AutogradState, "DIFFERENTIABLE": DIFFERENTIABLE, "EMPTY_SPEC": EMPTY_SPEC,
    "LEAF": LEAF, "NO_EDGE": NO_EDGE, "STRIDED": STRIDED, "HandledOutput": HandledOutput,
    "REAL": REAL, "SavedOutput": SavedOutput, "edge_of": edge_of,
    "edges_of_list": edges_of_list, "ended": _ended, "keep_spec": keep_spec, "make_output": make_output,
    "next_sequence_nr": next_sequence_nr, "output_spec": output_spec, "refuse_gradient": refuse_gradient,
    "tells_first": tells_first, "version_of": version_of, "watch": watch,
}  # fmt: skip


def _arguments(pattern: Pattern) -> str:
    return ", ".join(f"a{i}" for i in range(len(pattern.kinds)))


def _lines(pattern: Pattern) -> Iterator[str]:
    yield from _refusals(pattern)
    yield from _edges(pattern)
    yield f"result = below({_arguments(pattern)})"
    if pattern.single:
        recorded = "REAL" if pattern.real_only else "DIFFERENTIABLE"
        yield f"if result._dtype not in {recorded}: return ended(cls, result, ({_arguments(pattern)},))"
    yield "node = cls()"
    yield f"node._edges = {_edge_tuple(pattern)}"
    if pattern.several:
        yield "node.wanted = wanted"
    yield "node._sequence = next_sequence_nr()"
    yield "node._hooks = None"
    if pattern.values:
        yield f"node.values = ({', '.join(f'a{i}' for i in pattern.values)},)"
    if pattern.specs:
        yield f"node.specs = ({', '.join(_spec(position, kind, pattern) for position, kind in pattern.specs)},)"
    if _has_lists(pattern):
        yield f"node.list_sizes = ({', '.join(_edge_count(i, pattern) for i in pattern.inputs)},)"
    yield from _saving(pattern)
    if pattern.watched:
        yield "watch(node)"
    yield from _one_result(pattern) if pattern.single else _several_results(pattern)
    yield "return result"


def _has_lists(pattern: Pattern) -> bool:
    return any(pattern.kinds[i] == "list" for i in pattern.inputs)


# Edges


def _refusals(pattern: Pattern) -> Iterator[str]:
    """Tensors without a derivative may not require grad; what else is wrong is said first, where nothing is written."""
    for i, kind in enumerate(pattern.kinds):
        if kind in ("tensor", "optional") and i not in pattern.inputs:
            yield f"if {_requires_grad(i, pattern)}:"
            yield f"    if tells_first(cls.plan, {i}): below({_arguments(pattern)})"
            yield f"    refuse_gradient(cls.plan, {i})"


def _edges(pattern: Pattern) -> Iterator[str]:
    """Sets ``e<i>, n<i>`` for each differentiable argument (``edges<i>`` for a list), and the mask ``wanted``."""
    if pattern.sole:
        yield from _edge(pattern.inputs[0])
        return
    yield "wanted = 0"
    for ordinal, i in enumerate(pattern.inputs):
        bit = 1 << ordinal
        if pattern.kinds[i] == "list":
            yield f"edges{i} = edges_of_list(a{i})"
            yield f"if edges{i} is not None: wanted |= {bit}"
            continue
        yield f"if {_requires_grad(i, pattern)}:"
        yield from ("    " + line for line in _edge(i))
        yield f"    if e{i} is not None: wanted |= {bit}"
        yield f"else: e{i}, n{i} = NO_EDGE"
    if any(kind != "plain" and i not in pattern.inputs for i, kind in enumerate(pattern.kinds)):
        # A view whose gradient goes nowhere requires grad all the same, and so does what is made of it.
        tests = [_requires_grad(i, pattern) for i in pattern.inputs]
        yield f"if not wanted and not ({' or '.join(tests)}): return below({_arguments(pattern)})"


def _edge(i: int) -> Iterator[str]:
    yield f"if a{i}._base is None:"
    yield f"    state = a{i}._autograd"
    yield f"    e{i} = state.grad_fn"
    yield f"    if e{i} is None: e{i}, n{i} = a{i}, LEAF"
    yield f"    else: n{i} = state.output_nr"
    yield f"else: e{i}, n{i} = edge_of(a{i})"


def _requires_grad(i: int, pattern: Pattern) -> str:
    if pattern.kinds[i] == "list":
        return f"any([t is not None and t._keys & AUTOGRAD for t in a{i} or ()])"
    return f"a{i}._keys & AUTOGRAD" if pattern.kinds[i] == "tensor" else f"getattr(a{i}, '_keys', 0) & AUTOGRAD"


def _edge_tuple(pattern: Pattern) -> str:
    parts = [
        f"*(NO_EDGE * len(a{i} or ()) if edges{i} is None else edges{i})"
        if pattern.kinds[i] == "list"
        else f"e{i}, n{i}"
        for i in pattern.inputs
    ]
    return f"({', '.join(parts)},)" if parts else "()"


def _edge_count(i: int, pattern: Pattern) -> str:
    return f"len(a{i} or ())" if pattern.kinds[i] == "list" else "1"


# What is kept


def _spec(i: int, kind: str, pattern: Pattern) -> str:
    if kind == "strides" and pattern.kinds[i] == "tensor":
        return f"a{i}._array.strides if a{i}._keys & STRIDED else None"
    return f"keep_spec(a{i}, {kind!r})"


def _saving(pattern: Pattern) -> Iterator[str]:
    """Sets ``node.saved``, after the call: of an argument that it writes to (noise), formulas want the new value."""
    if not pattern.saved:
        return
    kept = []
    for is_result, position, wanted_by in pattern.saved:
        name = f"r{position}" if is_result else f"s{position}"
        yield from (
            _saved_result(name, position, wanted_by, pattern)
            if is_result
            else _saved_input(name, position, wanted_by, pattern)
        )
        kept.append(f"{name}, v{name}")
    yield f"node.saved = ({', '.join(kept)},)"


def _when(wanted_by: int, pattern: Pattern) -> str | None:
    """The condition on which something is saved; None where it always is."""
    return None if pattern.sole else f"wanted & {wanted_by}"


def _saved_input(name: str, i: int, wanted_by: int, pattern: Pattern) -> Iterator[str]:
    condition = _when(wanted_by, pattern)
    if pattern.kinds[i] == "list":
        yield f"{name}, v{name} = None, 0"
        yield f"if {condition} and a{i} is not None:"
        yield f"    {name} = tuple(a{i})"
        yield f"    v{name} = tuple([0 if t is None else version_of(t) for t in {name}])"
        return
    yield f"{name} = a{i}" if condition is None else f"{name} = a{i} if {condition} else None"
    if condition is None and pattern.kinds[i] == "tensor":
        yield f"cell = {name}._cell"
    else:
        yield f"cell = getattr({name}, '_cell', None)"
    yield f"v{name} = 0 if cell is None else cell.version"


def _saved_result(name: str, position: int, wanted_by: int, pattern: Pattern) -> Iterator[str]:
    item = "result" if pattern.single else f"result[{position}]"
    form = "HandledOutput" if pattern.handled else "SavedOutput"
    saving = [f"{name} = {form}({item}, {position})", f"v{name} = {name}.cell.version"]
    conditions = [c for c in (_when(wanted_by, pattern), None if pattern.single else f"{item} is not None") if c]
    if not conditions:
        yield from saving
        return
    yield f"{name}, v{name} = None, 0"
    yield f"if {' and '.join(conditions)}:"
    yield from ("    " + line for line in saving)


# Results


def _one_result(pattern: Pattern) -> Iterator[str]:
    yield "node._shape = result._array.shape"
    yield "node._dtype = result._dtype"
    yield "node._keys = result._keys"
    yield "node._more_outputs = ()"
    yield "state = result._autograd = AutogradState()"
    yield "state.grad_fn = node"
    if pattern.is_view:
        yield "state.attr_version = result._cell.version"
    if pattern.hands_on_creation:
        yield "if a0._autograd is not None: state.creation = a0._autograd.creation"
    yield "result._keys |= AUTOGRAD"


def _several_results(pattern: Pattern) -> Iterator[str]:
    if pattern.outputs is None:
        yield "node.set_outputs([EMPTY_SPEC if r is None else output_spec(r) for r in result])"
        yield "for nr, item in enumerate(result):"
        yield "    if item is not None and item._dtype in DIFFERENTIABLE:"
        yield f"        make_output(item, node, nr, {pattern.is_view})"
        return
    names = [f"o{nr}" for nr in range(len(pattern.outputs))]
    yield f"{', '.join(names)}, = result"
    specs = [f"EMPTY_SPEC if {name} is None else ({name}._array.shape, {name}._dtype, {name}._keys)" for name in names]
    yield f"node._shape, node._dtype, node._keys = {specs[0]}"
    yield f"node._more_outputs = ({''.join(spec + ', ' for spec in specs[1:])})"
    for nr, (name, differentiable) in enumerate(zip(names, pattern.outputs, strict=True)):
        if differentiable:
            yield f"if {name} is not None and {name}._dtype in DIFFERENTIABLE:"
            yield f"    make_output({name}, node, {nr}, {pattern.is_view})"
