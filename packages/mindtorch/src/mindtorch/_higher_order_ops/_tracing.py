"""Control flow in graphs that ``make_fx`` makes: one node, whose functions are modules of the graph's module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mt_core import Tensor
from mt_core.pytree import tree_leaves, tree_map_only
from mt_library.higher_order import HigherOrderOperator

from .._subclasses.fake_tensor import is_fake
from ..fx.experimental._proxy_slots import has_proxy_slot, track_tensor_tree
from .associative_scan import associative_scan_op
from .cond import cond_op
from .map import map_impl
from .scan import scan_op
from .while_loop import while_loop_op

__all__ = ["traced"]

Args = tuple[Any, ...]


def _rows(tensors: Any) -> list[Any]:
    return [tensor.select(0, 0) for tensor in tensors]


def _pairs(tensors: Any) -> list[Any]:
    return [tensor[0:1] for tensor in tensors]


#: Operator -> (position of each function and the name of its module, what they are called with, given all arguments).
_FUNCTIONS: dict[HigherOrderOperator, tuple[dict[int, str], Callable[[Args], Any]]] = {
    cond_op: ({1: "true_graph", 2: "false_graph"}, lambda args: args[3]),
    while_loop_op: ({0: "while_loop_cond_graph", 1: "while_loop_body_graph"}, lambda args: [*args[2], *args[3]]),
    scan_op: ({0: "scan_combine_graph"}, lambda args: [*args[1], *_rows(args[2]), *args[3]]),
    map_impl: ({0: "body_graph"}, lambda args: [*_rows(args[1]), *args[2]]),
    associative_scan_op: ({0: "associative_scan_combine_graph"}, lambda args: [*_pairs(args[1]) * 2, *args[2]]),
}


def traced(make_fx: Callable[..., Any], mode: Any, operator: HigherOrderOperator, args: Args) -> Any:
    """What an operator gives, after a node for it has been written.

    `mode`, which is off, writes the graph, and `make_fx` those of the functions. Operators that are written in others
    and are not known here leave the nodes of those.

    Raises
    ------
    NotImplementedError
        For functions that use traced tensors besides their operands, and for an operator that is no composite.
    """
    if operator not in _FUNCTIONS:
        with mode:
            return operator.composite()(*args)
    tracer = mode.tracer
    places, operands_of = _FUNCTIONS[operator]
    given = list(args)
    for position, name in places.items():
        given[position] = _module_of(make_fx, tracer, operator, args[position], operands_of(args))
        setattr(tracer.root, _unused(tracer.root, name), given[position])
    proxies = tree_map_only(Tensor, tracer.unwrap_proxy, tuple(given))
    proxy = tracer.create_proxy("call_function", operator, proxies, {}, name=operator.name())
    return track_tensor_tree(_result(operator, given), proxy, constant=None, tracer=tracer)


def _module_of(
    make_fx: Callable[..., Any], tracer: Any, operator: HigherOrderOperator, function: Any, operands: Any
) -> Any:
    copies = tree_map_only(Tensor, lambda tensor: tensor.clone(), tuple(operands))
    module = make_fx(function)(*copies)
    kept = [value for value in vars(module).values() if isinstance(value, Tensor)] + list(module.buffers())
    if any(has_proxy_slot(tensor, tracer) for tensor in kept):
        raise NotImplementedError(
            f"make_fx: a function of {operator} uses tensors that are none of its operands; hand them over as operands"
        )
    return module


def _unused(root: Any, name: str) -> str:
    number = 0
    while hasattr(root, f"{name}_{number}"):
        number += 1
    return f"{name}_{number}"


def _result(operator: HigherOrderOperator, args: list[Any]) -> Any:
    """The result, or of fake tensors, of whose elements nothing is known, one that looks like it."""
    if any(is_fake(leaf) for leaf in tree_leaves(args) if isinstance(leaf, Tensor)):
        if operator is cond_op:
            return args[1](*args[3])
        if operator is while_loop_op:
            return args[1](*args[2], *args[3])
    return operator(*args)
