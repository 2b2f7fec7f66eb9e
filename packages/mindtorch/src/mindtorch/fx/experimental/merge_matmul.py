"""``torch.fx.experimental.merge_matmul``: products with the same right side become one."""

from __future__ import annotations

import operator
from typing import Any

import mt_core
from mt_core import Tensor
from mt_core.api import _functions as ops
from mt_nn import Module

from .._symbolic_trace import symbolic_trace
from ..graph_module import GraphModule
from ..node import Node

__all__ = ["are_nodes_independent", "may_depend_on", "merge_matmul", "split_result_tensors"]


def split_result_tensors(result: Tensor, inputs: list[Tensor]) -> tuple[Tensor, ...]:
    """Of a product with inputs one below the other (sum M_i, R) the product of each (M_i, R)."""
    return tuple(ops.split(result, [tensor.shape[0] for tensor in inputs]))


def may_depend_on(a: Node, b: Node, search_depth: int = 6) -> bool:
    """Whether a node depends on another one; True where so many steps back do not suffice to know."""
    if a == b:
        return True
    if not a.all_input_nodes:
        return False
    return search_depth == 0 or any(may_depend_on(parent, b, search_depth - 1) for parent in a.all_input_nodes)


def are_nodes_independent(nodes: list[Node]) -> bool:
    """Whether no node depends on another one."""
    return not any(may_depend_on(a, b) or may_depend_on(b, a) for i, a in enumerate(nodes) for b in nodes[i + 1 :])


def merge_matmul(in_mod: Module) -> GraphModule:
    """The traced module with one ``matmul`` in the place of independent ones by the same tensor.

    What stands to the left has two dimensions, or the products cannot be cut apart again.
    """
    traced = symbolic_trace(in_mod)
    by_right: dict[Any, list[Node]] = {}
    for node in traced.graph.find_nodes(op="call_function", target=mt_core.matmul):
        by_right.setdefault(node.args[1], []).append(node)
    for right, products in by_right.items():
        if len(products) > 1 and are_nodes_independent(products):
            _merge(traced, right, products)
    traced.graph.lint()
    traced.recompile()
    return traced


def _merge(traced: GraphModule, right: Any, products: list[Node]) -> None:
    lefts = [node.args[0] for node in products]
    graph = traced.graph
    last = max((node for node in (*lefts, right) if isinstance(node, Node)), key=list(graph.nodes).index)
    with graph.inserting_before(products[0]) if last < products[0] else graph.inserting_after(last):
        joined = graph.call_function(ops.cat, (lefts,), {})
    with graph.inserting_after(joined):
        product = graph.call_function(ops.matmul, (joined, right), {})
    with graph.inserting_after(product):
        parts = graph.call_function(split_result_tensors, (product, lefts), {})
    place = parts
    for i, node in enumerate(products):
        with graph.inserting_after(place):
            place = graph.call_function(operator.getitem, (parts, i), {})
        node.replace_all_uses_with(place)
        graph.erase_node(node)
