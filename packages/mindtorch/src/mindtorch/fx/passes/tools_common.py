"""``torch.fx.passes.tools_common``: what several passes need."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import Any

from mt_core import Tensor
from mt_nn import Module

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node

__all__ = ["get_node_target", "is_node_output_tensor", "legalize_graph", "stable_order", "stable_topological_sort"]

CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


def get_node_target(submodules: Mapping[str, Module], node: Node) -> str:
    """What a node calls, as a name: of a module the class, of a function its module and name, of a method its name.

    Raises
    ------
    AssertionError
        For nodes that call nothing.
    """
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(f"Expect op types of {', '.join(CALLABLE_NODE_OPS)}, but found {node.op}")
    if node.op == "call_module":
        kind = type(submodules[str(node.target)])
        return f"{kind.__module__}.{kind.__qualname__}"
    if node.op == "call_method":
        return str(node.target)
    target: Any = node.target
    if "acc_ops" in target.__module__:
        return f"acc_ops.{target.__name__}"
    module = "torch" if target.__module__ == "torch._C._VariableFunctions" else target.__module__
    return f"{module}.{target.__name__}"


def is_node_output_tensor(node: Node) -> bool:
    """Whether a node is noted to give a tensor: by its ``meta["type"]``."""
    kind = node.meta.get("type")
    return kind is not None and issubclass(kind, Tensor)


def legalize_graph(gm: GraphModule) -> GraphModule:
    """Put the nodes into an order in which each stands behind what it uses, those ready first in the order found.

    Raises
    ------
    RuntimeError
        When nodes use one another in a circle.
    """
    waiting = {node: len(node.all_input_nodes) for node in gm.graph.nodes}
    queue = [node for node, count in waiting.items() if not count]
    for node in queue:  # it grows on the way
        for user in node.users:
            waiting[user] -= 1
            if not waiting[user]:
                queue.append(user)
    return _rebuilt(gm, queue)


def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """As `legalize_graph`, moving no node without need: of those that are ready the first in the graph is next.

    Raises
    ------
    RuntimeError
        When nodes use one another in a circle.
    """
    return _rebuilt(gm, stable_order(gm.graph))


def stable_order(graph: Graph) -> list[Node]:
    """The nodes, each behind what it uses, moved no more than that needs; without those in circles."""
    nodes = list(graph.nodes)
    place = {node: index for index, node in enumerate(nodes)}
    waiting = {node: len(node.all_input_nodes) for node in nodes}
    ready = [place[node] for node, count in waiting.items() if not count]
    ordered = []
    while ready:
        node = nodes[heapq.heappop(ready)]
        ordered.append(node)
        for user in node.users:
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, place[user])
    return ordered


def _rebuilt(gm: GraphModule, ordered: list[Node]) -> GraphModule:
    if len(ordered) < len(gm.graph.nodes):
        missing = [node for node in gm.graph.nodes if node not in set(ordered)]
        raise RuntimeError(f"Input graph has cycles, unable to add {missing[:1]}")
    outputs = [node for node in ordered if node.op == "output"]
    made, copies = Graph(), dict[Node, Node]()
    for node in [node for node in ordered if node.op != "output"] + outputs:
        copies[node] = made.node_copy(node, copies.__getitem__)
    made._codegen = gm.graph._codegen
    gm.graph = made
    return gm
