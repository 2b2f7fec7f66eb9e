"""Graphs whose sizes vary: a program of XLA's for each set of sizes that they are called with.

XLA compiles for numbers. So what a graph is given for sizes becomes constants of a copy of it, which is compiled when
the sizes first occur; capture and guards are shared by all of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from mindtorch import _logging
from mindtorch._dynamo import config
from mindtorch._dynamo.exc import FailOnRecompileLimitHit
from mindtorch.fx.experimental.symbolic_shapes import hint_int
from mindtorch.fx.graph import Graph
from mindtorch.fx.graph_module import GraphModule
from mindtorch.fx.node import Node, map_arg
from mt_core import Tensor
from mt_core.symbolic import SYMBOLIC

__all__ = ["BySizes", "has_sizes", "with_numbers"]

Compiled = Callable[..., Any]


def has_sizes(inputs: Sequence[Any]) -> bool:
    """Whether a graph is given sizes, rather than tensors alone."""
    return any(isinstance(value, SYMBOLIC) for value in inputs)


def with_numbers(graph: GraphModule, numbers: dict[int, int]) -> GraphModule:
    """A graph in which inputs are constants.

    Parameters
    ----------
    numbers
        Which input, in their order -> the number; the copy has no such input.
    """
    copy = Graph()
    found: dict[Node, Any] = {}
    place = 0
    for node in graph.graph.nodes:
        if node.op == "placeholder":
            place += 1
            if place - 1 in numbers:
                found[node] = numbers[place - 1]
                continue
        if node.op == "output":
            copy.output(map_arg(node.args[0], found.__getitem__))
        else:
            found[node] = copy.node_copy(node, found.__getitem__)
    return GraphModule(graph, copy)


class BySizes:
    """What runs in the place of a graph whose sizes vary.

    Parameters
    ----------
    graph, inputs
        The graph, and what it is called with first: tensors, and symbols for sizes.
    compile
        Makes of a graph of tensors alone, and tensors, what runs in its place; None where the graph is to run as it is.
    name
        The program, for what is told of it.
    fullgraph
        Raise where the limit is hit; without, the graph runs as it is then.
    """

    def __init__(
        self, graph: GraphModule, inputs: Sequence[Any], compile: Callable[[GraphModule, list[Any]], Compiled | None],
        name: str, fullgraph: bool,
    ) -> None:  # fmt: skip
        self._graph, self._compile, self._name, self._fullgraph = graph, compile, name, fullgraph
        self._sizes = [place for place, value in enumerate(inputs) if isinstance(value, SYMBOLIC)]
        self._tensors = [place for place, value in enumerate(inputs) if isinstance(value, Tensor)]
        self._made: dict[Any, Compiled | None] = {}
        self._lock = threading.Lock()
        self._said_limit = False
        self._made_for([hint_int(value) if isinstance(value, SYMBOLIC) else value for value in inputs])

    def __call__(self, *given: Any) -> Any:
        """What the graph gives."""
        compiled = self._made_for(given)
        if compiled is None:
            return self._graph.forward(*given)
        return compiled(*[given[place] for place in self._tensors])

    def _made_for(self, given: Sequence[Any]) -> Compiled | None:
        # What is no size of an argument follows from sizes; strides need not.
        tensors = [given[place] for place in self._tensors]
        key = (*[given[place] for place in self._sizes], *[(t.shape, t.stride()) for t in tensors])
        if key in self._made:
            return self._made[key]
        with self._lock:
            if key not in self._made:
                if not self._may_compile():
                    return None
                numbers = {place: given[place] for place in self._sizes}
                if self._made:
                    text = "Compiling %s for other sizes: %s"
                    _logging.artifact("recompiles", text, self._name, ", ".join(map(str, numbers.values())))
                self._made[key] = self._compile(with_numbers(self._graph, numbers), tensors)
            return self._made[key]

    def _may_compile(self) -> bool:
        limit = config.accumulated_recompile_limit
        if len(self._made) < limit:
            return True
        text = (
            f"torch._dynamo hit config.accumulated_recompile_limit ({limit})\n   function: {self._name}\n"
            "   last reason: XLA compiles for each set of sizes, and it is called with others"
        )
        if self._fullgraph:
            raise FailOnRecompileLimitHit(text)
        if not self._said_limit:
            self._said_limit = True
            _logging.dynamo.warning(text)
        return False
