"""``torch._functorch.partitioners``: the graph of a function with its gradients, as one of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mt_library.tags import Tag

from .._unsupported import unsupported_function
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node

__all__ = ["default_partition", "min_cut_rematerialization_partition"]

min_cut_rematerialization_partition = unsupported_function(
    "torch._functorch.partitioners.min_cut_rematerialization_partition",
    "default_partition keeps what the forward computes; torch.utils.checkpoint computes again what is named.",
)


def default_partition(
    joint_module: GraphModule, _joint_inputs: Any, *, num_fwd_outputs: int,
    static_lifetime_input_indices: list[int] | None = None, static_lifetime_input_nodes: Any = None,
) -> tuple[GraphModule, GraphModule]:  # fmt: skip
    """The forward and the backward of a joint graph; what the forward computes and the backward needs is saved.

    The forward gives the function's results, then what is saved. The backward takes what is saved, then the cotangents.

    Parameters
    ----------
    num_fwd_outputs
        How many results of the joint graph are the function's; the others are gradients.
    static_lifetime_input_indices, static_lifetime_input_nodes
        What PyTorch's own compilers know of memory; it changes nothing about the parts.
    """
    inputs = joint_module.graph.find_nodes(op="placeholder")
    primals = [node for node in inputs if not _is_cotangent(node)]
    tangents = [node for node in inputs if _is_cotangent(node)]
    (output,) = joint_module.graph.find_nodes(op="output")
    results, grads = output.args[0][:num_fwd_outputs], output.args[0][num_fwd_outputs:]
    forward = _needed([*_nodes(results), *_effects(joint_module.graph, tangents)], primals).union(primals)
    backward = _needed(_nodes(grads), [*forward, *tangents])
    saved = list(dict.fromkeys(_saved(joint_module.graph, forward, backward, set(_nodes(grads)))))
    return (
        _extracted(joint_module, primals, [*results, *saved], forward),
        _extracted(joint_module, [*saved, *tangents], grads, set()),
    )


def _is_cotangent(node: Node) -> bool:
    return "tangents" in str(node.target)


def _nodes(values: Iterable[Any]) -> list[Node]:
    return [value for value in values if isinstance(value, Node)]


def _effects(graph: Graph, tangents: Sequence[Node]) -> list[Node]:
    """The steps that draw random numbers, write or return nothing, and follow from no cotangent."""
    later = set(tangents)
    found = []
    for node in graph.nodes:
        if any(parent in later for parent in node.all_input_nodes):
            later.add(node)
        elif node.op not in ("placeholder", "output", "get_attr") and _has_effect(node):
            found.append(node)
    return found


def _has_effect(node: Node) -> bool:
    return bool(node.is_impure()) or Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def _needed(roots: Iterable[Node], given: Iterable[Node]) -> set[Node]:
    """The nodes that others are computed from, as far as the given ones; these, where they are needed, included."""
    stops = set(given)
    found: set[Node] = set()
    pending = list(roots)
    while pending:
        node = pending.pop()
        if node not in found:
            found.add(node)
            pending.extend(user for user in node.users if node in _written_by(user))
            if node not in stops:
                pending.extend(node.all_input_nodes)
    return found


def _written_by(node: Node) -> list[Node]:
    """What a step writes to."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.is_mutable:
        return []
    values = zip(schema.arguments, node.args, strict=False)
    written = [value for argument, value in values if argument.alias_info and argument.alias_info.is_write]
    named = {argument.name for argument in schema.arguments if argument.alias_info and argument.alias_info.is_write}
    written += [value for name, value in node.kwargs.items() if name in named]
    flat = [item for value in written for item in (value if isinstance(value, (list, tuple)) else [value])]
    return _nodes(flat)


def _saved(graph: Graph, forward: set[Node], backward: set[Node], grads: set[Node]) -> Iterable[Node]:
    """What the forward gives the backward; of operators with several results, these."""
    for node in graph.nodes:
        if node not in forward or node.op == "get_attr":
            continue
        users = [user for user in node.users if user in backward and user not in forward]
        if not users and node not in grads:
            continue
        if isinstance(node.meta.get("val"), (tuple, list)):
            yield from users
        else:
            yield node


def _extracted(module: GraphModule, inputs: Sequence[Node], outputs: Sequence[Any], besides: set[Node]) -> GraphModule:
    """The part of a graph that computes outputs, and some nodes besides, from inputs."""
    graph = Graph()
    copies: dict[Node, Node] = {}
    for node in inputs:
        copies[node] = graph.placeholder(node.name)
        copies[node].meta = dict(node.meta)
    needed = _needed(_nodes(outputs), inputs) | besides
    for node in module.graph.nodes:
        if node in needed and node not in copies:
            copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.output(tuple(copies[value] if isinstance(value, Node) else value for value in outputs))
    graph.lint()
    return GraphModule(module, graph)
