"""``torch.fx.experimental.normalize``: calls with their arguments by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..graph_module import GraphModule
from ..interpreter import Transformer
from ..node import Node, map_arg
from ..proxy import Proxy

__all__ = ["NormalizeArgs"]


class NormalizeArgs(Transformer):
    """Writes arguments by name, and those at their defaults out, where a call has one signature that it can mean.

    What may mean several overloads stays as it is, unless ``node.meta["type"]`` tells types.

    Parameters
    ----------
    normalize_to_only_use_kwargs
        Positional arguments become named ones, too.
    """

    def __init__(self, module: GraphModule, normalize_to_only_use_kwargs: bool = True) -> None:
        super().__init__(module)
        self.node_map: dict[Proxy, Node] = {}
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs
        self._current: Node | None = None

    def run_node(self, n: Node) -> Any:
        """What stands for a node in the graph that is written."""
        self._current = n
        out = super().run_node(n)
        if n.op != "output":
            self.node_map[out] = n
            out.node.meta = dict(n.meta)
            out.node.type = n.type
        return out

    def _normalized(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        node = self._current
        if node is None:
            return args, kwargs
        found = node.normalized_arguments(self.module, normalize_to_only_use_kwargs=self.normalize_to_only_use_kwargs)
        if found is None:
            return args, kwargs
        by_node = {parent: proxy for proxy, parent in self.node_map.items()}
        return map_arg(found.args, by_node.__getitem__), map_arg(found.kwargs, by_node.__getitem__)

    def call_function(self, target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a function, normalized; those of `operator` take no arguments by name."""
        if getattr(target, "__module__", None) == "_operator":
            return super().call_function(target, args, kwargs)
        return super().call_function(target, *self._normalized(args, kwargs))

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a module, normalized."""
        return super().call_module(target, *self._normalized(args, kwargs))
