"""``torch.fx.passes.dialect.common.cse_pass``: what a graph computes twice it computes once."""

from __future__ import annotations

from typing import Any

import mindtorch as torch

from ....graph import Graph
from ....graph_module import GraphModule
from ....node import Node, map_arg
from ..._effects import changes_arguments, draws_random_numbers
from ...infra.pass_base import PassBase, PassResult

__all__ = ["CSEPass", "get_CSE_banned_ops"]

_RANDOM = """_fused_dropout _standard_gamma bernoulli binomial dropout multinomial native_dropout normal poisson rand
    rand_like randint randn randperm rrelu"""
_IN_PLACE = "add_ div_ lerp_ mul_ pow_ relu_ sigmoid_ sub_ tanh_"


def _packets(names: str) -> set[Any]:
    return {getattr(torch.ops.aten, name) for name in names.split() if hasattr(torch.ops.aten, name)}


def get_CSE_banned_ops() -> set[Any]:
    """Packets of ``torch.ops.aten`` whose calls are never taken for one another: random and in-place operators."""
    return _packets(_RANDOM) | _packets(_IN_PLACE)


class CSEPass(PassBase):
    """Puts one node for all that compute the same: the same function with the same arguments.

    Modules, and what changes its arguments or draws random numbers, are left alone.

    Parameters
    ----------
    banned_ops
        Packets of ``torch.ops.aten`` to be left alone; by default none but those that say so of themselves.
    """

    def __init__(self, banned_ops: set[Any] | None = None) -> None:
        super().__init__()
        self.banned_ops = banned_ops if banned_ops is not None else set()

    def call(self, graph_module: GraphModule) -> PassResult:
        """A module with a graph of its own, and whether it has fewer nodes."""
        made = Graph()
        known: dict[Any, Node] = {}
        copies: dict[Node, Node] = {}
        modified = False
        for node in graph_module.graph.nodes:
            key = self._key(node, copies)
            if key is not None and key in known:
                copies[node], modified = known[key], True
                continue
            copies[node] = made.node_copy(node, copies.__getitem__)
            if key is not None:
                known[key] = copies[node]
        made._codegen = graph_module.graph._codegen
        return PassResult(GraphModule(graph_module, made), modified)

    def _key(self, node: Node, copies: dict[Node, Node]) -> Any:
        """What two nodes share that compute the same; None for what is to be left alone."""
        if node.op not in ("call_function", "call_method") or _packet(node.target) in self.banned_ops or _acts(node):
            return None
        key = (node.op, node.target, _hashable(map_arg(node.args, copies.__getitem__)), _hashable(
            map_arg(node.kwargs, copies.__getitem__)
        ))  # fmt: skip
        try:
            hash(key)
        except TypeError:
            return None
        return key


def _packet(target: Any) -> Any:
    return getattr(target, "overloadpacket", target)


def _acts(node: Node) -> bool:
    """Whether a call does something besides computing its value, or computes another one each time."""
    return node.is_impure() or changes_arguments(node) or draws_random_numbers(node)


def _hashable(value: Any) -> Any:
    """A value that compares as the argument does, and tells the kinds of numbers apart."""
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, *map(_hashable, value))
    if isinstance(value, dict):
        return ("dict", *((key, _hashable(item)) for key, item in value.items()))
    if isinstance(value, slice):
        return ("slice", *map(_hashable, (value.start, value.stop, value.step)))
    return (type(value), value)
