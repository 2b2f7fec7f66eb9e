"""``torch.fx.passes.utils.source_matcher_utils``: the steps of a graph that come of one module or function."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from ...._unsupported import refusal
from ...graph import Graph
from ...node import Node

__all__ = ["SourcePartition", "check_subgraphs_connected", "get_source_partitions"]


@dataclasses.dataclass
class SourcePartition:
    """The steps that come of one module or function.

    Attributes
    ----------
    source
        The class or function, as it was asked for.
    input_nodes
        What the steps take that are not among them.
    output_nodes
        Those of the steps that others take.
    params
        Those that read attributes.
    """

    nodes: list[Node]
    source: Any
    input_nodes: list[Node] = dataclasses.field(default_factory=list)
    output_nodes: list[Node] = dataclasses.field(default_factory=list)
    params: list[Node] = dataclasses.field(default_factory=list)


def get_source_partitions(
    graph: Graph, wanted_sources: list[Any], filter_fn: Callable[[Node], bool] | None = None
) -> dict[Any, list[SourcePartition]]:
    """The steps of a graph that come of modules or functions, a part for each of these.

    Steps tell where they come from in ``meta["source_fn_stack"]``, and those of an exported program in
    ``meta["nn_module_stack"]``: the innermost module.

    Parameters
    ----------
    wanted_sources
        Classes of modules, or their full names, and functions.
    filter_fn
        Only parts all of whose steps it accepts.

    Raises
    ------
    NotImplementedError
        For names of functions, where the graph is of an exported program: its steps do not tell them.
    """
    parts: dict[Any, dict[str, list[Node]]] = {}
    for node in graph.nodes:
        for source, place in _origins(node, wanted_sources):
            parts.setdefault(source, {}).setdefault(place, []).append(node)
    found = {source: [_partition(nodes, source) for nodes in by_place.values()] for source, by_place in parts.items()}
    if filter_fn is None:
        return found
    kept = {source: [part for part in made if all(map(filter_fn, part.nodes))] for source, made in found.items()}
    return {source: made for source, made in kept.items() if made}


def _origins(node: Node, wanted: list[Any]) -> Iterator[tuple[Any, str]]:
    """What a step comes of that is wanted, with its name."""
    stack = node.meta.get("source_fn_stack")
    if stack:
        place, source = stack[-1]
        if source in wanted:
            yield source, place
        return
    modules = list(node.meta.get("nn_module_stack", {}).values())
    if not modules:
        return
    path, kind = modules[-1]
    for source in wanted:
        if isinstance(source, str) and "." not in source:
            raise refusal(
                f"get_source_partitions(graph, [{source!r}]) of an exported program", "Ask for classes of modules."
            )
        name = f"{source.__module__}.{source.__qualname__}" if isinstance(source, type) else source
        if name == kind or source is kind:
            yield source, path


def _partition(nodes: list[Node], source: Any) -> SourcePartition:
    inside = set(nodes)
    inputs = [taken for node in nodes for taken in node.all_input_nodes if taken not in inside]
    outputs = [node for node in nodes if node.op != "get_attr" and any(user not in inside for user in node.users)]
    params = [node for node in nodes if node.op == "get_attr"]
    return SourcePartition(nodes, source, list(dict.fromkeys(inputs)), outputs, params)


def check_subgraphs_connected(subgraph1: SourcePartition, subgraph2: SourcePartition) -> bool:
    """Whether a step of the second part takes what a step of the first gives."""
    return any(taken in subgraph1.nodes for node in reversed(subgraph2.nodes) for taken in node.all_input_nodes)
