"""``torch.fx.subgraph_rewriter``: replacing parts of a graph that compute what a pattern computes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from mt_nn import Module

from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule
from .node import Node
from .passes.utils.matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """A place that was replaced: the node where the search began, and pattern node -> node."""

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """As `Match`, with the nodes that stand there now."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


Filter = Callable[[InternalMatch, Graph, Graph], bool]


def replace_pattern(
    gm: GraphModule, pattern: Callable[..., Any] | GraphModule, replacement: Callable[..., Any] | GraphModule
) -> list[Match]:
    """Replace every part of a module's graph that computes what `pattern` does; returns the places.

    Parameters
    ----------
    pattern, replacement
        Functions, which are traced, or graph modules. They take the same inputs and give as many outputs. Parts that
        overlap are replaced once.
    """
    replaced = _replace_pattern(gm, pattern, replacement)
    return [Match(anchor=place.anchor, nodes_map=place.nodes_map) for place in replaced]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Callable[..., Any] | Graph | GraphModule,
    replacement: Callable[..., Any] | Graph | GraphModule | None = None,
    match_filters: list[Filter] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """As `replace_pattern`, for the places that all filters agree to.

    Parameters
    ----------
    match_filters
        Told of a place, the graph and the pattern, say whether it is to be replaced.
    ignore_literals
        Numbers and the like in the pattern stand for any others.
    replacement_callback
        Makes the replacement for a place, where `replacement` is not given.
    """
    return _replace_pattern(
        gm, pattern, replacement, match_filters, ignore_literals, replacement_callback, node_name_match
    )


def _graph_of(program: Callable[..., Any] | Graph | GraphModule) -> Graph:
    if isinstance(program, Graph):
        return program
    return program.graph if isinstance(program, GraphModule) else symbolic_trace(program).graph


def _replace_pattern(
    gm: GraphModule,
    pattern: Any,
    replacement: Any = None,
    match_filters: list[Filter] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Any = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    graph, pattern_graph = gm.graph, _graph_of(pattern)
    matcher = SubgraphMatcher(pattern_graph, ignore_literals=ignore_literals)
    places = [
        match
        for match in matcher.match(graph, node_name_match=node_name_match)
        if all(agrees(match, graph, pattern_graph) for agrees in match_filters or ())
    ]
    common = _graph_of(replacement) if replacement is not None else None
    if common is None and replacement_callback is None:
        raise AssertionError("Must provide either a replacement GraphModule or a replacement callback")
    changed: dict[Node, Node] = {}
    replaced = []
    for match in places:
        made = common if common is not None else replacement_callback(match, graph, pattern_graph)
        replaced.append(_replace(graph, match, made, changed))
    gm.recompile()
    if isinstance(replacement, Module):
        _replace_attributes(gm, replacement)
    elif common is not None and common.owning_module is not None:
        _replace_attributes(gm, common.owning_module)
    return replaced


def _replace(graph: Graph, match: InternalMatch, made: Graph, changed: dict[Node, Node]) -> ReplacedPatterns:
    """Put a replacement in one place; `changed` says which nodes stand in for those of earlier places."""
    inputs = [node for node in made.nodes if node.op == "placeholder"]
    if len(inputs) != len(match.placeholder_nodes):
        raise AssertionError(f"Placeholder count mismatch: {len(match.placeholder_nodes)} vs {len(inputs)}")
    known: dict[Node, Any] = {}
    for placeholder, given in zip(inputs, match.placeholder_nodes, strict=True):
        known[placeholder] = _latest(given, changed)
    for pattern_node, given in match.nodes_map.items():
        match.nodes_map[pattern_node] = _latest(given, changed)
    inner = [g for p, g in match.nodes_map.items() if p.op not in ("placeholder", "output")]
    before_nodes = set(graph.nodes)
    with graph.inserting_before(_first_user(graph, match, inner)):
        copied = graph.graph_copy(made, known)
    outputs = (copied,) if isinstance(copied, Node) else tuple(copied)
    if len(outputs) != len(match.returning_nodes):
        raise AssertionError("Returning nodes count mismatch")
    for old, new in zip(match.returning_nodes, outputs, strict=True):
        old.replace_all_uses_with(new)
        changed[old] = new
    for node in sorted(inner, reverse=True):
        graph.erase_node(node)
    new_nodes = [node for node in graph.nodes if node not in before_nodes]
    return ReplacedPatterns(match.anchors[0], match.nodes_map, new_nodes)


def _latest(given: Any, changed: dict[Node, Node]) -> Any:
    while isinstance(given, Node) and given in changed:
        given = changed[given]
    return given


def _first_user(graph: Graph, match: InternalMatch, inner: list[Node]) -> Node:
    """Before which node the replacement stands: the first that uses what the place gives, after all it is given."""
    outside = [user for node in match.returning_nodes for user in node.users if user not in inner]
    return min(outside) if outside else max(inner).next


def _replace_attributes(gm: GraphModule, replacement: Any) -> None:
    """Give a module the submodules and tensors that its graph has from a replacement, and remove those unused."""
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        if _reached(gm, node.target) is not _MISSING:
            continue
        value = _reached(replacement, node.target)
        if value is _MISSING:
            raise RuntimeError(
                f'Attempted to create a "{node.op}" node during subgraph rewriting with target {node.target}, but '
                "the referenced attribute does not exist in the replacement GraphModule"
            )
        _give(gm, node.target, copy.deepcopy(value))
    gm.delete_all_unused_submodules()
    gm.graph.lint()


_MISSING: Any = object()


def _reached(module: Any, path: str) -> Any:
    for part in path.split("."):
        module = getattr(module, part, _MISSING)
        if module is _MISSING:
            return _MISSING
    return module


def _give(gm: GraphModule, path: str, value: Any) -> None:
    from .graph_module import _assign_attr  # lazy: one use

    _assign_attr(value, gm, path)
