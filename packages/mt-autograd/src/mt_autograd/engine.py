"""The engine: runs a graph backwards, each node once, when all gradients for it have arrived.

It is a loop over a heap, so a chain of any length needs no stack, and it keeps no state outside a `GraphTask`, so
threads may run it at once and a node may start another backward from within.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any

from mt_core.keys import BACKEND_MASK
from mt_core.state import unqueued
from mt_core.streams import joined_streams
from mt_core.tensor import Tensor
from mt_core.thread_state import carried_over, in_another_thread

from .accumulation import add_to, summed
from .anomaly_mode import anomaly, checked_apply
from .grad_mode import is_multithreading_enabled
from .hooks import run_post_hooks, run_pre_hooks, run_tensor_hooks
from .modes import recording
from .node import LEAF, AccumulateGrad, Edge, Node, accumulator_of, materialized, pairs, target_nodes
from .validation import fit_gradient

__all__ = ["GraphTask", "current_task", "queue_callback", "run_backward"]

_task_ids = itertools.count()


#: Backwards inside of each other on one thread; the next one goes on in another, as Python's stack has an end.
_DEEPEST = 20


class _Tasks(threading.local):
    """The graph tasks that this thread is running, innermost last, and how many of them run on its own stack."""

    def __init__(self) -> None:
        self.stack: list[GraphTask] = []
        self.depth = 0


_tasks = carried_over(_Tasks(), "depth")


def current_task() -> GraphTask | None:
    """The backward that this thread is in, or None."""
    return _tasks.stack[-1] if _tasks.stack else None


def queue_callback(callback: Callable[[], Any]) -> None:
    """Call a function when the running backward is complete.

    Raises
    ------
    RuntimeError
        Outside of a backward.
    """
    task = current_task()
    if task is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    task.callbacks.append(callback)


class GraphTask:
    """One backward pass.

    Parameters
    ----------
    roots, grads
        Edges to start from, and the gradients that arrive there.
    retain_graph
        Whether nodes keep what they saved.
    targets
        Edges whose gradients are wanted, or None to run to all leaves.
    accumulate
        With `targets`: whether to fill ``.grad`` there, instead of returning the gradients.
    """

    def __init__(
        self,
        roots: Sequence[Edge],
        grads: Sequence[Any],
        retain_graph: bool,
        targets: Sequence[Edge] | None,
        accumulate: bool,
    ) -> None:
        self.id = next(_task_ids)
        self.retain_graph = retain_graph
        #: Node -> [(output number, index in `captured`)].
        self.captures: dict[Node, list[tuple[int, int]]] = {}
        self.captured: list[Any] = [None] * len(targets or ())
        self.callbacks: list[Callable[[], Any]] = []
        self.to_all_leaves = targets is None
        self._buffers: dict[Node, list[Any]] = {}
        self._ready: list[tuple[int, int, Node]] = []
        self._ticks = itertools.count().__next__
        self.roots = [materialized(root) for root in roots]
        #: With targets: the nodes to run. Their other neighbours are left alone.
        self._needed: set[Node] | None = None
        if targets is not None:
            self._restrict(targets, accumulate)
        self._dependencies = self.count_dependencies()
        self._start(grads)

    # What to run

    def _restrict(self, targets: Sequence[Edge], accumulate: bool) -> None:
        """Work out which nodes lie on a way to a target."""
        needed = self._needed = set()
        stack = []
        for index, target in enumerate(targets):
            output_nr = max(target[1], 0)  # of a leaf, the only one
            for node in target_nodes(target):
                if accumulate:
                    needed.add(node)
                elif node is not None:
                    self.captures.setdefault(node, []).append((output_nr, index))
                stack.append(node)
        sources = self._sources()
        while stack:
            for source in sources.get(stack.pop(), ()):
                if source not in needed:
                    needed.add(source)
                    stack.append(source)

    def _sources(self) -> dict[Node, list[Node]]:
        """For every node that the roots reach: the nodes whose gradients flow into it."""
        sources: dict[Node, list[Node]] = {}
        stack = [node for node, _ in self.roots]
        seen = set(stack)
        while stack:
            node = stack.pop()
            for edge in pairs(node._edges):
                target, _ = materialized(edge, node)
                if target is not None:
                    sources.setdefault(target, []).append(node)
                    if target not in seen:
                        seen.add(target)
                        stack.append(target)
        return sources

    def is_wanted(self, node: Node) -> bool:
        """Whether gradients are handed to the node, be it only to be captured."""
        return self._needed is None or node in self._needed or node in self.captures

    def runs(self, node: Node) -> bool:
        """Whether the node is applied, not only given a gradient to capture."""
        return self._needed is None or node in self._needed

    def will_run(self, node: Node) -> bool:
        """Whether a gradient arrives at the node during this task."""
        return self.is_wanted(node) and (node in self._dependencies or any(node is root for root, _ in self.roots))

    def count_dependencies(self) -> dict[Node, int]:
        """How many gradients each node waits for."""
        needed = self._needed
        dependencies: dict[Node, int] = {}
        seen = {node for node, _ in self.roots}
        stack = [node for node in seen if needed is None or node in needed]
        while stack:
            user = stack.pop()
            edges = user._edges
            for i in range(0, len(edges), 2):
                node = edges[i]
                if node is None:
                    continue
                if edges[i + 1] == LEAF:
                    node = accumulator_of(node, user)
                if node in dependencies:
                    dependencies[node] += 1
                    continue
                dependencies[node] = 1
                if node not in seen and (needed is None or node in needed):
                    stack.append(node)
        return dependencies

    # Running

    def _start(self, grads: Sequence[Any]) -> None:
        """Put the first gradients where they arrive."""
        for index, ((node, output_nr), grad) in enumerate(zip(self.roots, grads, strict=True)):
            buffer = self._buffers.setdefault(node, [None] * (1 + len(node._more_outputs)))
            if grad is not None:
                grad = fit_gradient(grad, node.output_spec(output_nr), node, index)
                present = buffer[output_nr]
                buffer[output_nr] = grad if present is None else summed(present, grad)
        for node in dict.fromkeys(node for node, _ in self.roots):
            if not self._dependencies.get(node) and self.is_wanted(node):
                self._push(node)

    def run(self) -> list[Any]:
        """Run to the end; the captured gradients."""
        _tasks.stack.append(self)
        _tasks.depth += 1
        try:
            while self._ready:
                self._evaluate(heapq.heappop(self._ready)[2])
            # Callbacks may queue further ones.
            while self.callbacks:
                self.callbacks.pop(0)()
        finally:
            _tasks.depth -= 1
            _tasks.stack.pop()
        return self.captured

    def _push(self, node: Node) -> None:
        heapq.heappush(self._ready, (-node._sequence, self._ticks(), node))

    def _evaluate(self, node: Node) -> None:
        """Run a node whose gradients have all arrived."""
        grads = arrived = self._buffers.pop(node)
        if node._hooks is not None or node.__class__ is AccumulateGrad:
            grads = run_tensor_hooks(node, grads)
        needed = self._needed
        if needed is not None:
            runs = node in needed
            # Of a node that also runs, the gradient is captured as it arrived; of others, as its hooks left it.
            for output_nr, index in self.captures.get(node, ()):
                self.captured[index] = (arrived if runs else grads)[output_nr]
            if not runs:
                return
        del arrived
        if node._hooks is None and needed is None and not anomaly.watches:
            results = node.apply(grads, None)
        else:
            results = self._apply_watched(node, grads)
        if not self.retain_graph:
            node.release()
        # An accumulator steals a gradient that nobody else holds.
        del grads
        self._distribute(node, results)

    def _apply_watched(self, node: Node, grads: list[Any]) -> Sequence[Any]:
        """Apply a node with hooks, in anomaly mode, or on the way to targets only."""
        mask = None
        if self._needed is not None:
            targets = [materialized(edge, node)[0] for edge in pairs(node._edges)]
            mask = [target is not None and self.is_wanted(target) for target in targets]
        if node._hooks is None:
            return checked_apply(node, grads, mask)
        grads = run_pre_hooks(node, grads)
        return run_post_hooks(node, checked_apply(node, grads, mask), grads)

    def _distribute(self, node: Node, results: Sequence[Any]) -> None:
        """Hand a node's results to the nodes that wait for them."""
        dependencies, needed, buffers = self._dependencies, self._needed, self._buffers
        edges = node._edges
        if 2 * len(results) != len(edges):
            raise RuntimeError(
                f"Function {node.name()} returned an incorrect number of gradients (expected {len(edges) // 2}, got "
                f"{len(results)})"
            )
        for index, grad in enumerate(results):
            target = edges[2 * index]
            if target is None:
                continue
            output_nr = edges[2 * index + 1]
            if output_nr == LEAF:
                target, output_nr = accumulator_of(target, node), 0
            if needed is not None and not self.is_wanted(target):
                continue
            if grad is not None:
                fits = not output_nr and grad._array.shape == target._shape and grad._dtype is target._dtype
                if not fits or (grad._keys ^ target._keys) & BACKEND_MASK:
                    grad = fit_gradient(grad, target.output_spec(output_nr), node, index)
            buffer = buffers.get(target)
            if buffer is None:
                buffer = buffers[target] = [None] * (1 + len(target._more_outputs))
            if grad is not None:
                if buffer[output_nr] is None:
                    buffer[output_nr] = grad
                else:
                    # A list or tuple that hooks have seen may be held elsewhere, and all in it with it.
                    add_to(buffer, output_nr, grad, results if node._hooks is None else ())
            waiting = dependencies[target] - 1
            dependencies[target] = waiting
            if not waiting:
                self._push(target)


def run_backward(
    roots: Sequence[Edge], grads: Sequence[Tensor | None], *, retain_graph: bool, create_graph: bool,
    targets: Sequence[Edge] | None = None, accumulate: bool = True,
) -> list[Any]:  # fmt: skip
    """Run the graph from `roots`; the gradients of `targets` unless they are accumulated (see `GraphTask`)."""
    with unqueued(), recording(create_graph), joined_streams:
        task = GraphTask(roots, grads, retain_graph, targets, accumulate)
        deep = _tasks.depth >= _DEEPEST and is_multithreading_enabled()
        return in_another_thread(task.run) if deep else task.run()
