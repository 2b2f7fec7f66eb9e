"""Recording closures: one is built per operator and call keys, and does the least that this operator needs.

Each runs the operator below autograd and makes the node of its result. The short ones repeat the same few lines instead
of sharing a function: a Python call costs as much as they do. `record_unary` is `record_first` without what costs time
when there are no other arguments (a twentieth of a small call), and a test holds the lines of the two equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from mt_core.autograd_state import AutogradState
from mt_core.dtypes import ALL_DTYPES
from mt_core.keys import AUTOGRAD, MULTI_VIEW, NO_GRAD_VIEW, STRIDED
from mt_core.schema import Schema
from mt_core.tensor_types import tensors_in

from .anomaly_mode import note_forward
from .node import EMPTY_SPEC, LEAF, NO_EDGE, next_sequence_nr, output_spec, pairs
from .operator_node import OperatorNode, keep_spec, pack_item
from .rules import Plan
from .saved import SavedOutput, version_of
from .views import edge_of

__all__ = [
    "DIFFERENTIABLE",
    "edges_and_mask",
    "make_output",
    "new_node",
    "packed",
    "recorder",
    "requires_grad",
    "saved_inputs",
    "saved_outputs",
    "watch",
]

Callee = Callable[..., Any]

#: The kept specs of a node whose one tensor is contiguous.
_CONTIGUOUS = (None,)
#: Results of other dtypes have no history.
DIFFERENTIABLE = frozenset(d for d in ALL_DTYPES if d.is_floating_point or d.is_complex)


def recorder(cls: type[OperatorNode], below: Callee, call_keys: int, watched: bool) -> Callee:
    """The closure that records an operator which makes new tensors or views.

    Parameters
    ----------
    cls
        The operator's node class.
    below
        The operator without autograd; takes all of the schema's arguments.
    call_keys
        The keys of the calls that the closure is for.
    watched
        Whether packing hooks or anomaly mode may be on in this thread, or an inference tensor be among the arguments.
    """
    plan = cls.plan
    schema = plan.schema
    if len(schema.returns) != 1 or schema.returns[0].is_list:
        return record_outputs(cls, below, watched)
    # Views of views that may not be written to are watched; the general form hands the reason on.
    if not watched and not call_keys & (NO_GRAD_VIEW | MULTI_VIEW):
        if _is_unary(plan, schema):
            return record_unary(cls, below)
        if _is_binary(plan, schema):
            return record_binary(cls, below)
        if _is_first_only(plan, schema):
            return record_first(cls, below)
    return record_any(cls, below, watched)


def _saves_inputs_only(plan: Plan) -> bool:
    return not any(slot.is_result for slot in plan.saved)


def _is_unary(plan: Plan, schema: Schema) -> bool:
    return len(schema.arguments) == 1 and plan.lists == (False,) and not plan.specs and not _is_view(schema)


def _is_binary(plan: Plan, schema: Schema) -> bool:
    """Two tensors, and at most one argument more, which is no tensor."""
    return (
        len(schema.arguments) in (2, 3) and plan.positions == (0, 1) and plan.lists == (False, False)
        and not plan.specs and _saves_inputs_only(plan) and not any(a.is_tensor for a in schema.arguments[2:])
        and all(position == 2 for _, position in plan.values)
    )  # fmt: skip


def _is_first_only(plan: Plan, schema: Schema) -> bool:
    """One tensor, the first argument; whatever else the schema has is no tensor."""
    return (
        plan.positions == (0,) and plan.lists == (False,) and not any(a.is_tensor for a in schema.arguments[1:])
        and all(slot.position == 0 for slot in plan.saved) and all(kind == "strides" for _, _, kind in plan.specs)
    )  # fmt: skip


def _is_view(schema: Schema) -> bool:
    return schema.returns[0].alias is not None


# The short forms


def record_unary(cls: type[OperatorNode], below: Callee) -> Callee:
    """``f(self)``, which may save its argument and its result."""
    names = [slot.name for slot in cls.plan.saved]
    saves_self, saves_result = bool(names) and names[0] != "result", "result" in names or "result0" in names

    def record(self: Any) -> Any:
        result = below(self)
        node = cls()
        if self._base is None:
            state = self._autograd
            grad_fn = state.grad_fn
            node.edges = (self, LEAF) if grad_fn is None else (grad_fn, state.output_nr)
        else:
            node.edges = edge_of(self)
        node.sequence_nr = next_sequence_nr()
        node.hooks = None
        if saves_self:
            cell = self._cell
            node.saved = (self, 0 if cell is None else cell.version)
            if saves_result:
                node.saved += (SavedOutput(result, 0), 0)
        elif saves_result:
            node.saved = (SavedOutput(result, 0), 0)
        node.shape = result._array.shape
        node.dtype = result._dtype
        node.keys = result._keys
        node.more_outputs = ()
        state = result._autograd = AutogradState()
        state.grad_fn = node
        result._keys |= AUTOGRAD
        return result

    return record


def record_binary(cls: type[OperatorNode], below: Callee) -> Callee:
    """``f(self, other)`` or ``f(self, other, alpha)``, which may save its arguments; either may be a number."""
    masks = {slot.position: slot.wanted_by for slot in cls.plan.saved}
    saves_self, saves_other = masks.get(0, 0), masks.get(1, 0)
    both = len(masks) == 2
    has_parameter, keeps_parameter = len(cls.plan.schema.arguments) == 3, bool(cls.plan.values)

    def record(self: Any, other: Any, parameter: Any = None) -> Any:
        result = below(self, other, parameter) if has_parameter else below(self, other)
        node = cls()
        first = second = None
        first_nr = second_nr = wanted = 0
        if getattr(self, "_keys", 0) & AUTOGRAD:
            wanted = 1
            if self._base is None:
                state = self._autograd
                first = state.grad_fn
                if first is None:
                    first, first_nr = self, LEAF
                else:
                    first_nr = state.output_nr
            else:
                first, first_nr = edge_of(self)
                if first is None:
                    wanted = 0
        if getattr(other, "_keys", 0) & AUTOGRAD:
            wanted |= 2
            if other._base is None:
                state = other._autograd
                second = state.grad_fn
                if second is None:
                    second, second_nr = other, LEAF
                else:
                    second_nr = state.output_nr
            else:
                second, second_nr = edge_of(other)
                if second is None:
                    wanted &= 1
        node.edges = (first, first_nr, second, second_nr)
        node.wanted = wanted
        node.sequence_nr = next_sequence_nr()
        node.hooks = None
        if masks:
            kept_self = kept_other = None
            version_self = version_other = 0
            if saves_self & wanted:
                kept_self = self
                cell = getattr(self, "_cell", None)
                if cell is not None:
                    version_self = cell.version
            if saves_other & wanted:
                kept_other = other
                cell = getattr(other, "_cell", None)
                if cell is not None:
                    version_other = cell.version
            if both:
                node.saved = (kept_self, version_self, kept_other, version_other)
            elif saves_self:
                node.saved = (kept_self, version_self)
            else:
                node.saved = (kept_other, version_other)
        if keeps_parameter:
            node.values = (parameter,)
        node.shape = result._array.shape
        node.dtype = result._dtype
        node.keys = result._keys
        node.more_outputs = ()
        state = result._autograd = AutogradState()
        state.grad_fn = node
        result._keys |= AUTOGRAD
        return result

    return record


def record_first(cls: type[OperatorNode], below: Callee) -> Callee:
    """``f(self, *not_tensors)`` with one result, which may be a view."""
    plan = cls.plan
    keeps_specs = bool(plan.specs)
    pick = _picker([position - 1 for _, position in plan.values], len(plan.schema.arguments) - 1)
    names = [slot.name for slot in plan.saved]
    saves_self, saves_result = bool(names) and names[0] != "result", "result" in names
    is_view = _is_view(plan.schema)

    def record(self: Any, *others: Any) -> Any:
        result = below(self, *others)
        if result._dtype not in DIFFERENTIABLE:
            return result
        node = cls()
        if self._base is None:
            state = self._autograd
            grad_fn = state.grad_fn
            node.edges = (self, LEAF) if grad_fn is None else (grad_fn, state.output_nr)
        else:
            node.edges = edge_of(self)
        node.sequence_nr = next_sequence_nr()
        node.hooks = None
        if pick is not None:
            node.values = pick(others)
        if keeps_specs:
            node.specs = (self._array.strides,) if self._keys & STRIDED else _CONTIGUOUS
        if saves_self:
            cell = self._cell
            node.saved = (self, 0 if cell is None else cell.version)
            if saves_result:
                node.saved += (SavedOutput(result, 0), 0)
        elif saves_result:
            node.saved = (SavedOutput(result, 0), 0)
        node.shape = result._array.shape
        node.dtype = result._dtype
        node.keys = result._keys
        node.more_outputs = ()
        state = result._autograd = AutogradState()
        state.grad_fn = node
        if is_view:
            state.attr_version = result._cell.version
        result._keys |= AUTOGRAD
        return result

    return record


def _picker(positions: list[int], count: int) -> Callable[[tuple[Any, ...]], tuple[Any, ...]] | None:
    """Chooses items of a tuple, always as a tuple; None when there is nothing to choose."""
    if not positions:
        return None
    if positions == list(range(count)):
        return tuple
    if len(positions) == 1:
        only = positions[0]
        return lambda items: (items[only],)
    return itemgetter(*positions)


# The general form, in pieces that in-place recording uses too


def edges_and_mask(plan: Plan, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], int]:
    """The edges of a call, a pair per differentiable tensor, and a bit for each argument that has a true one."""
    edges: list[Any] = []
    wanted = 0
    for position, bit, is_list in plan.inputs:
        for tensor in (args[position] or ()) if is_list else (args[position],):
            if not getattr(tensor, "_keys", 0) & AUTOGRAD:
                edges += NO_EDGE
                continue
            if tensor._base is None:
                state = tensor._autograd
                edge = (tensor, LEAF) if state.grad_fn is None else (state.grad_fn, state.output_nr)
            else:
                edge = edge_of(tensor)
            edges += edge
            if edge[0] is not None:
                wanted |= bit
    return tuple(edges), wanted


def requires_grad(plan: Plan, args: tuple[Any, ...]) -> bool:
    """Whether a differentiable argument requires grad, be it a view whose gradient goes nowhere."""
    values = [args[position] for position in plan.positions]
    return any(t._keys & AUTOGRAD for t in tensors_in(values))


def new_node(cls: type[OperatorNode], args: tuple[Any, ...], edges: tuple[Any, ...], wanted: int) -> OperatorNode:
    """A node with everything that is known before the operator has run, saved tensors aside."""
    node = cls()
    plan = cls.plan
    node.edges = edges
    node.sequence_nr = next_sequence_nr()
    node.hooks = None
    if plan.several:
        node.wanted = wanted
    if plan.values:
        node.values = tuple([args[position] for _, position in plan.values])
    if plan.specs:
        node.specs = tuple([keep_spec(args[position], kind) for _, position, kind in plan.specs])
    if plan.has_lists:
        node.list_sizes = tuple([len(args[i] or ()) if is_list else 1 for i, _, is_list in plan.inputs])
    return node


def saved_inputs(plan: Plan, args: tuple[Any, ...], wanted: int) -> list[Any]:
    """The `saved` list of a node as far as inputs go: each with the version it must still have at backward."""
    saved: list[Any] = []
    for position, wanted_by, is_list in plan.saved_inputs:
        value = args[position] if wanted_by & wanted else None
        if is_list and value is not None:
            saved += (tuple(value), tuple([0 if t is None else version_of(t) for t in value]))
        else:
            cell = getattr(value, "_cell", None)
            saved += (value, 0 if cell is None else cell.version)
    return saved


def saved_outputs(plan: Plan, outputs: Sequence[Any], wanted: int) -> list[Any]:
    """The rest of the `saved` list."""
    saved: list[Any] = []
    for position, wanted_by in plan.saved_outputs:
        if wanted_by & wanted and outputs[position] is not None:
            output = SavedOutput(outputs[position], position)
            saved += (output, output.cell.version)
        else:
            saved += (None, 0)
    return saved


def make_output(result: Any, node: Any, output_nr: int, is_view: bool) -> None:
    """Give a tensor the history that an operator just made."""
    state = result._autograd = AutogradState()
    state.grad_fn = node
    state.output_nr = output_nr
    if is_view:
        state.attr_version = result._cell.version
    result._keys |= AUTOGRAD


def record_any(cls: type[OperatorNode], below: Callee, watched: bool) -> Callee:
    """Any operator with one result."""
    plan = cls.plan
    is_view = _is_view(plan.schema)
    saves = bool(plan.saved)

    def record(*args: Any) -> Any:
        edges, wanted = edges_and_mask(plan, args)
        if not wanted and not requires_grad(plan, args):
            return below(*args)
        node = new_node(cls, args, edges, wanted)
        result = below(*args)
        if saves:
            # After the call: of an argument that it writes to (noise, running statistics), formulas want the new value.
            node.saved = (*saved_inputs(plan, args, wanted), *saved_outputs(plan, (result,), wanted))
        if watched:
            watch(node)
        if result._dtype in DIFFERENTIABLE:
            node.shape = result._array.shape
            node.dtype = result._dtype
            node.keys = result._keys
            node.more_outputs = ()
            make_output(result, node, 0, is_view)
            if is_view and args[0]._autograd is not None:
                result._autograd.creation = args[0]._autograd.creation
        return result

    return record


def record_outputs(cls: type[OperatorNode], below: Callee, watched: bool) -> Callee:
    """An operator with several results: a tuple, or a list of any length."""
    plan = cls.plan
    is_view = _is_view(plan.schema)
    saves = bool(plan.saved)
    chosen = plan.rule.differentiable_outputs

    def record(*args: Any) -> Any:
        edges, wanted = edges_and_mask(plan, args)
        if not wanted and not requires_grad(plan, args):
            return below(*args)
        node = new_node(cls, args, edges, wanted)
        results = below(*args)
        if saves:
            node.saved = (*saved_inputs(plan, args, wanted), *saved_outputs(plan, results, wanted))
        if watched:
            watch(node)
        node.set_outputs([EMPTY_SPEC if r is None else output_spec(r) for r in results])
        for nr, result in enumerate(results):
            if result is not None and result._dtype in DIFFERENTIABLE and (chosen is None or chosen[nr]):
                make_output(result, node, nr, is_view)
        return results

    return record


def watch(node: OperatorNode) -> None:
    """What packing hooks, anomaly mode and inference tensors ask of a node that has just saved its tensors."""
    note_forward(node)
    if node.plan.saved:
        node.saved = packed(node.saved or ())


def packed(saved: Sequence[Any]) -> tuple[Any, ...]:
    """A `saved` list as the pack hooks of this thread would have it, refusing inference tensors."""
    return tuple(kept for item, version in pairs(saved) for kept in (pack_item(item), version))
