"""``torch.fx.experimental.graph_gradual_typechecker``: types of a graph's nodes, from those that a program notes.

Symbols for unknown sizes (PyTorch's `Refine`) are not supported.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import mindtorch as torch
from mt_nn import AdaptiveAvgPool2d, BatchNorm2d, Conv2d, Linear, MaxPool2d, ReLU

from ..._unsupported import unsupported_class
from ..graph_module import GraphModule
from ..node import Node
from ..tensor_type import Dyn, TensorType, is_consistent, is_more_precise

__all__ = ["GraphTypeChecker", "Refine", "broadcast_types", "register_inference_rule"]

Refine = unsupported_class(
    "torch.fx.experimental.graph_gradual_typechecker.Refine", "Unknown sizes have no symbols; they are Dyn."
)

#: Function, or class of modules -> how the type of a node that calls it follows.
_INFERENCE_RULES: dict[Any, Callable[..., Any]] = {}


def register_inference_rule(call_target: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator for a function of a node, and of the module that it calls, that gives and notes the node's type.

    Raises
    ------
    RuntimeError
        When there is one for the target.
    """

    def register(rule: Callable[..., Any]) -> Callable[..., Any]:
        if call_target in _INFERENCE_RULES:
            raise RuntimeError(f"Rule already registered for {call_target}!")
        _INFERENCE_RULES[call_target] = rule
        return rule

    return register


def _joined(one: Any, other: Any) -> Any:
    """What both types say.

    Raises
    ------
    TypeError
        When they contradict one another.
    """
    if one == Dyn or other == Dyn:
        return other if one == Dyn else one
    if not is_consistent(one, other):
        raise TypeError(f"Inconsistent types {one}, {other}")
    if not isinstance(one, TensorType):
        return one
    return TensorType(tuple(_joined(a, b) for a, b in zip(one.__args__, other.__args__, strict=True)))


def _of_rank(type: Any, rank: int) -> TensorType:
    """A type as one of tensors of a number of dimensions.

    Raises
    ------
    TypeError
        When it is none.
    """
    if type == Dyn:
        return TensorType((Dyn,) * rank)
    if not isinstance(type, TensorType):
        raise TypeError(f"Cannot expand the type {type}")
    if len(type.__args__) != rank:
        raise TypeError(
            f"Cannot expand tensor. Tensor {type} has rank {len(type.__args__)}. It should have rank {rank}"
        )
    return type


def broadcast_types(t1: Any, t2: Any) -> tuple[Any, Any]:
    """Two types as they are after broadcasting, where both are shapes.

    Raises
    ------
    TypeError
        For types of other things than tensors.
    """
    if t1 == Dyn or t2 == Dyn:
        return t1, t2
    if not isinstance(t1, TensorType) or not isinstance(t2, TensorType):
        raise TypeError(f"Cannot broadcast types {t1} and {t2}")
    rank = max(len(t1.__args__), len(t2.__args__))
    one, other = ([1] * (rank - len(t.__args__)) + list(t.__args__) for t in (t1, t2))
    pairs = [(b if a == 1 else a, a if b == 1 else b) for a, b in zip(one, other, strict=True)]
    return TensorType(tuple(a for a, _ in pairs)), TensorType(tuple(b for _, b in pairs))


def _type_of(arg: Any) -> Any:
    return arg.type if isinstance(arg, Node) else type(arg)


@register_inference_rule(torch.add)
@register_inference_rule(operator.add)
def _add(node: Node) -> Any:
    first, second = _type_of(node.args[0]), _type_of(node.args[1])
    numbers = (int, float)
    if first in numbers or second in numbers:
        node.type = second if first in numbers and second not in numbers else first
        return node.type
    one, other = broadcast_types(first, second)
    node.meta["broadcast"] = one != first or other != second
    if not is_consistent(one, other):
        raise TypeError(
            f"Cannot add arguments {node.args[0]} ({first}) and {node.args[1]} ({second}) in node {node}. Types should "
            "match "
        )
    node.type = other if is_more_precise(one, other) else one
    return node.type


@register_inference_rule(torch.transpose)
def _transpose(node: Node) -> Any:
    given, (first, second) = _type_of(node.args[0]), node.args[1:]
    if given == Dyn:
        return node.type
    sizes = list(given.__args__)
    if not all(0 <= dim < len(sizes) for dim in (first, second)):  # type: ignore[operator]
        raise TypeError(f"Cannot transpose {first} and {second} in type {given} for node {node}")
    sizes[first], sizes[second] = sizes[second], sizes[first]  # type: ignore[index, call-overload]
    return _note(node, TensorType(sizes))


@register_inference_rule(torch.reshape)
def _reshape(node: Node) -> Any:
    given, sizes = _type_of(node.args[0]), node.args[1]
    made = TensorType([Dyn if size == -1 else size for size in sizes])  # type: ignore[union-attr]
    if isinstance(given, TensorType) and not _reshapes(given.__args__, made.__args__):
        raise TypeError(f"Cannot reshape in node {node} from {given} to {made}")
    return _note(node, made)


def _reshapes(one: Any, other: Any) -> bool:
    """Whether there may be as many elements: known sizes of one divide those of the other."""
    mine, theirs = (math.prod(size for size in sizes if size != Dyn) for sizes in (one, other))
    if Dyn not in one and Dyn not in other or not mine or not theirs:
        return mine == theirs
    return mine % theirs == 0 or theirs % mine == 0


@register_inference_rule(torch.flatten)
def _flatten(node: Node) -> Any:
    given = _type_of(node.args[0])
    bounds: Any = (*node.args[1:], *(0, -1)[len(node.args) - 1 :])
    if given == Dyn:
        return node.type
    sizes = list(given.__args__)
    start, end = (dim + len(sizes) if dim < 0 else dim for dim in bounds)
    inner = sizes[start : end + 1]
    product = Dyn if Dyn in inner else math.prod(inner)
    return _note(node, TensorType((*sizes[:start], product, *sizes[end + 1 :])))


@register_inference_rule(BatchNorm2d)
def _batch_norm(node: Node, module: Any) -> Any:
    given = _of_rank(_type_of(node.args[0]), 4)
    made = _joined(given, _of_rank(node.type, 4))
    if not is_consistent(made.__args__[1], module.num_features):
        raise TypeError(f"Cannot apply {module} with input type {given} and existing type {node.type} on {node}")
    return _note(node, made)


@register_inference_rule(ReLU)
def _relu(node: Node, module: Any) -> Any:
    return _note(node, _type_of(node.args[0]))


@register_inference_rule(Conv2d)
def _conv(node: Node, module: Any) -> Any:
    given = _of_rank(_type_of(node.args[0]), 4)
    if not is_consistent(given.__args__[1], module.in_channels):
        raise TypeError(f"Cannot apply {module} with input type {given} and existing type {node.type} on {node}")
    sizes = [_windows(given.__args__[2 + i], module, i, math.floor) for i in (0, 1)]
    return _note(node, TensorType((given.__args__[0], module.out_channels, *sizes)), 4)


@register_inference_rule(MaxPool2d)
def _max_pool(node: Node, module: Any) -> Any:
    given = _type_of(node.args[0])
    rank = 3 if isinstance(given, TensorType) and len(given.__args__) == 3 else 4
    leading = _of_rank(given, rank).__args__
    rounded = math.ceil if module.ceil_mode else math.floor
    sizes = [_windows(leading[rank - 2 + i], module, i, rounded) for i in (0, 1)]
    return _note(node, TensorType((*leading[: rank - 2], *sizes)), rank)


def _windows(size: Any, module: Any, dim: int, rounded: Callable[[float], int]) -> Any:
    """How many places a window has along a dimension."""
    if size == Dyn:
        return Dyn
    kernel, stride, padding, dilation = (
        value if isinstance(value, int) else value[dim]
        for value in (module.kernel_size, module.stride, module.padding, module.dilation)
    )
    return rounded((size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1)


@register_inference_rule(Linear)
def _linear(node: Node, module: Any) -> Any:
    given = _type_of(node.args[0])
    if given == Dyn:
        return node.type
    *leading, last = given.__args__
    if not is_consistent(last, module.in_features):
        raise TypeError(f"Cannot apply {module} with input type {given} and existing type {node.type} on {node}")
    return _note(node, TensorType((*leading, module.out_features)))


@register_inference_rule(AdaptiveAvgPool2d)
def _adaptive_pool(node: Node, module: Any) -> Any:
    given = _type_of(node.args[0])
    if given == Dyn:
        return node.type
    *leading, height, width = given.__args__
    wanted = module.output_size if isinstance(module.output_size, tuple) else (module.output_size,) * 2
    sizes = [own if size is None else size for size, own in zip(wanted, (height, width), strict=True)]
    return _note(node, TensorType((*leading, *sizes)))


def _note(node: Node, found: Any, rank: int | None = None) -> Any:
    """Note what is found of a node's type, with what is noted already."""
    noted = node.type if rank is None else _of_rank(node.type, rank)
    try:
        joined = _joined(found, noted)
    except TypeError as error:
        raise TypeError(f"Cannot give node {node} of type {noted} the type {found}") from error
    node.type = found if joined == found else joined
    return node.type


class GraphTypeChecker:
    """Finds the types of all nodes of a module, from the annotations of its inputs and steps.

    Parameters
    ----------
    env
        Not read: types are noted on the nodes.
    traced
        The module.
    """

    def __init__(self, env: Any, traced: GraphModule) -> None:
        self.env = env
        self.traced = traced

    def type_check(self) -> bool:
        """Note the types; True when they fit one another.

        Raises
        ------
        TypeError
            When they do not.
        RuntimeError
            For steps without a rule.
        """
        for node in self.traced.graph.nodes:
            self.type_check_node(node)
        return True

    def type_check_node(self, n: Node) -> Any:
        """Note the type of one node, after those that it uses."""
        n.type = Dyn if n.type is None else n.type
        if n.op == "get_attr":
            value = self.traced.get_parameter(str(n.target))
            n.type = TensorType(tuple(value.shape))
        elif n.op == "output":
            n.type = torch.fx.node.map_arg(n.args[0], lambda node: node.type)
        elif n.op == "call_module":
            module = self.traced.get_submodule(str(n.target))
            if type(module) not in _INFERENCE_RULES:
                raise RuntimeError(f"No inference rule registered for class {type(module)}!")
            _INFERENCE_RULES[type(module)](n, module)
        elif n.op != "placeholder":
            if n.target not in _INFERENCE_RULES:
                raise RuntimeError(f"No inference rule registered for target {n.target}!")
            _INFERENCE_RULES[n.target](n)
        return n.type
