"""What must hold of a graph."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from mt_nn import Module, Parameter

from ._names import typename
from .node import Node

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["lint", "warn_of_missing"]

_KINDS = {"placeholder", "call_method", "call_module", "call_function", "get_attr", "output"}
_NO_ATTRIBUTE = (
    "Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! Call "
    "GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to add the necessary "
    "Parameter, or nn.Module.register_buffer to add the necessary buffer"
)


def lint(graph: Graph) -> None:
    """Check a graph; the errors are those of `Graph.lint`."""
    seen: set[Node] = set()
    names: set[str] = set()
    for node in graph.nodes:
        _lint_node(graph, node, seen)
        seen.add(node)
        if node.name in names:
            raise RuntimeError(f"Node redefined name {node.name}!")
        names.add(node.name)
    if graph.owning_module is not None:
        for node in graph.nodes:
            _lint_target(graph.owning_module, node)


def _lint_node(graph: Graph, node: Node, seen: set[Node]) -> None:
    if node.op not in _KINDS:
        raise RuntimeError(f"Node {node} had unknown opcode {node.op}!")
    if node.graph is not graph:
        raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
    for used in node._input_nodes:
        _lint_use(graph, node, used, seen)


def _lint_use(graph: Graph, node: Node, used: Node, seen: set[Node]) -> None:
    where = f" of Node '{node}' "
    if used.graph is not graph:
        raise RuntimeError(
            f"Argument '{used}'{where}does not belong to this Graph, but was used as an argument! If you are copying "
            f"nodes from another graph, make sure to use ``arg_transform`` on node_copy() to remap values\n{graph}"
        )
    if used not in seen:
        raise RuntimeError(
            f"Argument '{used}'{where}was used before it has been defined! Please check that Nodes in the graph are "
            f"topologically ordered\n{graph}"
        )


def _lint_target(module: Any, node: Node) -> None:
    if node.op == "call_function" and not callable(node.target):
        raise ValueError(
            f"Node {node} target {node.target} has type {typename(node.target)} but a Callable is expected"
        )
    if node.op != "call_function" and not isinstance(node.target, str):
        raise ValueError(f"Node {node} target {node.target} has type {typename(node.target)} but a str is expected")
    if node.op in ("get_attr", "call_module"):
        _lint_attribute(module, node)


def _lint_attribute(module: Any, node: Node) -> None:
    parts = node.target.split(".")
    value = module
    for index, part in enumerate(parts):
        reached = ".".join(parts[:index])
        if not hasattr(value, part):
            raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {part} of {reached}")
        value = getattr(value, part)
        if node.op == "call_module" and not isinstance(value, Module):
            raise RuntimeError(f"Node {node} target {node.target} {part} of {reached} does not reference an nn.Module")


def _submodule(module: Any, path: str) -> Any:
    """A submodule, or None where there is none."""
    try:
        return module.get_submodule(path)
    except AttributeError:
        warnings.warn(f"Failed to fetch module {path}!", stacklevel=4)
        return None


def warn_of_missing(module: Any, path: str) -> None:
    """Warn where a module has no tensor or submodule under a name."""
    if module is None:
        return
    home, _, name = path.rpartition(".")
    owner = _submodule(module, home)
    value = getattr(owner, name, None) if owner is not None else None
    known = isinstance(value, Module | Parameter) or owner is not None and name in owner._buffers
    if not known:
        warnings.warn(_NO_ATTRIBUTE, stacklevel=3)
