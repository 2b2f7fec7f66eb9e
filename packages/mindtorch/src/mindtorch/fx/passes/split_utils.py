"""``torch.fx.passes.split_utils``: parts of a graph by the tags of its nodes."""

from __future__ import annotations

import copy
import operator
from dataclasses import dataclass, field
from typing import Any

from mt_nn import Module

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg

__all__ = ["Component", "getattr_recursive", "setattr_recursive", "split_by_tags"]


def getattr_recursive(obj: Any, name: str) -> Any:
    """What a dotted name means; None where a part of it is none."""
    for part in name.split("."):
        if not hasattr(obj, part):
            return None
        obj = getattr(obj, part)
    return obj


def setattr_recursive(obj: Any, attr: str, value: Any) -> None:
    """Set what a dotted name means, of an object that has all but its last part."""
    *owners, name = attr.split(".")
    for owner in owners:
        obj = getattr(obj, owner)
    setattr(obj, name, value)


@dataclass
class Component:
    """A part of a graph.

    Attributes
    ----------
    order
        Its place among the parts.
    input_placeholders, orig_inputs
        Its inputs, and the nodes of the whole graph that they stand for.
    orig_outputs
        The nodes of the whole graph that it gives.
    getattr_maps
        Nodes of the whole graph that read attributes -> its own.
    constructor_args
        Names of attributes that only it has.
    gm
        Its module.
    """

    graph: Graph
    order: int
    name: str
    input_placeholders: list[Node] = field(default_factory=list)
    orig_inputs: list[Node] = field(default_factory=list)
    orig_outputs: list[Node] = field(default_factory=list)
    getattr_maps: dict[Node, Node] = field(default_factory=dict)
    constructor_args: list[str] = field(default_factory=list)
    gm: GraphModule | None = None


def split_by_tags(
    gm: GraphModule, tags: list[str], return_fqn_mapping: bool = False, return_tuple: bool = False,
    GraphModuleCls: type[GraphModule] = GraphModule,
) -> Any:  # fmt: skip
    """A module of modules, one for each tag, that does what a graph does; nodes have their tag in ``node.tag``.

    Inputs, outputs and nodes that read attributes need none.

    Parameters
    ----------
    tags
        In the order in which the parts run.
    return_fqn_mapping
        Give a dict from names of modules and attributes to their names after the split, too.
    return_tuple
        Have each part give a tuple, also of one value.

    Raises
    ------
    AssertionError
        For a node without tag, and one that needs what a later part computes.
    """
    parts = {tag: Component(Graph(), order, tag) for order, tag in enumerate(tags)}
    owner: dict[Node, Component] = {}
    copies: dict[Node, Node] = {}
    names: dict[str, str] = {}
    for node in gm.graph.nodes:
        if node.op not in ("placeholder", "get_attr", "output"):
            _add(node, parts, owner, copies, names)
    (output,) = gm.graph.find_nodes(op="output")
    for node in output.all_input_nodes:
        if node in owner and node not in owner[node].orig_outputs:
            owner[node].orig_outputs.append(node)
    whole = _assembled(gm, [part for part in parts.values() if part.graph.nodes], copies, return_tuple, GraphModuleCls)
    return (whole, names) if return_fqn_mapping else whole


def _add(
    node: Node, parts: dict[str, Component], owner: dict[Node, Component], copies: dict[Node, Node],
    names: dict[str, str],
) -> None:  # fmt: skip
    if not hasattr(node, "tag"):
        raise AssertionError(f"Node does not have tag: {node.format_node()}")
    part = parts[node.tag]
    upstream = [owner[parent] for parent in node.all_input_nodes if parent in owner]
    latest = max((one.order for one in upstream), default=0)
    if part.order < latest:
        raise AssertionError(
            f"Component {part.name} order must be >= max of its upstream components, order={part.order} and "
            f"max={latest}"
        )

    def inside(parent: Node) -> Node:
        if parent.op == "get_attr":
            if parent not in part.getattr_maps:
                part.getattr_maps[parent] = part.graph.get_attr(parent.target, type_expr=parent.type)
                names[str(parent.target)] = f"{part.name}.{parent.target}"
            return part.getattr_maps[parent]
        if parent.op != "placeholder" and owner[parent] is part:
            return copies[parent]
        if parent not in part.orig_inputs:
            _take_in(part, parent)
            if parent in owner and parent not in owner[parent].orig_outputs:
                owner[parent].orig_outputs.append(parent)
        return part.input_placeholders[part.orig_inputs.index(parent)]

    copies[node] = part.graph.node_copy(node, inside)
    owner[node] = part
    if node.op == "call_module":
        names[str(node.target)] = f"{part.name}.{node.target}"


def _take_in(part: Component, parent: Node) -> None:
    """An input of a part, which comes after its other inputs."""
    graph = part.graph
    with (
        graph.inserting_after(part.input_placeholders[-1]) if part.input_placeholders else graph.inserting_before(None)
    ):
        made = graph.placeholder(parent.name, type_expr=parent.type)
    made.meta = copy.copy(parent.meta)
    part.orig_inputs.append(parent)
    part.input_placeholders.append(made)


def _assembled(
    gm: GraphModule, parts: list[Component], copies: dict[Node, Node], return_tuple: bool, cls: type[GraphModule]
) -> GraphModule:
    graph, root = Graph(), Module()
    values: dict[Node, Node] = {}
    for node in gm.graph.find_nodes(op="placeholder"):
        values[node] = graph.node_copy(node, values.__getitem__)
    for part in parts:
        outputs = tuple(copies[node] for node in part.orig_outputs)
        as_one = len(outputs) == 1 and not return_tuple
        part.graph.output(outputs[0] if as_one else outputs)
        part.gm = cls(gm, part.graph)
        setattr(root, part.name, part.gm)
        call = graph.call_module(part.name, tuple(values[node] for node in part.orig_inputs))
        for i, node in enumerate(part.orig_outputs):
            values[node] = call if as_one else graph.call_function(operator.getitem, (call, i))
    (output,) = gm.graph.find_nodes(op="output")

    def outside(node: Node) -> Node:
        if node.op == "get_attr" and node not in values:
            _copy_attribute(root, gm, str(node.target))
            values[node] = graph.get_attr(node.target)
        return values[node]

    graph.output(map_arg(output.args[0], outside))
    return cls(root, graph)


def _copy_attribute(root: Module, gm: Module, name: str) -> None:
    """Give a module what another one has by a dotted name."""
    owner = root
    *path, last = name.split(".")
    for part in path:
        if not hasattr(owner, part):
            owner.add_module(part, Module())
        owner = getattr(owner, part)
    setattr(owner, last, getattr_recursive(gm, name))
