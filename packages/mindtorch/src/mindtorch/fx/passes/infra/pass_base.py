"""``torch.fx.passes.infra.pass_base``: what a change of a graph is."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

from ...graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """What a pass gives: the module, and whether it changed it."""

    graph_module: GraphModule
    modified: bool


class PassBase(abc.ABC):
    """A change of a graph, with what it asks of the graph before, and of its result."""

    def __call__(self, graph_module: GraphModule) -> Any:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """The change itself."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027 - a pass may require nothing
        """Raise where the graph is not what the pass works on; by default anything is."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027 - a pass may ensure nothing
        """Raise where the result is not what the pass promises; by default nothing is promised."""
