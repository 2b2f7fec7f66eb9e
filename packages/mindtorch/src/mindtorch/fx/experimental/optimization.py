"""``torch.fx.experimental.optimization``: modules that compute faster when they are not trained any more."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from mt_nn import BatchNorm1d, BatchNorm2d, BatchNorm3d, Conv1d, Conv2d, Conv3d, Dropout, Linear, Module
from mt_nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

from ..._unsupported import unsupported_function
from .._symbolic_trace import symbolic_trace
from ..graph_module import GraphModule
from ..interpreter import Transformer
from ..node import Node

__all__ = ["fuse", "matches_module_pattern", "optimize_for_inference", "remove_dropout", "replace_node_module"]

optimize_for_inference = unsupported_function(
    "torch.fx.experimental.optimization.optimize_for_inference",
    "It moves modules to MKL-DNN, which there is not: fuse and remove_dropout are its other parts.",
)

#: A layer and the norm behind it -> how they become one layer.
_FUSED = {
    (Conv1d, BatchNorm1d): fuse_conv_bn_eval,
    (Conv2d, BatchNorm2d): fuse_conv_bn_eval,
    (Conv3d, BatchNorm3d): fuse_conv_bn_eval,
    (Linear, BatchNorm1d): fuse_linear_bn_eval,
}


def matches_module_pattern(pattern: Iterable[type], node: Node, modules: dict[str, Any]) -> bool:
    """Whether a node calls a module of the second class with what one of the first class gave."""
    nodes: tuple[Any, ...] = (node.args[0] if node.args else None, node)
    return all(
        isinstance(one, Node)
        and one.op == "call_module"
        and isinstance(one.target, str)
        and type(modules.get(one.target)) is expected
        for expected, one in zip(pattern, nodes, strict=False)
    )


def replace_node_module(node: Node, modules: dict[str, Any], new_module: Module) -> None:
    """Have a node call another module, which takes the place of the one it called."""
    parent, _, name = str(node.target).rpartition(".")
    modules[str(node.target)] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: Module, inplace: bool = False, no_trace: bool = False) -> Module:
    """Fold batch norms in eval mode into the convolutions and linear layers before them.

    Parameters
    ----------
    inplace
        Change the model's own layers.
    no_trace
        The model is a `GraphModule` already.

    Raises
    ------
    AssertionError
        For layers in training mode.
    """
    model = model if inplace else copy.deepcopy(model)
    if no_trace and not isinstance(model, GraphModule):
        raise AssertionError(f"Expected GraphModule, got {type(model)}")
    traced = model if isinstance(model, GraphModule) and no_trace else symbolic_trace(model)
    modules: dict[str, Any] = dict(traced.named_modules())
    for pattern, fused in _FUSED.items():
        for node in traced.graph.nodes:
            if matches_module_pattern(pattern, node, modules) and _is_alone(node.args[0], node, traced):
                _fold(node, modules, fused)
                traced.graph.erase_node(node)
    return GraphModule(traced, traced.graph)


def _is_alone(layer: Any, norm: Node, traced: GraphModule) -> bool:
    """Whether nothing else sees what a layer gives, and neither it nor the norm is called elsewhere."""
    calls = [node.target for node in traced.graph.nodes if node.op == "call_module"]
    tracks = getattr(traced.get_submodule(str(norm.target)), "track_running_stats", False)
    return len(layer.users) == 1 and calls.count(layer.target) == 1 and calls.count(norm.target) == 1 and tracks


def _fold(node: Node, modules: dict[str, Any], fused: Any) -> None:
    layer: Any = node.args[0]
    replace_node_module(layer, modules, fused(modules[layer.target], modules[str(node.target)]))
    node.replace_all_uses_with(layer)


def remove_dropout(model: Module) -> Module:
    """The model without its `Dropout` modules."""
    traced = model if isinstance(model, GraphModule) else symbolic_trace(model)

    class WithoutDropout(Transformer):
        def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if isinstance(self.submodules[target], Dropout):
                return args[0]
            return super().call_module(target, args, kwargs)

    return WithoutDropout(traced).transform()
