"""``torch.fx.passes.utils.matcher_utils``: where a graph holds another one."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from mt_core import Tensor

from ...graph import Graph
from ...graph_module import _get_attr
from ...node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """A place where a pattern was found.

    Attributes
    ----------
    anchors
        The nodes of the pattern where the search began.
    nodes_map
        Node of the pattern -> node of the graph.
    placeholder_nodes
        What stands for the pattern's inputs, in their order.
    returning_nodes
        What stands for the pattern's outputs.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Node] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(
            self.anchors, self.nodes_map.copy(), self.placeholder_nodes.copy(), self.returning_nodes.copy()
        )


class SubgraphMatcher:
    """Finds the places of a graph that compute what a pattern computes.

    Parameters
    ----------
    pattern
        The pattern: a graph, whose inputs stand for anything.
    match_output, match_placeholder
        Require the pattern's output to be the graph's, and its inputs to be inputs.
    remove_overlapping_matches
        Of places that share nodes keep the first.
    ignore_literals
        Numbers and the like in arguments stand for any others.

    Raises
    ------
    ValueError
        When the pattern is empty, or holds what nothing in it uses.
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        self.pattern = pattern
        self.match_output = match_output
        self.match_placeholder = match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.is_impure() and not node.users:
                raise AssertionError("SubgraphMatcher cannot be initialized with an pattern with dead code")
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        output = next(iter(reversed(pattern.nodes)))
        self.pattern_returning_nodes = output.all_input_nodes
        self.pattern_anchors = [output] if match_output else [n for n in output.all_input_nodes if len(n.users) == 1]

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The places, in the order of the graph's last anchors.

        Parameters
        ----------
        node_name_match
            Not supported.
        """
        if node_name_match:
            raise NotImplementedError("SubgraphMatcher.match(node_name_match) is not supported by mindtorch.")
        found: list[InternalMatch] = [InternalMatch(anchors=self.pattern_anchors)]
        for anchor in self.pattern_anchors:
            candidates = [node for node in graph.nodes if self._nodes_are_equal(anchor, node)]
            found = [grown for match in found for node in candidates if (grown := self._grown(match, anchor, node))]
        found = [self._completed(match) for match in found]
        found = [match for match in found if self._is_contained(match.nodes_map)]
        return self._without_overlaps(found) if self.remove_overlapping_matches else found

    def _grown(self, match: InternalMatch, anchor: Node, node: Node) -> InternalMatch | None:
        grown = copy.copy(match)
        return grown if self._match_nodes(anchor, node, grown) else None

    def _completed(self, match: InternalMatch) -> InternalMatch:
        match.placeholder_nodes = [match.nodes_map[n] for n in self.pattern_placeholder_nodes if n in match.nodes_map]
        match.returning_nodes = [match.nodes_map[n] for n in self.pattern_returning_nodes if n in match.nodes_map]
        return match

    # Nodes

    def _match_attributes(self, pn: Node, gn: Node) -> bool:
        """Whether two nodes read, or call, attributes of one kind."""
        mine = _get_attr(pn.graph.owning_module, str(pn.target))
        theirs = _get_attr(gn.graph.owning_module, str(gn.target))
        if type(mine) is not type(theirs):
            return False
        return pn.op != "get_attr" or isinstance(mine, Tensor)

    def _nodes_are_equal(self, pn: Node, gn: Node) -> bool:
        if not self.match_placeholder and pn.op == "placeholder":
            return True
        if pn.op != gn.op:
            return False
        if pn.op in ("placeholder", "output"):
            return True
        if pn.op == "get_attr":
            return self._match_attributes(pn, gn)
        if pn.op == "call_module" and pn.target != gn.target and self._has_owners(pn, gn):
            return self._match_attributes(pn, gn)
        return bool(pn.target == gn.target)

    def _has_owners(self, pn: Node, gn: Node) -> bool:
        return pn.graph.owning_module is not None and gn.graph.owning_module is not None

    def _match_literals(self, pn: Any, gn: Any, match: InternalMatch) -> bool:
        if isinstance(pn, Node) and isinstance(gn, Node):
            raise AssertionError("pn and gn cannot both be Node")
        if isinstance(pn, Node):
            if pn.op != "placeholder":
                return False
            known = match.nodes_map.get(pn, gn)
            match.nodes_map[pn] = gn
            return bool(known == gn)
        if isinstance(gn, Node):
            return False
        return type(gn) is type(pn) and (self.ignore_literals or bool(gn == pn))

    def _match_args(self, pattern_args: Any, graph_args: Any, match: InternalMatch) -> bool:
        if len(pattern_args) != len(graph_args):
            return False
        return all(self._match_arg(p, g, match) for p, g in zip(pattern_args, graph_args, strict=True))

    def _match_arg(self, p: Any, g: Any, match: InternalMatch) -> bool:
        if isinstance(p, Node) and isinstance(g, Node):
            return self._match_nodes(p, g, match)
        if isinstance(p, (list, tuple)) and isinstance(g, (list, tuple)):
            return self._match_args(p, g, match)
        return self._match_literals(p, g, match)

    def _match_nodes(self, pn: Node, gn: Node, match: InternalMatch) -> bool:
        if pn in match.nodes_map:
            return match.nodes_map[pn] == gn
        if gn in match.nodes_map.values() or not self._nodes_are_equal(pn, gn):
            return False
        saved = copy.copy(match)
        match.nodes_map[pn] = gn
        if pn.op == "placeholder" or self._match_inputs(pn, gn, match):
            return True
        match.nodes_map = saved.nodes_map
        return False

    def _match_inputs(self, pn: Node, gn: Node, match: InternalMatch) -> bool:
        mine, theirs = _arguments(pn, gn)
        return mine is not None and self._match_args(mine, theirs, match)

    # Places

    def _is_contained(self, nodes_map: dict[Node, Node]) -> bool:
        """Whether nothing outside of a place uses what it computes inside."""
        inside = {pn: gn for pn, gn in nodes_map.items() if pn.op != "placeholder" and isinstance(gn, Node)}
        nodes = set(inside.values())
        return all(
            user in nodes for pn, gn in inside.items() if pn not in self.pattern_returning_nodes for user in gn.users
        )

    def _without_overlaps(self, found: list[InternalMatch]) -> list[InternalMatch]:
        kept: list[InternalMatch] = []
        taken: set[Node] = set()
        for match in found:
            nodes = {g for p, g in match.nodes_map.items() if p.op not in ("placeholder", "output")}
            if not nodes & taken:
                kept.append(match)
                taken |= nodes
        return kept


def _arguments(pn: Node, gn: Node) -> tuple[Any, Any]:
    """The arguments of two nodes in one order; None where they have different names."""
    from ...operator_schemas import signature_order  # lazy: it loads the schemas

    mine, theirs = dict(pn.kwargs), dict(gn.kwargs)
    args, others = list(pn.args), list(gn.args)
    if len(args) != len(others) or mine.keys() != theirs.keys():
        bound = signature_order(pn, gn)
        if bound is None:
            return None, None
        return bound
    for key in mine:
        args.append(mine[key])
        others.append(theirs[key])
    return args, others
