"""``torch.fx.passes.operator_support``: which steps of a graph a backend takes."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mt_core.dtypes import dtype
from mt_nn import Module

from ..node import Node
from .tools_common import CALLABLE_NODE_OPS, get_node_target

__all__ = ["OpSupports", "OperatorSupport", "OperatorSupportBase", "any_chain", "chain", "create_op_support"]

IsNodeSupported = Callable[[Mapping[str, Module], Node], bool]
#: The dtypes of the arguments by position, in one or more ways, and of those by name; None takes anything.
SupportedArgumentDTypes = tuple[Sequence[Sequence[dtype]], dict[str, Sequence[dtype]]] | None


class OperatorSupportBase(abc.ABC):
    """Says of a node whether it is supported."""

    @abc.abstractmethod
    def is_node_supported(self, submodules: Mapping[str, Module], node: Node) -> bool:
        """Whether a node is supported; `submodules` are the graph's, by path."""


class OperatorSupport(OperatorSupportBase):
    """Support by names of targets (`get_node_target`) and dtypes of arguments.

    Parameters
    ----------
    support_dict
        Name -> the dtypes that are taken: for each way, of each argument by position; and by name.
    """

    _support_dict: Mapping[str, SupportedArgumentDTypes]

    def __init__(self, support_dict: Mapping[str, SupportedArgumentDTypes] | None = None) -> None:
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules: Mapping[str, Module], node: Node) -> bool:
        """Whether the name is listed, and the dtypes that nodes note (``meta["tensor_meta"]``) are taken.

        Raises
        ------
        KeyError
            When dtypes are listed, and an argument notes none.
        """
        if node.op not in CALLABLE_NODE_OPS:
            return True
        name = get_node_target(submodules, node)
        if name not in self._support_dict:
            return False
        taken = self._support_dict[name]
        if taken is None:
            return True
        by_position, by_name = taken
        if by_position and not any(_fits(node, dtypes) for dtypes in by_position):
            return False
        return all(key not in node.kwargs or _dtype_of(node.kwargs[key]) in own for key, own in by_name.items())


def _fits(node: Node, dtypes: Sequence[Any]) -> bool:
    given = [_dtype_of(arg) for arg in node.args[: len(dtypes)]]
    return all(
        one == other if isinstance(other, dtype) else one in other for one, other in zip(given, dtypes, strict=False)
    )


def _dtype_of(arg: Any) -> Any:
    if isinstance(arg, Node):
        return arg.meta["tensor_meta"].dtype
    return getattr(arg, "dtype", None)


def create_op_support(is_node_supported: IsNodeSupported) -> OperatorSupportBase:
    """Support as a function says."""

    class FunctionalOperatorSupport(OperatorSupportBase):
        def is_node_supported(self, submodules: Mapping[str, Module], node: Node) -> bool:
            return is_node_supported(submodules, node)

    return FunctionalOperatorSupport()


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Support of what all support."""
    return create_op_support(lambda submodules, node: all(s.is_node_supported(submodules, node) for s in op_support))


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Support of what any supports."""
    return create_op_support(lambda submodules, node: any(s.is_node_supported(submodules, node) for s in op_support))


class OpSupports:
    """Support that many backends share."""

    @classmethod
    def decline_if_input_dtype(cls, dtype: dtype) -> OperatorSupportBase:
        """Of nodes none of whose inputs are of a dtype."""
        return create_op_support(
            lambda submodules, node: all(_dtype_of(used) != dtype for used in node.all_input_nodes)
        )

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: set[str]) -> OperatorSupportBase:
        """Of nodes without certain names."""
        return create_op_support(lambda submodules, node: node.name not in disallow_set)
