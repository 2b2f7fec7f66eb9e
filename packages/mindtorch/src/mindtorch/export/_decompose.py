"""Exported graphs by the operators that others are written in, without writes."""

from __future__ import annotations

import copy
from operator import getitem
from typing import Any

from mt_core import Tensor, pytree
from mt_library.higher_order import HigherOrderOperator
from mt_library.ops import ops

from .._unsupported import refusal
from ..func import functionalize
from ..fx import traceback
from ..fx.experimental.proxy_tensor import make_fx
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.interpreter import Interpreter
from ..fx.node import Node
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)

__all__ = ["decomposed"]

_MUTATIONS = {
    InputKind.BUFFER: OutputKind.BUFFER_MUTATION,
    InputKind.PARAMETER: OutputKind.PARAMETER_MUTATION,
    InputKind.USER_INPUT: OutputKind.USER_INPUT_MUTATION,
}


def decomposed(
    module: GraphModule, signature: ExportGraphSignature, table: dict[Any, Any]
) -> tuple[Graph, ExportGraphSignature]:
    """The graph of what a graph calls below autograd, and what its inputs and outputs are.

    Parameters
    ----------
    table
        Operator -> function in whose operators it is written.

    Raises
    ------
    NotImplementedError
        For graphs with control flow, whose functions are graphs of their own.
    """
    if any(isinstance(node.target, HigherOrderOperator) for node in module.graph.nodes):
        raise refusal("run_decompositions of a program with control flow", "Its functions are not taken apart.")
    module = _with_statistics_as_results(module)
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    is_tensor = [isinstance(node.meta["val"], Tensor) for node in inputs]
    constants = [node.meta["val"] for node in inputs]

    def of_tensors(*tensors: Any) -> Any:
        given = iter(tensors)
        values = [next(given) if tensor else value for tensor, value in zip(is_tensor, constants, strict=True)]
        with traceback.preserve_node_meta():
            return _Telling(module).run(*values)

    fakes = [value.detach() for value, tensor in zip(constants, is_tensor, strict=True) if tensor]
    traced = make_fx(functionalize(of_tensors), table, tracing_mode="fake")(*fakes)
    return _signed(traced.graph, inputs, is_tensor, signature)


class _Telling(Interpreter):
    """Carries a graph out, and tells the steps that are made meanwhile where it is."""

    def run_node(self, n: Node) -> Any:
        """Carry a step out."""
        traceback.current_meta = {key: n.meta[key] for key in ("nn_module_stack", "stack_trace") if key in n.meta}
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        if n.target in _READERS:
            return _READERS[n.target](*args)
        return getattr(self, n.op)(n.target, args, kwargs)


#: What reads a size, which is a symbol while the graph is carried out.
_READERS: dict[Any, Any] = {
    ops.aten.sym_size.int: lambda tensor, dim: tensor.size(dim),
    ops.aten.sym_stride.int: lambda tensor, dim: tensor.stride(dim),
    ops.aten.sym_numel.default: lambda tensor: tensor.numel(),
    ops.aten.sym_storage_offset.default: lambda tensor: tensor.storage_offset(),
}


def _with_statistics_as_results(module: GraphModule) -> GraphModule:
    """The graph with batch normalizations that return the running statistics in the place of those that write them.

    The operator writes where its schema does not say so: of its own accord it would go on in a graph without writes.
    """
    norms = module.graph.find_nodes(op="call_function", target=ops.aten.batch_norm.default)
    training = [node for node in norms if node.args[5] and node.args[3] is not None]
    if not training:
        return module
    changed = copy.deepcopy(module)
    given = zip(module.graph.nodes, changed.graph.nodes, strict=True)
    for _, node in [(old, new) for old, new in given if old in training]:
        graph = changed.graph
        with graph.inserting_before(node):
            whole = graph.call_function(ops.aten._native_batch_norm_legit_functional.default, node.args[:8])
            result, mean, variance = (graph.call_function(getitem, (whole, index)) for index in (0, 3, 4))
            graph.call_function(ops.aten.copy_.default, (node.args[3], mean))
            graph.call_function(ops.aten.copy_.default, (node.args[4], variance))
        node.replace_all_uses_with(result)
        graph.erase_node(node)
    for old, new in zip(
        module.graph.find_nodes(op="placeholder"), changed.graph.find_nodes(op="placeholder"), strict=True
    ):
        new.name = old.name
        new.meta = dict(old.meta)
    changed.recompile()
    return changed


def _signed(
    graph: Graph, inputs: list[Node], is_tensor: list[bool], signature: ExportGraphSignature
) -> tuple[Graph, ExportGraphSignature]:
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    given = iter(placeholders)
    specs = list(signature.input_specs)
    for place, (node, tensor) in enumerate(zip(inputs, is_tensor, strict=True)):
        if tensor:
            own = next(given)
            own.target = own.name = node.name
            own.meta = dict(node.meta)
        else:
            with graph.inserting_before(_at(graph, place)):
                graph.placeholder(node.name).meta = dict(node.meta)
    written = _written_inputs(graph, {spec.arg.name: spec for spec in specs})
    (output,) = [node for node in graph.nodes if node.op == "output"]
    results = pytree.tree_leaves(output.args[0], is_leaf=lambda leaf: isinstance(leaf, Node) or leaf is None)
    output.args = ((*(value for value, _ in written), *results),)
    _without_unused(graph)
    mutations = [
        OutputSpec(_MUTATIONS[spec.kind], TensorArgument(value.name), spec.target or spec.arg.name)
        for value, spec in written
    ]
    outputs = [
        OutputSpec(spec.kind, _named(spec.arg, value), spec.target)
        for spec, value in zip(signature.output_specs, results, strict=True)
    ]
    graph.lint()
    return graph, ExportGraphSignature(specs, [*mutations, *outputs])


def _named(argument: Any, value: Any) -> Any:
    """What an output is, by the name of the step that gives it now."""
    if not isinstance(value, Node):
        return argument if isinstance(argument, ConstantArgument) else ConstantArgument("", value)
    return type(argument)(value.name)


def _at(graph: Graph, place: int) -> Node:
    return list(graph.nodes)[place]


def _written_inputs(graph: Graph, specs: dict[str, InputSpec]) -> list[tuple[Node, InputSpec]]:
    """The values that the graph copies to inputs at its end, which are outputs from now on."""
    found = []
    for node in list(graph.nodes):
        if node.target is ops.aten.copy_.default and node.args[0].op == "placeholder":
            found.append((_copied(node.args[1]), specs[node.args[0].name]))
            node.replace_all_uses_with(node.args[1])
            graph.erase_node(node)
    return found


def _without_unused(graph: Graph) -> None:
    """Take copies and items of results out that nothing uses."""
    for node in reversed(graph.nodes):
        if not node.users and node.target in (getitem, ops.aten.copy.default):
            graph.erase_node(node)


def _copied(value: Node) -> Node:
    """What a value is a copy of, where that is a statistic of batch normalization."""
    source = value.args[1] if value.target is ops.aten.copy.default else None
    is_item = isinstance(source, Node) and source.target is getitem
    made_by = source.args[0].target if is_item else None  # type: ignore[union-attr]
    return source if made_by is ops.aten._native_batch_norm_legit_functional.default else value  # type: ignore[return-value]
