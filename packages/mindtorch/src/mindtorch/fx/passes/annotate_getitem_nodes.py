"""``torch.fx.passes.annotate_getitem_nodes``: types of the items of tuples and lists."""

from __future__ import annotations

import operator
import typing
from typing import Any

from ..graph import Graph
from ..node import Node

__all__ = ["annotate_getitem_nodes"]


def annotate_getitem_nodes(graph: Graph) -> None:
    """Give steps that take an item a type, where what they take it of has one: a tuple, a named tuple or a list."""
    for node in graph.nodes:
        if node.target is operator.getitem and isinstance(node.args[0], Node) and node.args[0].type is not None:
            found = _type_of_item(node.args[0].type, node.args[1])
            if found is not None:
                node.type = found


def _type_of_item(kind: Any, index: Any) -> Any:
    """The type of an item; None where it is not known."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple and parts and isinstance(index, int):
        if len(parts) == 2 and parts[1] is Ellipsis:
            return parts[0]
        return parts[index] if -len(parts) <= index < len(parts) else None
    if origin is list and parts:
        return parts[0]
    fields = getattr(kind, "_fields", None)
    if isinstance(kind, type) and issubclass(kind, tuple) and fields and isinstance(index, int):
        hints = typing.get_type_hints(kind)
        found = hints.get(fields[index])
        return found
    return None
