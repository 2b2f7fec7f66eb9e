"""``torch.fx.passes.utils.fuser_utils``: parts of a graph put into modules of their own."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from ...graph import Graph
from ...graph_module import GraphModule
from ...node import Node
from ..tools_common import stable_order
from .common import lift_subgraph_as_module

__all__ = [
    "erase_nodes", "fuse_as_graphmodule", "fuse_by_partitions", "insert_subgm", "topo_sort", "validate_partition",
]  # fmt: skip


def topo_sort(nodes: list[Node]) -> list[Node]:
    """Nodes in an order in which each stands behind those of them that it uses, otherwise as given.

    Raises
    ------
    AssertionError
        When they use one another in a circle.
    """
    left = dict.fromkeys(nodes)
    ordered: list[Node] = []
    while left:
        ready = [node for node in left if not any(used in left for used in node.all_input_nodes)]
        if not ready:
            raise AssertionError("topological sorted nodes doesn't have same length as input nodes")
        ordered.extend(ready)
        for node in ready:
            del left[node]
    return ordered


def validate_partition(partition: list[Node]) -> bool:
    """Whether nodes can become one: nothing that uses them gives what they use."""
    inside = set(partition)
    waiting = [user for node in partition for user in node.users if user not in inside]
    seen = set(waiting)
    while waiting:
        for user in waiting.pop().users:
            if user in inside:
                return False
            if user not in seen:
                seen.add(user)
                waiting.append(user)
    return True


def fuse_as_graphmodule(
    gm: GraphModule,
    nodes: list[Node],
    module_name: str,
    partition_lookup_table: Any = None,
    *,
    always_return_tuple: bool = False,
) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:
    """Nodes as a module, with the nodes that it is to be given and those that it gives.

    Raises
    ------
    AssertionError
        When a node is of another graph, or they cannot become one.
    """
    for node in nodes:
        if node.graph.owning_module is not gm or node._erased:
            raise AssertionError(f"{node} is not found in graph module {gm._get_name()}")
    ordered = topo_sort(nodes)
    if not validate_partition(ordered):
        raise AssertionError("Invalid partition, found dependency cycles")
    inside = dict.fromkeys(ordered)
    inputs = dict.fromkeys(used for node in ordered for used in node.all_input_nodes if used not in inside)
    made, copies = Graph(), dict[Node, Node]()
    for node in inputs:
        copies[node] = made.placeholder(node.name, node.type)
        copies[node].meta = node.meta.copy()
    for node in ordered:
        copies[node] = made.node_copy(node, copies.__getitem__)
    outputs = tuple(node for node in ordered if any(user not in inside for user in node.users))
    values = tuple(copies[node] for node in outputs)
    made.output(values[0] if len(values) == 1 and not always_return_tuple else values)
    made.lint()
    module, _ = lift_subgraph_as_module(gm, made, comp_name="", class_name=module_name)
    return module, tuple(inputs), outputs


def insert_subgm(
    gm: GraphModule, sub_gm: GraphModule, orig_inputs: tuple[Node, ...], orig_outputs: tuple[Node, ...],
    insertion_point: Node | None = None,
) -> GraphModule:  # fmt: skip
    """Have a graph call a module in the place of nodes; they stay, without users."""
    name = sub_gm.__class__.__name__
    gm.add_submodule(name, sub_gm)
    gives_tuple = isinstance(sub_gm.graph.output_node().args[0], tuple)
    with gm.graph.inserting_before(insertion_point or gm.graph.output_node()):
        called = gm.graph.call_module(name, args=orig_inputs)
        for index, old in enumerate(orig_outputs):
            new = gm.graph.call_function(operator.getitem, (called, index)) if gives_tuple else called
            new.meta = old.meta.copy()
            old.replace_all_uses_with(new, propagate_meta=False)
    return gm


def erase_nodes(gm: GraphModule, nodes: Iterable[Node]) -> None:
    """Erase nodes that nothing but one another uses; users stand behind."""
    for node in reversed(list(nodes)):
        gm.graph.erase_node(node)


def fuse_by_partitions(
    gm: GraphModule, partitions: list[Any], prefix: str = "fused_", always_return_tuple: bool = False
) -> GraphModule:
    """Have a graph call a module for each of several groups of nodes.

    Raises
    ------
    AssertionError
        When the nodes of a group cannot become one.
    """
    for index, nodes in enumerate(partitions):
        ordered = topo_sort(list(nodes))
        module, inputs, outputs = fuse_as_graphmodule(
            gm, ordered, f"{prefix}{index}", always_return_tuple=always_return_tuple
        )
        insert_subgm(gm, module, inputs, outputs)
        erase_nodes(gm, ordered)
        for node in stable_order(gm.graph):
            gm.graph._root.prepend(node)  # to the end
    gm.recompile()
    return gm
