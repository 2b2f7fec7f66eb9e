"""``torch.fx.passes.graph_manipulation``: targets of nodes replaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg

__all__ = ["replace_target_nodes_with"]

Target = Callable[..., Any] | str


def replace_target_nodes_with(
    fx_module: GraphModule, old_op: str, old_target: Target, new_op: str, new_target: Target
) -> None:
    """Have all nodes of a kind and target be of another kind and target; their arguments stay."""
    made, copies = Graph(), dict[Node, Node]()
    for node in fx_module.graph.nodes:
        if node.op == old_op and node.target == old_target:
            args, kwargs = map_arg(node.args, copies.__getitem__), map_arg(node.kwargs, copies.__getitem__)
            copies[node] = made.create_node(new_op, new_target, args, kwargs, node.name)
        else:
            copies[node] = made.node_copy(node, copies.__getitem__)
    fx_module.graph = made
