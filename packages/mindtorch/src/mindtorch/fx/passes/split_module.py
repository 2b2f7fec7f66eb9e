"""``torch.fx.passes.split_module``: a graph as a graph of modules, each of which holds a part of its steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mt_nn import Module

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg
from ..proxy import Proxy

__all__ = ["Partition", "split_module"]


class Partition:
    """One part: its name, the names of what goes in and out, and the parts that it needs and that need it.

    Attributes
    ----------
    inputs, outputs
        Names of nodes of the graph that is split, in the order of their first use by another part.
    dependencies, dependents
        Names of parts.
    environment
        Node of the graph that is split -> node of this part's graph.
    targets
        What this part's graph refers to, by the names that it has there.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.submod_name = f"submod_{name}"
        self.node_names: list[str] = []
        self.inputs: dict[str, None] = {}
        self.outputs: dict[str, None] = {}
        self.dependencies: dict[str, None] = {}
        self.dependents: dict[str, None] = {}
        self.graph = Graph()
        self.environment: dict[Node, Node] = {}
        self.targets: dict[str, Any] = {}

    def __repr__(self) -> str:
        return (
            f"name: {self.name},\n nodes: {self.node_names},\n inputs: {self.inputs},\n outputs: {self.outputs},\n "
            f"partitions depended on: {self.dependencies},\n partition dependents: {self.dependents}"
        )


def split_module(
    m: GraphModule,
    root_m: Module | None,
    split_callback: Callable[[Node], Any],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False,
    keep_original_node_name: bool | None = False,
    keep_original_input_name: bool = True,
    *,
    partition_affix: str | None = None,
    tuple_return: bool = False,
) -> GraphModule:
    """A graph module whose steps are modules ``submod_NAME``, each with the steps that one part has.

    Parameters
    ----------
    m
        What is split; parameters and modules are shared with it.
    root_m
        Not looked at.
    split_callback
        Node -> which part it belongs to; asked for every step in order, not for inputs, attributes and the output.
    qualname_map
        Filled with: path of a module in the result -> its path in `m`.
    keep_original_order
        The parts stand in the order of their first steps, and not in one in which each follows what it needs.
    keep_original_node_name, keep_original_input_name
        The steps of a part are named as in `m`; the inputs too, and not ``arg_0``, ``arg_1`` and so on.
    partition_affix
        Stands before the part's name, ``submod_AFFIX_NAME``.
    tuple_return
        A part with one output gives a tuple of it.

    Raises
    ------
    RuntimeError
        When parts need each other.
    """
    split = _Split(m, split_callback, partition_affix)
    parts = split.in_dependency_order()
    split.fill(parts, bool(keep_original_node_name), keep_original_input_name, qualname_map)
    joined = _Joined(split, bool(keep_original_node_name), tuple_return)
    return joined.module(list(split.parts.values()) if keep_original_order else parts, not keep_original_order)


class _Split:
    """A graph's steps, by parts."""

    def __init__(self, module: GraphModule, choose: Callable[[Node], Any], affix: str | None) -> None:
        self.source = module
        self.nodes = {node.name: node for node in module.graph.nodes}
        self.parts: dict[str, Partition] = {}
        self.part_of: dict[Node, Partition] = {}
        for node in module.graph.nodes:
            if node.op not in ("placeholder", "get_attr", "output"):
                self._assign(node, str(choose(node)), affix)
        for node in module.graph.nodes:
            self._note_inputs(node)

    def _assign(self, node: Node, name: str, affix: str | None) -> None:
        part = self.parts.setdefault(name, Partition(name))
        if affix is not None:
            part.submod_name = f"submod_{affix}_{name}"
        part.node_names.append(node.name)
        self.part_of[node] = part

    def _note_inputs(self, node: Node) -> None:
        def note(used: Node) -> Node:
            self._note_use(used, self.part_of.get(used), self.part_of.get(node))
            return used

        map_arg((node.args, node.kwargs), note)

    def _note_use(self, used: Node, origin: Partition | None, user: Partition | None) -> None:
        if origin is user:
            return
        if origin is not None:
            origin.outputs[used.name] = None
        if user is not None:
            user.inputs[used.name] = None
        if origin is not None and user is not None:
            origin.dependents[user.name] = None
            user.dependencies[origin.name] = None

    def in_dependency_order(self) -> list[Partition]:
        """The parts, each after all that it needs; what became possible last comes first."""
        missing = {name: set(part.dependencies) for name, part in self.parts.items()}
        ready = [part for part in self.parts.values() if not part.dependencies]
        found = []
        while ready:
            part = ready.pop()
            found.append(part)
            for name in part.dependents:
                missing[name].discard(part.name)
                if not missing[name]:
                    ready.append(self.parts[name])
        if len(found) != len(self.parts):
            raise RuntimeError("cycle exists between partitions!")
        return found

    def fill(
        self, parts: list[Partition], keep_names: bool, keep_inputs: bool, qualname_map: dict[str, str] | None
    ) -> None:
        """Give every part its inputs and steps; outputs follow when the parts are joined."""
        for part in parts:
            for index, name in enumerate(part.inputs):
                self._add_input(part, self.nodes[name], name if keep_inputs else f"arg_{index}")
        for node, part in self.part_of.items():
            self._add_step(part, node, node.name if keep_names else None, qualname_map)

    def _add_input(self, part: Partition, node: Node, name: str) -> None:
        made = part.graph.placeholder(name, type_expr=node.type)
        made.meta = node.meta.copy()
        part.environment[node] = made

    def _add_step(self, part: Partition, node: Node, name: str | None, qualname_map: dict[str, str] | None) -> None:
        target = node.target
        if node.op == "call_module":
            target = node.target.replace(".", "_")
            part.targets[target] = self.source.get_submodule(node.target)
            if qualname_map is not None:
                qualname_map[f"{part.submod_name}.{target}"] = node.target
        args, kwargs = map_arg((node.args, node.kwargs), part.environment.__getitem__)
        made = part.graph.create_node(node.op, target, args, kwargs, name, node.type)
        made.meta = node.meta.copy()
        part.environment[node] = made


class _Joined:
    """The graph in which the parts are steps."""

    def __init__(self, split: _Split, keep_names: bool, tuple_return: bool) -> None:
        self.split = split
        self.keep_names = keep_names
        self.tuple_return = tuple_return
        self.graph = Graph()
        self.values: dict[str, Node] = {}
        self.attributes: dict[str, Any] = {}

    def module(self, parts: list[Partition], attributes_first: bool) -> GraphModule:
        """The module of the parts in this order; attributes are read at the start, or else before their first use."""
        for node in self.split.source.graph.nodes:
            if node.op == "placeholder" or (attributes_first and node.op == "get_attr"):
                self._add_input(node)
        for part in parts:
            self._add_attributes(part.inputs)
            self._add_part(part)
        output = self.split.source.graph.output_node()
        self._add_attributes(node.name for node in output.all_input_nodes)
        self.graph.output(map_arg(output.args[0], lambda node: self.values[node.name]))
        return GraphModule(self.attributes, self.graph)

    def _add_attributes(self, names: Any) -> None:
        for name in names:
            if name not in self.values and self.split.nodes[name].op == "get_attr":
                self._add_input(self.split.nodes[name])

    def _add_input(self, node: Node) -> None:
        if node.op == "get_attr":
            made = self.graph.get_attr(node.target)
            self.attributes[node.target] = _attribute(self.split.source, node.target)
        else:
            target = node.name if self.keep_names else node.target
            made = self.graph.create_node("placeholder", target, node.args, type_expr=node.type)
        made.meta = node.meta.copy()
        self.values[node.name] = made

    def _add_part(self, part: Partition) -> None:
        given = tuple(part.environment[self.split.nodes[name]] for name in part.outputs)
        alone = len(given) == 1 and not self.tuple_return
        part.graph.output(given[0] if alone else given)
        self.attributes[part.submod_name] = GraphModule(part.targets, part.graph)
        made = self.graph.call_module(part.submod_name, tuple(self.values[name] for name in part.inputs))
        for index, name in enumerate(part.outputs):
            self.values[name] = made if alone else Proxy(made)[index].node  # type: ignore[index]


def _attribute(module: Module, path: str) -> Any:
    owner, _, name = path.rpartition(".")
    return getattr(module.get_submodule(owner), name)
