"""``torch.fx.passes.infra.partitioner``: the steps that a backend takes, in groups as large as can be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...graph_module import GraphModule
from ...node import Node
from ..operator_support import OperatorSupportBase
from ..tools_common import CALLABLE_NODE_OPS, get_node_target
from ..utils.fuser_utils import fuse_by_partitions, validate_partition

__all__ = ["CapabilityBasedPartitioner", "Partition"]


class Partition:
    """A group of nodes."""

    def __init__(self, id: int | None = None, nodes: Iterable[Node] | None = None) -> None:
        self.id = id
        self.nodes: dict[Node, int | None] = dict.fromkeys(nodes or ())

    def __repr__(self) -> str:
        return str(self.nodes)

    def add_node(self, node: Node, node_order: int | None = None) -> None:
        """Add a node."""
        self.nodes[node] = node_order

    def remove_node(self, node: Node) -> None:
        """Remove a node."""
        del self.nodes[node]

    def size(self) -> int:
        """How many nodes there are."""
        return len(self.nodes)


class CapabilityBasedPartitioner:
    """Groups the nodes that are supported, so that each group can become one call.

    Parameters
    ----------
    allows_single_node_partition
        Keep groups of one step.
    non_compute_ops
        Names of targets that do not count as steps, and are not to stand at the ends of groups.
    allowed_single_node_partition_ops
        Names of targets that may be a group alone.
    skip_horizontal_fusion
        Group only what uses one another.
    """

    def __init__(
        self,
        graph_module: GraphModule,
        operator_support: OperatorSupportBase,
        allows_single_node_partition: bool = False,
        non_compute_ops: Sequence[str] | None = None,
        allowed_single_node_partition_ops: Sequence[str] | None = None,
        skip_horizontal_fusion: bool = False,
    ) -> None:
        self.graph_module = graph_module
        self.operator_support = operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = non_compute_ops or []
        self.allowed_single_node_partition_ops = allowed_single_node_partition_ops or []
        self.skip_horizontal_fusion = skip_horizontal_fusion

    def _is_node_supported(self, node: Node) -> bool:
        return self.operator_support.is_node_supported(dict(self.graph_module.named_modules()), node)

    def propose_partitions(self) -> list[Partition]:
        """The groups, those of later nodes first, the nodes in the order of the graph."""
        found: list[list[Node]] = []
        for node in reversed(list(self.graph_module.graph.nodes)):
            if node.op in CALLABLE_NODE_OPS and self._is_node_supported(node):
                self._join(node, found)
        place = {node: index for index, node in enumerate(self.graph_module.graph.nodes)}
        partitions = [Partition(i, sorted(nodes, key=place.__getitem__)) for i, nodes in enumerate(found)]
        return [p for p in partitions if self.allows_single_node_partition or self._is_worth_it(p)]

    def _join(self, node: Node, found: list[list[Node]]) -> None:
        """Put a node into the groups that it can join, which become one."""
        joined = [node]
        for nodes in list(found):
            related = any(user in nodes for member in joined for user in member.users)
            if (related or not self.skip_horizontal_fusion) and validate_partition([*nodes, *joined]):
                joined = [*nodes, *joined]
                found.remove(nodes)
        found.append(joined)

    def _is_worth_it(self, partition: Partition) -> bool:
        modules = dict(self.graph_module.named_modules())
        names = [get_node_target(modules, node) for node in partition.nodes]
        computing = [name for name in names if name not in self.non_compute_ops]
        return len(computing) > 1 or any(name in self.allowed_single_node_partition_ops for name in computing)

    def fuse_partitions(self, partitions: list[Partition], prefix: str = "fused_") -> GraphModule:
        """The module with a call for each group."""
        return fuse_by_partitions(self.graph_module, [list(p.nodes) for p in partitions], prefix=prefix)

    def remove_bookend_non_compute_ops(self, partitions: list[Partition]) -> None:
        """Remove steps that compute nothing from the ends of groups, where nothing before or behind them computes."""
        modules = dict(self.graph_module.named_modules())

        def is_idle(node: Node) -> bool:
            return get_node_target(modules, node) in self.non_compute_ops

        for partition in partitions:
            for neighbours in (_users, _inputs):
                ends = [
                    node for node in partition.nodes if is_idle(node) and _ends(node, partition, neighbours, is_idle)
                ]
                for node in ends:
                    partition.remove_node(node)

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """Group the nodes, and have the module call the groups."""
        return self.fuse_partitions(self.propose_partitions(), prefix=prefix)


def _users(node: Node) -> Iterable[Node]:
    return node.users


def _inputs(node: Node) -> Iterable[Node]:
    return node.all_input_nodes


def _ends(node: Node, partition: Partition, neighbours: Any, is_idle: Any) -> bool:
    """Whether nothing in a group computes on a side of a node."""
    waiting, seen = [node], {node}
    while waiting:
        for other in neighbours(waiting.pop()):
            if other in partition.nodes and other not in seen:
                if not is_idle(other):
                    return False
                seen.add(other)
                waiting.append(other)
    return True
