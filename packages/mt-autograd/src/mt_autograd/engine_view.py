"""What a hook may ask of the backward that calls it: its number, the order of its nodes, and whether it runs one."""

from __future__ import annotations

import heapq
from typing import Any

from .engine import GraphTask, current_task
from .grad_mode import is_multithreading_enabled
from .node import AccumulateGrad, Node, materialized, pairs

__all__ = ["current_graph_task_execution_order", "current_graph_task_id", "will_engine_execute_node"]


def current_graph_task_id() -> int:
    """The number of the backward that this thread is in; -1 outside of one."""
    task = current_task()
    return -1 if task is None else task.id


def current_graph_task_execution_order() -> list[Node]:
    """The nodes of the running backward in the order in which it runs them, those that have run included.

    Raises
    ------
    RuntimeError
        Outside of a backward, and where threads of its own are not forbidden it (`set_multithreading_enabled`).
    """
    task = current_task()
    if task is None:
        raise RuntimeError("_current_graph_task_execution_order should only be called during the backward pass")
    if is_multithreading_enabled():
        raise RuntimeError(
            "get_current_graph_task_execution_order expects the current backward to be executed with multithreading "
            "disabled, e.g. by running:\n\n>>> with torch.autograd.set_multithreading_enabled(False):\n...     "
            "torch.autograd.grad(...)\n"
        )
    return _order(task)


def _order(task: GraphTask) -> list[Node]:
    """The engine's loop over the nodes, without gradients."""
    waiting = task.count_dependencies()
    ready: list[tuple[int, int, Node]] = []
    for node in dict.fromkeys(node for node, _ in task.roots):
        if not waiting.get(node) and task.is_wanted(node):
            heapq.heappush(ready, (-node._sequence, len(ready), node))
    order: list[Node] = []
    ticks = len(ready)
    while ready:
        node = heapq.heappop(ready)[2]
        order.append(node)
        for target, _ in [materialized(edge, node) for edge in pairs(node._edges)] if task.runs(node) else ():
            if target is None or not task.is_wanted(target):
                continue
            waiting[target] -= 1
            if not waiting[target]:
                ticks += 1
                heapq.heappush(ready, (-target._sequence, ticks, target))
    return order


def will_engine_execute_node(node: Any) -> bool:
    """Whether the running backward runs a node.

    Raises
    ------
    RuntimeError
        For anything but a node, outside of a backward, and for a leaf's node inside ``autograd.grad``.
    """
    if not isinstance(node, Node):
        raise RuntimeError(f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}")
    task = current_task()
    if task is None:
        raise RuntimeError("_get_should_execute_nodes should only be called during the backward pass")
    if isinstance(node, AccumulateGrad) and node in task.captures:
        raise RuntimeError(
            "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is "
            "currently not supported."
        )
    return task.will_run(node)
