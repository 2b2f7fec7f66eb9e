"""Runs a graph of operators on values of XLA's, by the lowerings of its operators."""

from __future__ import annotations

import operator
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any

from mindtorch._functorch.eager_transforms import functionalize
from mindtorch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
from mindtorch.fx.experimental.proxy_tensor import make_fx
from mindtorch.fx.graph_module import GraphModule
from mindtorch.fx.node import Node, map_arg
from mt_core import Tensor
from mt_core.dispatch.registry import Overload
from mt_library.decompositions import written_in_others
from mt_library.ops import OpOverload

from .calls import Call, NotLowered, Value, bound
from .lowering import LOWERINGS

__all__ = ["Interpreter"]


#: Operators whose composites take elements for any, where there are none to read: their graphs would hold numbers that
#: are not the program's.
_READS_ELEMENTS = re.compile(
    r"(linspace|logspace)\..*Tensor.*|.*fake_quantize.*|_embedding_bag.*|embedding_bag.*|one_hot|.*ctc_loss.*|randint.*"
)


class Interpreter:
    """A graph that is run on values.

    Parameters
    ----------
    inputs
        The nodes of the graph's inputs.
    drawn
        The nodes whose values are given as well: random numbers.

    Raises
    ------
    NotLowered
        When an operator has no lowering, nor is written in others that have.
    """

    def __init__(self, graph: GraphModule, inputs: Sequence[Node], drawn: Sequence[Node] = ()) -> None:
        self._module, self._inputs, self._drawn = graph, list(inputs), list(drawn)
        given = {*self._inputs, *self._drawn}
        self._steps = [_Step(node, graph) for node in graph.graph.nodes if node.op != "output" and node not in given]

    def run(self, inputs: Sequence[Value], draws: Sequence[list[Value]] = ()) -> dict[Node, Value]:
        """The values of all nodes, of the values of the inputs."""
        values: dict[Node, Value] = dict(zip(self._inputs, inputs, strict=True))
        for node, drawn in zip(self._drawn, draws, strict=True):
            values[node] = drawn[0] if isinstance(node.meta["val"], Tensor) else drawn
        for step in self._steps:
            values[step.node] = step.run(values)
        return values


class _Step:
    """One node, with what computes its value."""

    def __init__(self, node: Node, module: GraphModule) -> None:
        self.node = node
        self.run = self._of_attribute(module) if node.op == "get_attr" else self._of_call()

    def _of_attribute(self, module: GraphModule) -> Callable[[dict[Node, Value]], Value]:
        held = self.node.meta["val"] = operator.attrgetter(str(self.node.target))(module)
        if not isinstance(held, Tensor):
            raise NotLowered(f"the graph holds {self.node.target}, a {type(held).__name__}")
        array = held.detach()._array.copy()
        return lambda values: array

    def _of_call(self) -> Callable[[dict[Node, Value]], Value]:
        node = self.node
        target = node.target
        if target is operator.getitem:
            return lambda values: values[node.args[0]][node.args[1]]
        if not isinstance(target, OpOverload) or not target.name().startswith("aten::"):
            name = target.name() if isinstance(target, OpOverload) else getattr(target, "__name__", str(target))
            raise NotLowered(f"{name} is no operator that is lowered to XLA")
        return self._of_operator(target._overload)

    def _of_operator(self, overload: Overload) -> Callable[[dict[Node, Value]], Value]:
        args = bound(overload, self.node)
        fakes = map_arg(args, lambda n: n.meta["val"])
        call = Call(overload.name, fakes, self.node.meta.get("val"))
        lowered = LOWERINGS.get(overload.name)
        if lowered is not None:
            return lambda values: _carried_out(lowered, call, args, values)
        inner = _written_in_others(overload, fakes)
        places = [place for place, fake in enumerate(_leaves(fakes)) if isinstance(fake, Tensor)]

        def run(values: dict[Node, Value]) -> Value:
            leaves = _leaves(map_arg(args, values.__getitem__))
            return inner([leaves[place] for place in places])

        return run


def _carried_out(lowered: Callable[..., Value], call: Call, args: tuple[Any, ...], values: dict[Node, Value]) -> Value:
    found = lowered(call, *map_arg(args, values.__getitem__))
    for place, value in call.written.items():
        values[args[place]] = value
    return found


def _leaves(args: Any) -> list[Any]:
    """Arguments, those within lists one by one."""
    return [leaf for arg in args for leaf in (arg if isinstance(arg, (list, tuple)) else (arg,))]


def _written_in_others(overload: Overload, fakes: tuple[Any, ...]) -> Callable[[list[Value]], Value]:
    """An operator by the graph of the operators that it is written in."""
    written = written_in_others(overload)
    if written is None:
        raise NotLowered(f"aten::{overload.name} is not lowered to XLA")

    def function(*tensors: Any) -> Any:
        given = iter(tensors)

        def put(value: Any) -> Any:
            if isinstance(value, (list, tuple)):
                return type(value)([put(item) for item in value])
            return next(given) if isinstance(value, Tensor) else value

        return written(*[put(fake) for fake in fakes])

    tensors = [fake for fake in _leaves(fakes) if isinstance(fake, Tensor)]
    if overload.name in _entered.names or _READS_ELEMENTS.fullmatch(overload.name):
        raise NotLowered(f"aten::{overload.name} is not lowered to XLA")
    _entered.names.append(overload.name)
    try:
        return _of_composite(make_fx(functionalize(function), tracing_mode="fake")(*tensors))
    except (DataDependentOutputException, DynamicOutputShapeException) as error:
        raise NotLowered(f"aten::{overload.name} is not lowered to XLA: it reads elements") from error
    finally:
        _entered.names.pop()


class _Entered(threading.local):
    """The operators whose composites are being traced: one that comes by itself again is written in itself."""

    def __init__(self) -> None:
        self.names: list[str] = []


_entered = _Entered()


def _of_composite(graph: GraphModule) -> Callable[[list[Value]], Value]:
    (output,) = graph.graph.find_nodes(op="output")
    results = output.args[0]
    interpreter = Interpreter(graph, graph.graph.find_nodes(op="placeholder"))

    def run(given: list[Value]) -> Value:
        values = interpreter.run(given)
        return map_arg(results, values.__getitem__)

    return run
