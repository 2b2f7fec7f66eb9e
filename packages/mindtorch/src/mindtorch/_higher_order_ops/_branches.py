"""Control flow in graphs that `torch.export` and `torch.compile` make: one step, whose functions are modules.

A function is run once, and what it calls is written into a graph of its own. Tensors that it uses besides its operands
are operands of the step too, after the others.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from operator import getitem
from typing import Any, NamedTuple

from mt_core import Tensor, pytree
from mt_core.api import _functions as torch_functions
from mt_library.higher_order import HigherOrderOperator

from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ._leaves import check_alike
from .cond import cond_op
from .map import map_impl
from .scan import scan_op
from .while_loop import while_loop_op

__all__ = ["Branching", "bound_arguments"]


class _Branch(NamedTuple):
    """A function that was run: its graph, and what it gave."""

    graph: Graph
    inputs: list[Node]
    free: dict[int, Tensor]
    nodes: dict[int, Node]
    outputs: list[Any]
    structure: Any


def bound_arguments(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of an operator on functions, all by position."""
    bound = inspect.signature(type(operator).__call__).bind(operator, *args, **kwargs)
    bound.apply_defaults()
    return bound.args[1:]


class Branching:
    """What writes graphs of functions into one graph; a class of recorders has it as a base.

    Attributes
    ----------
    graph
        What is written to now.
    """

    graph: Graph
    #: Tensor, by identity -> its step in `graph`.
    _nodes: dict[int, Node]
    #: Operator -> names of the modules of its functions.
    module_names: dict[HigherOrderOperator, tuple[str, ...]] = {}
    _root: Any
    #: Of the graphs around the one that is written: graph, nodes, tensors from further out.
    _around: list[tuple[Graph, dict[int, Node], dict[int, Tensor]]]
    _free: dict[int, Tensor]
    _last_free: Node | None

    # What a recorder has

    def _node_of_tensor(self, tensor: Tensor) -> Node:
        raise NotImplementedError

    def _bind_tensor(self, tensor: Tensor, node: Node) -> None:
        raise NotImplementedError

    def _refuse_function(self, reason: str) -> Exception:
        raise NotImplementedError

    def _resumed(self) -> Any:
        """Context manager: what is called within is written down."""
        raise NotImplementedError

    # Tensors from further out

    @property
    def is_in_branch(self) -> bool:
        """Whether the graph of a function is written."""
        return bool(self._around)

    def _from_outside(self, tensor: Tensor) -> Node:
        """An input of the graph of a function for a tensor that is none of its operands."""
        inside = self.graph, self._nodes, self._free
        self.graph, self._nodes, self._free = self._around.pop()
        try:
            name = self._node_of_tensor(tensor).name
        finally:
            self._around.append((self.graph, self._nodes, self._free))
            self.graph, self._nodes, self._free = inside
        self._free[id(tensor)] = tensor
        return self._input_at_end(tensor, name)

    def _input_at_end(self, tensor: Tensor, name: str) -> Node:
        inputs = self.graph.find_nodes(op="placeholder")
        first = next(iter(self.graph.nodes), None)
        place = self.graph.inserting_after(inputs[-1]) if inputs else self.graph.inserting_before(first)
        with place:
            node = self.graph.placeholder(name)
        self._bind_tensor(tensor, node)
        return node

    # Steps

    def control_flow(self, operator: HigherOrderOperator, args: tuple[Any, ...]) -> Any:
        """What an operator on functions gives, after a step for it has been written.

        Operators that are written in others and are not known here leave the steps of those.
        """
        if operator not in _FLOWS:
            with self._resumed():
                return operator.composite()(*args)
        flow = _FLOWS[operator]
        leaves, others = flow.operands(args)
        if not all(isinstance(leaf, Tensor) for leaf in leaves):
            raise self._refuse_function(f"{operator} is given numbers")
        outer = [self._node_of_tensor(leaf) for leaf in flow.whole(args)]
        names = [node.name for node in outer] if operator in (cond_op, map_impl) else []
        branches = [self._branch(flow, args[position], leaves, names, others) for position in flow.functions]
        flow.check(branches, args)
        free = {key: tensor for branch in branches for key, tensor in branch.free.items()}
        ordered = sorted(free.values(), key=lambda tensor: self._node_of_tensor(tensor).name)
        given = list(args)
        for position, name, branch in zip(flow.functions, self.module_names[operator], branches, strict=True):
            given[position] = self._module(name, branch, ordered)
        more = [self._node_of_tensor(tensor) for tensor in ordered]
        taken = flow.arguments(given, self._node_of_tensor, outer, more)
        step = self.graph.create_node("call_function", operator, taken, {}, name=operator.name())
        return self._results(flow, branches[-1 if operator is while_loop_op else 0], args, step)

    def _branch(
        self, flow: _Flow, function: Callable[..., Any], operands: list[Any], names: Sequence[str], others: Any
    ) -> _Branch:
        self._around.append((self.graph, self._nodes, self._free))
        self.graph, self._nodes, self._free = Graph(), {}, {}
        try:
            for i, tensor in enumerate(operands):
                self._bind_tensor(tensor, self.graph.placeholder(names[i] if names else f"arg{i}_1"))
            inputs = self.graph.find_nodes(op="placeholder")
            with self._resumed():
                result = function(*(others(operands) if others else operands))
            outputs, structure = pytree.tree_flatten(result)
            for output in outputs:
                if not isinstance(output, (Tensor, bool, type(None))):
                    raise self._refuse_function(f"a function of control flow gives a {type(output).__name__}")
            values = [self._node_of_tensor(o) if isinstance(o, Tensor) else o for o in outputs]
            is_one = flow.may_give_one and not isinstance(result, tuple)
            self.graph.output(values[0] if is_one else flow.container(values))
            return _Branch(self.graph, list(inputs), self._free, self._nodes, outputs, structure)
        finally:
            self.graph, self._nodes, self._free = self._around.pop()

    def _module(self, name: str, branch: _Branch, free: list[Tensor]) -> Node:
        """The step that reads the module of a function, whose inputs are all tensors from outside."""
        last = branch.inputs[-1] if branch.inputs else None
        for tensor in free:
            node = branch.nodes.get(id(tensor)) if id(tensor) in branch.free else None
            if node is None:
                node = branch.graph.placeholder(self._node_of_tensor(tensor).name)
                node.meta.update(self._node_of_tensor(tensor).meta)
            place = next(iter(branch.graph.nodes)) if last is None else last.next
            if place is not node:
                place.prepend(node)
            last = node
        module = GraphModule(self._root, branch.graph)
        number = 0
        while hasattr(self._root, f"{name}_{number}"):
            number += 1
        setattr(self._root, f"{name}_{number}", module)
        return self.graph.get_attr(f"{name}_{number}")

    def _results(self, flow: _Flow, branch: _Branch, args: Any, step: Node) -> Any:
        known = {id(leaf) for leaf in pytree.tree_leaves(args)} | set(branch.free)
        leaves = flow.results([_fresh(leaf, known) for leaf in branch.outputs], args)
        for index, leaf in enumerate(leaves):
            if isinstance(leaf, Tensor):
                self._bind_tensor(leaf, self.graph.call_function(getitem, (step, index)))
        step.meta.setdefault("val", tuple(leaves))
        return flow.rebuilt(leaves, branch.structure)


def _fresh(leaf: Any, known: set[int]) -> Any:
    return leaf.clone() if id(leaf) in known else leaf


def _rows(tensors: Any) -> list[Any]:
    return [tensor.select(0, 0) for tensor in tensors]


def _stacked(rows: list[Any], count: Any) -> list[Any]:
    """What looks like as many rows as there are, of the first."""
    return [row if row is None else torch_functions.stack([row]).expand(count, *row.shape).contiguous() for row in rows]


class _Flow:
    """How an operator calls its functions, and what it gives."""

    functions: tuple[int, ...] = (0,)
    #: What the results of a function are in.
    container: type = tuple
    #: Whether a function may give a result by itself.
    may_give_one = False

    def operands(self, args: Any) -> tuple[list[Any], Any]:
        """What a function is called with, as leaves, and what makes its arguments of them."""
        raise NotImplementedError

    def whole(self, args: Any) -> list[Any]:
        """What the operator is given in their place."""
        raise NotImplementedError

    def arguments(self, given: list[Any], node_of: Any, outer: list[Node], more: list[Node]) -> tuple[Any, ...]:
        """The arguments of the step."""
        raise NotImplementedError

    def check(self, branches: list[_Branch], args: Any) -> None:
        """Refuse functions that do not go together."""

    def results(self, found: list[Any], args: Any) -> list[Any]:
        """What looks like the results of the operator, out of those of a function."""
        return found

    def rebuilt(self, leaves: list[Any], structure: Any) -> Any:
        """The result, of its leaves."""
        return leaves


class _Cond(_Flow):
    functions = (1, 2)

    def operands(self, args: Any) -> tuple[list[Any], Any]:
        leaves, structure = pytree.tree_flatten(args[3])
        return leaves, lambda flat: pytree.tree_unflatten(list(flat), structure)

    def whole(self, args: Any) -> list[Any]:
        return pytree.tree_leaves(args[3])

    def arguments(self, given: list[Any], node_of: Any, outer: list[Node], more: list[Node]) -> tuple[Any, ...]:
        return node_of(given[0]), given[1], given[2], (*outer, *more)

    def check(self, branches: list[_Branch], args: Any) -> None:
        first, second = branches
        if first.structure != second.structure:
            raise RuntimeError(
                f"Unmatched output spec from torch.cond branches: {first.structure} vs {second.structure}."
            )
        check_alike(first.outputs, second.outputs, "true_fn_output", "false_fn_output")

    def rebuilt(self, leaves: list[Any], structure: Any) -> Any:
        return pytree.tree_unflatten(leaves, structure)


class _WhileLoop(_Flow):
    functions = (0, 1)
    may_give_one = True

    def operands(self, args: Any) -> tuple[list[Any], Any]:
        return [*args[2], *args[3]], None

    def whole(self, args: Any) -> list[Any]:
        return [*args[2], *args[3]]

    def arguments(self, given: list[Any], node_of: Any, outer: list[Node], more: list[Node]) -> tuple[Any, ...]:
        count = len(given[2])
        return given[0], given[1], tuple(outer[:count]), (*outer[count:], *more)

    def check(self, branches: list[_Branch], args: Any) -> None:
        check_alike(branches[1].outputs, args[2], "body_fn_output", "carried_inputs")

    def rebuilt(self, leaves: list[Any], structure: Any) -> Any:
        return tuple(leaves)


class _Scan(_Flow):
    container = list

    def operands(self, args: Any) -> tuple[list[Any], Any]:
        return [*args[1], *_rows(args[2]), *args[3]], None

    def whole(self, args: Any) -> list[Any]:
        return [*args[1], *args[2], *args[3]]

    def arguments(self, given: list[Any], node_of: Any, outer: list[Node], more: list[Node]) -> tuple[Any, ...]:
        first, second = len(given[1]), len(given[1]) + len(given[2])
        return given[0], outer[:first], outer[first:second], (*outer[second:], *more)

    def check(self, branches: list[_Branch], args: Any) -> None:
        check_alike(branches[0].outputs[: len(args[1])], args[1], "next_carry", "init")

    def results(self, found: list[Any], args: Any) -> list[Any]:
        count = len(args[1])
        return [*found[:count], *_stacked(found[count:], args[2][0].shape[0])]


class _Map(_Flow):
    def operands(self, args: Any) -> tuple[list[Any], Any]:
        return [*_rows(args[1]), *args[2]], None

    def whole(self, args: Any) -> list[Any]:
        return [*args[1], *args[2]]

    def arguments(self, given: list[Any], node_of: Any, outer: list[Node], more: list[Node]) -> tuple[Any, ...]:
        count = len(given[1])
        return given[0], outer[:count], [*outer[count:], *more]

    def results(self, found: list[Any], args: Any) -> list[Any]:
        return _stacked(found, args[1][0].shape[0])


_FLOWS: dict[HigherOrderOperator, _Flow] = {
    cond_op: _Cond(), while_loop_op: _WhileLoop(), scan_op: _Scan(), map_impl: _Map(),
}  # fmt: skip
