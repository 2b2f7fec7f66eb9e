"""``torch.fx.interpreter``: running a graph node by node, with values or with proxies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mt_nn import Module

from . import traceback as fx_traceback
from ._symbolic_trace import Tracer
from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_aggregate, map_arg
from .proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a graph node by node; subclasses change what a kind of node does.

    Parameters
    ----------
    module
        A `GraphModule`, or a module whose attributes `graph` refers to.
    garbage_collect_values
        Let values go after their last use.
    graph
        The graph to run, where it is not the module's.
    """

    def __init__(self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = graph if graph is not None else module.graph  # type: ignore[assignment]
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses = _last_uses(self.graph) if garbage_collect_values else {}

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """The output of the graph.

        Parameters
        ----------
        args
            The values of the inputs, in order.
        initial_env
            Node -> value, for nodes that need not run.
        enable_io_processing
            Take nested inputs apart and put outputs together, as the graph's text does.
        """
        self.env = dict(initial_env or {})
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter: Iterator[Any] = iter(args)
        for node in self.graph.nodes:
            if node not in self.env:
                self._run_into_env(node)
            if node.op == "output":
                value = self.env[node]
                return self.graph.process_outputs(value) if enable_io_processing else value
            for used in self.user_to_last_uses.get(node, ()):
                del self.env[used]
        return None

    def _run_into_env(self, node: Node) -> None:
        try:
            self.env[node] = self.run_node(node)
        except Exception as error:
            if self.extra_traceback:
                _note_node(error, node)
            raise

    def boxed_run(self, args_list: list[Any]) -> Any:
        """As `run`, with the inputs in a list that is emptied, so that they can be let go early."""
        placeholders = [node for node in self.graph.nodes if node.op == "placeholder"]
        if len(placeholders) != len(args_list):
            extra = len(args_list) - len(placeholders)
            detail = f"extra arguments: {extra}" if extra > 0 else f"missing arguments: {-extra}"
            raise RuntimeError(
                f"Interpreter.boxed_run expected {len(placeholders)} arguments for placeholders "
                f"but received {len(args_list)} ({detail})"
            )
        env = dict(zip(placeholders, args_list, strict=True))
        args_list.clear()
        return self.run(initial_env=env, enable_io_processing=False)

    def run_node(self, n: Node) -> Any:
        """The value of a node, by the method that is named after its kind."""
        with fx_traceback.set_current_meta(n, f"Interpreter_{type(self).__name__}"):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    # Kinds of nodes

    def placeholder(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The next input, or its default.

        Raises
        ------
        RuntimeError
            When there is none.
        """
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The attribute under a path."""
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a function gives."""
        if isinstance(target, str):
            raise AssertionError(f"Expected callable target, got string: {target}")
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a method of the first argument gives."""
        own, *rest = args
        return getattr(own, target)(*rest, **kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a submodule gives."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The output."""
        return args[0]

    # Values

    def fetch_attr(self, target: str) -> Any:
        """The attribute of the module under a path.

        Raises
        ------
        RuntimeError
            When there is none.
        """
        value: Any = self.module
        parts = target.split(".")
        for index, part in enumerate(parts):
            if not hasattr(value, part):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[: index + 1])}")
            value = getattr(value, part)
        return value

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The values of a node's arguments."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """Arguments with values in the place of nodes.

        Raises
        ------
        RuntimeError
            When a node has not run.
        """

        def load(used: Node) -> Any:
            if used not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {used}! Run Graph.lint() to diagnose such issues"
                )
            return self.env[used]

        return map_arg(args, load)


def _last_uses(graph: Graph) -> dict[Node, list[Node]]:
    found: dict[Node, list[Node]] = {}
    seen: set[Node] = set()
    for node in reversed(graph.nodes):
        for used in node._input_nodes:
            if used not in seen:
                seen.add(used)
                found.setdefault(node, []).append(used)
    return found


def _note_node(error: Exception, node: Node) -> None:
    """Say in an error at which node it was raised."""
    text = f"While executing {node.format_node()}"
    if node.stack_trace:
        text = f"{text}\nOriginal traceback:\n{node.stack_trace}"
    text = f"{error.args[0]}\n\n{text}" if error.args else text
    error.args = (text, *error.args[1:])
    if isinstance(error, KeyError):
        raise RuntimeError(*error.args) from error


class Transformer(Interpreter):
    """Runs a graph with proxies, and so makes another; subclasses change what a kind of node becomes.

    Parameters
    ----------
    module
        The graph module that is run, and whose attributes the new one takes over.
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = _TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proxy:
        """An input of the new graph."""
        default = {"default_value": args[0]} if args else {}
        return Proxy(self.new_graph.placeholder(target, **default), self.tracer)

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proxy:
        """A step that reads an attribute."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A step that calls a module."""
        return self.tracer.call_module(self.fetch_attr(target), self.fetch_attr(target).forward, args, kwargs)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A step that calls a function."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The new graph as a module."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            taken = map_arg_of_proxies(result)
            old = next(iter(reversed(self.graph.nodes)))
            new = self.new_graph.output(taken)
            new.meta.update({key: value for key, value in old.meta.items() if old.op == "output"})
        return GraphModule(self.module, self.new_graph)


class _TransformerTracer(Tracer):
    """Adds to a graph; every module is a step."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """True."""
        return True


def map_arg_of_proxies(value: Any) -> Any:
    """The same structure with nodes in the place of proxies."""
    return map_aggregate(value, lambda item: item.node if isinstance(item, Proxy) else item)
