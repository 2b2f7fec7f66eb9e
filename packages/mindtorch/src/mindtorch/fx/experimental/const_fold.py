"""``torch.fx.experimental.const_fold``: what of a module does not depend on its inputs is computed once."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import mindtorch as torch
from mt_nn import Module, Parameter, ParameterList

from .._symbolic_trace import symbolic_trace
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node
from ..passes._effects import changes_arguments, draws_random_numbers

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]


class FoldedGraphModule(GraphModule):
    """A module of two graphs: one without inputs, run once, and the rest, which reads its results as an attribute.

    Parameters
    ----------
    root, graph, class_name
        As those of `GraphModule`: of the rest.
    const_subgraph
        The graph without inputs; None when nothing can be computed beforehand.
    fx_const_folded_attrs_name
        The attribute that holds the results.
    device_for_folded_attrs
        Where parameters of the first graph are moved to before it runs.
    """

    def __init__(
        self,
        root: Module,
        graph: Graph,
        const_subgraph: Graph | None = None,
        fx_const_folded_attrs_name: str | None = None,
        device_for_folded_attrs: str = "cuda",
    ) -> None:
        super().__init__(root, graph)
        self.const_subgraph_module = None if const_subgraph is None else GraphModule(root, const_subgraph)
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self) -> None:
        """Compute what does not depend on inputs; the first call does so, too.

        Raises
        ------
        AssertionError
            When it was done before.
        """
        if self.const_subgraph_module is None or self.fx_const_folded_attrs_name is None:
            return
        if self.has_folding_been_run:
            raise AssertionError("Folding has already been run")
        self.has_folding_been_run = True
        folded = self.const_subgraph_module()
        setattr(self, self.fx_const_folded_attrs_name, _as_parameters(folded))


def _as_parameters(folded: Any) -> Any:
    if isinstance(folded, tuple):
        return ParameterList([_as_parameters(value) for value in folded])
    if not isinstance(folded, torch.Tensor):
        return folded
    return Parameter(folded.detach(), requires_grad=folded.requires_grad)


def get_unique_attr_name_in_module(mod_traced: Module, name: str) -> str:
    """A name that the module has no attribute of: the name itself, or with a number behind it."""
    name = "".join(letter if letter.isidentifier() or letter.isdigit() else "_" for letter in name)
    name = f"_{name}" if name[0].isdigit() else name
    while hasattr(mod_traced, name):
        stem, _, number = name.rpartition("_")
        name = f"{stem}_{int(number) + 1}" if stem and number.isdigit() else f"{name}_1"
    return name


def split_const_subgraphs(
    module: Module | GraphModule,
    skip_folding_node_fn: Callable[[Node], bool] | None = None,
    device_for_folded_attrs: str = "cpu",
) -> FoldedGraphModule:
    """Split what depends on no input off a module.

    Parameters
    ----------
    module
        The module; it is traced if it is no `GraphModule`.
    skip_folding_node_fn
        Nodes for which it says True stay in the rest.
    device_for_folded_attrs
        Kept as an attribute.
    """
    traced = module if isinstance(module, GraphModule) else symbolic_trace(module)
    constant = _constant_nodes(traced, skip_folding_node_fn)
    if all(node.op == "get_attr" for node in constant):
        return FoldedGraphModule(traced, traced.graph)
    results = [
        node for node in constant if node.op != "get_attr" and any(user not in constant for user in node.users)
    ]  # fmt: skip
    name = get_unique_attr_name_in_module(traced, "_FX_CONST_FOLDED_ATTRS")
    setattr(traced, name, None)  # so that the graph of the rest may refer to it
    rest = _rest_graph(traced, constant, results, name)
    made = FoldedGraphModule(traced, rest, _constant_graph(constant, results), name, device_for_folded_attrs)
    delattr(traced, name)
    return made


def _constant_nodes(traced: GraphModule, skip: Callable[[Node], bool] | None) -> dict[Node, None]:
    """The nodes that depend on no input and can be left out later, in order."""
    found: dict[Node, None] = {}
    for node in traced.graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        if node.op != "get_attr" and not set(node.all_input_nodes).issubset(found):
            continue
        if skip is not None and skip(node) or node.is_impure() or _differs(node):
            continue
        found[node] = None
    return found


def _differs(node: Node) -> bool:
    """Whether a call is not to be made once for all: it draws random numbers, or writes to its arguments."""
    if node.op == "call_module":
        return False
    return node.op != "get_attr" and (draws_random_numbers(node) or changes_arguments(node))


def _constant_graph(constant: dict[Node, None], results: list[Node]) -> Graph:
    used = _needed(results)
    made, copies = Graph(), dict[Node, Node]()
    for node in constant:
        if node in used:
            copies[node] = made.node_copy(node, copies.__getitem__)
    values = tuple(copies[node] for node in results)
    made.output(values[0] if len(values) == 1 else values)
    return made


def _needed(results: list[Node]) -> set[Node]:
    found = set(results)
    waiting = list(results)
    while waiting:
        new = [node for node in waiting.pop().all_input_nodes if node not in found]
        found.update(new)
        waiting.extend(new)
    return found


def _rest_graph(traced: GraphModule, constant: dict[Node, None], results: list[Node], name: str) -> Graph:
    made = Graph()
    copies: dict[Node, Node] = {}
    for node in traced.graph.nodes:
        if node.op == "placeholder":
            copies[node] = made.node_copy(node)
    kept = [node for node in traced.graph.nodes if node.op != "placeholder" and _stays(node, constant)]
    for node in kept:
        if node.op == "get_attr":
            copies[node] = made.node_copy(node)
    _read_results(made, name, results, copies)
    for node in kept:
        if node.op != "get_attr":
            copies[node] = made.node_copy(node, copies.__getitem__)
    made._codegen = traced.graph._codegen
    return made


def _stays(node: Node, constant: dict[Node, None]) -> bool:
    """Whether the rest has a node: what depends on inputs, and the attributes that this reads."""
    return node not in constant or node.op == "get_attr" and any(user not in constant for user in node.users)


def _read_results(made: Graph, name: str, results: list[Node], copies: dict[Node, Node]) -> None:
    read = made.create_node("get_attr", name, name="_fx_const_folded_attrs")
    if len(results) == 1:
        read.meta = dict(results[0].meta)
        copies[results[0]] = read
        return
    for index, node in enumerate(results):
        copies[node] = made.call_function(operator.getitem, (read, index))
        copies[node].meta = dict(node.meta)
