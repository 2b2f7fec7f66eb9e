"""What recording is made of: edges, nodes, saved tensors, and the history of results.

In-place recording calls these one by one; `mt_autograd.recorders` writes the same out for every pattern of arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mt_core.autograd_state import AutogradState
from mt_core.dtypes import ALL_DTYPES
from mt_core.keys import AUTOGRAD
from mt_core.schema import Schema
from mt_core.tensor_types import TENSORS, tensors_in

from .anomaly_mode import note_forward
from .node import LEAF, NO_EDGE, next_sequence_nr, pairs
from .operator_node import OperatorNode, keep_spec, pack_item
from .rules import Plan
from .saved import saved_output, version_of
from .views import edge_of

__all__ = [
    "DIFFERENTIABLE",
    "REAL",
    "edges_and_mask",
    "edges_of_list",
    "make_output",
    "new_node",
    "packed",
    "real_results_only",
    "refuse_gradient",
    "tells_first",
    "requires_grad",
    "saved_inputs",
    "saved_outputs",
    "watch",
]

#: Results of other dtypes have no history.
DIFFERENTIABLE = frozenset(d for d in ALL_DTYPES if d.is_floating_point or d.is_complex)
#: Those of them that operators record whose derivatives are of real results only.
REAL = frozenset(d for d in DIFFERENTIABLE if not d.is_complex)


def edges_and_mask(plan: Plan, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], int]:
    """The edges of a call, a pair per differentiable tensor, and a bit for each argument that has a true one."""
    edges: list[Any] = []
    wanted = 0
    for position, bit, is_list in plan.inputs:
        for tensor in (args[position] or ()) if is_list else (args[position],):
            edge = edge_of(tensor) if tensor.__class__ in TENSORS else NO_EDGE
            edges += edge
            if edge[0] is not None:
                wanted |= bit
    return tuple(edges), wanted


def edges_of_list(tensors: Sequence[Any] | None) -> list[Any] | None:
    """The edges of a list of tensors, a pair for each; None where all lead nowhere."""
    edges: list[Any] = []
    leads_somewhere = False
    for tensor in tensors or ():
        if tensor is None or not tensor._keys & AUTOGRAD:
            edges += NO_EDGE
        elif tensor._base is None:
            state = tensor._autograd
            edges += (tensor, LEAF) if state.grad_fn is None else (state.grad_fn, state.output_nr)
            leads_somewhere = True
        else:
            edge = edge_of(tensor)
            edges += edge
            leads_somewhere = leads_somewhere or edge[0] is not None
    return edges if leads_somewhere else None


def refuse_gradient(plan: Plan, position: int) -> None:
    """Refuse to record a call one of whose arguments requires grad and has no derivative.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    raise RuntimeError(
        f"The function '{plan.schema.name}' is not differentiable with respect to argument "
        f"'{plan.schema.arguments[position].name}'. This input cannot have requires_grad True."
    )


#: Arguments of floats, which PyTorch's layer refuses before the operator is called.
_OF_FLOATS = frozenset(("atol", "pos_weight", "rtol", "scale", "weight"))


def tells_first(plan: Plan, position: int) -> bool:
    """Whether an operator says what is wrong with a call before an argument is refused that requires grad."""
    arguments = plan.schema.arguments
    return arguments[position].name not in _OF_FLOATS and not any(argument.writes for argument in arguments)


def real_results_only(schema: Schema) -> RuntimeError:
    """PyTorch's error for a complex result of an operator that is differentiated where its results are real."""
    return RuntimeError(f"{schema.name} does not support automatic differentiation for outputs with complex dtype.")


def requires_grad(plan: Plan, args: tuple[Any, ...]) -> bool:
    """Whether a differentiable argument requires grad, be it a view whose gradient goes nowhere."""
    values = [args[position] for position in plan.positions]
    return any(t._keys & AUTOGRAD for t in tensors_in(values))


def new_node(cls: type[OperatorNode], args: tuple[Any, ...], edges: tuple[Any, ...], wanted: int) -> OperatorNode:
    """A node with everything that is known before the operator has run, saved tensors aside."""
    node = cls()
    plan = cls.plan
    node._edges = edges
    node._sequence = next_sequence_nr()
    node._hooks = None
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
            output = saved_output(outputs[position], position)
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


def watch(node: OperatorNode) -> None:
    """What packing hooks, anomaly mode and inference tensors ask of a node that has just saved its tensors."""
    note_forward(node)
    if node.plan.saved:
        node.saved = packed(node.saved or ())


def packed(saved: Sequence[Any]) -> tuple[Any, ...]:
    """A `saved` list as the pack hooks of this thread would have it, refusing inference tensors."""
    return tuple(kept for item, version in pairs(saved) for kept in (pack_item(item), version))
