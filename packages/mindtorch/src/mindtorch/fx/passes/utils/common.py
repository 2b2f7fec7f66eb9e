"""``torch.fx.passes.utils.common``: parts of a graph as modules, and graphs compared."""

from __future__ import annotations

from mt_nn import Module

from ...graph import Graph
from ...graph_module import GraphModule, _assign_attr, _get_attr
from .matcher_utils import SubgraphMatcher

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]


class HolderModule(Module):
    """A module with the given submodules."""

    def __init__(self, d: dict[str, Module]) -> None:
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


def lift_subgraph_as_module(
    gm: GraphModule, subgraph: Graph, comp_name: str = "", class_name: str = "GraphModule"
) -> tuple[GraphModule, dict[str, str]]:
    """A graph as a module with what it refers to of another one.

    Returns
    -------
    The module, and: its names of submodules and attributes, below `comp_name` -> those of `gm`.
    """
    holder = HolderModule({})
    names: dict[str, str] = {}
    for node in subgraph.nodes:
        if node.op in ("call_module", "get_attr"):
            path = str(node.target)
            _assign_attr(_get_attr(gm, path), holder, path)
            names[f"{comp_name}.{path}"] = path
    return GraphModule(holder, subgraph, class_name), names


def compare_graphs(left: Graph, right: Graph) -> bool:
    """Whether two graphs compute the same, step by step."""
    matches = SubgraphMatcher(left, match_output=True, match_placeholder=True).match(right)
    return len(matches) > 0
