"""The graph of a function, and the one of a function with its gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mt_autograd.api import grad
from mt_core import Tensor
from mt_core.api import _functions as ops
from mt_core.functionalization.layer import to_functional
from mt_core.functionalization.tensors import FunctionalArray
from mt_core.keys import AUTOCAST
from mt_core.state import excluding

from ...fx.experimental.proxy_tensor import make_fx
from ...fx.graph import CodeGen
from ...fx.graph_module import GraphModule
from .analysis import FlatFunction, FunctionalRun, functionalized
from .schemas import Plan

__all__ = ["inference_graph", "joint_graph", "tangents_of"]


def _value(value: Any) -> Any:
    """What a functional tensor stands for, with all that was written to it; anything else as it is."""
    return value._array.value if isinstance(value, Tensor) and isinstance(value._array, FunctionalArray) else value


def _cloned(plan: Plan, is_leaf: Sequence[bool]) -> set[int]:
    """The arguments that are written to and have a history, before or after: their first values may be saved."""
    gain_history = {one.place for one in plan.written if one.requires_grad and not one.is_hidden}
    return gain_history | {one.place for one in plan.written if not is_leaf[one.place]}


def _results(run: FunctionalRun, plan: Plan) -> list[Any]:
    """The functional tensors whose values the graph gives."""
    run.plan()  # finds the bases
    return [*(run.given[one.place] for one in plan.written), *run.outputs, *run.bases]


def inference_graph(
    function: FlatFunction, args: Sequence[Any], plan: Plan, decompositions: Any, writes_inputs: bool,
    requires_grad: Sequence[bool] | None = None,
) -> GraphModule:  # fmt: skip
    """The graph of a function without gradients, of its flat arguments.

    Parameters
    ----------
    writes_inputs
        Whether the graph writes to the arguments, in place of giving what is to be written.
    requires_grad
        Which arguments the function itself differentiates by; none by default.
    """
    differentiated = [False] * len(args) if requires_grad is None else requires_grad

    def traced(*flat: Any) -> list[Any]:
        run = FunctionalRun(function, flat, differentiated, set())
        values = [_value(result) for result in _results(run, plan)]
        if not writes_inputs:
            return values
        for one, value in zip(plan.written, values, strict=False):
            flat[one.place].copy_(value)
        return values[len(plan.written) :]

    return _as_tuple(make_fx(traced, decompositions, tracing_mode="fake")(*args))


def joint_graph(
    function: FlatFunction, args: Sequence[Any], requires_grad: Sequence[bool], is_leaf: Sequence[bool], plan: Plan,
    tangents: Sequence[Any], decompositions: Any,
) -> GraphModule:  # fmt: skip
    """The graph of a function with its gradients.

    It takes the flat arguments (``primals_*``) and cotangents (``tangents_*``), and gives the function's results and
    for each argument a gradient, or None.
    """
    cloned = _cloned(plan, is_leaf)

    def traced(primals: list[Any], tangents: list[Any]) -> list[Any]:
        run = FunctionalRun(function, primals, requires_grad, cloned)
        results = _results(run, plan)
        wanted = [run.leaves[place] for place in run.leaves if requires_grad[place]]
        roots = [result for result, counts in zip(results, plan.differentiable, strict=True) if counts]
        with excluding(AUTOCAST), functionalized():
            found = iter(grad(roots, wanted, [to_functional(t) for t in tangents], allow_unused=True))
        grads = [next(found) if requires_grad[place] else None for place in range(len(primals))]
        return [_value(result) for result in (*results, *grads)]

    made = make_fx(traced, decompositions, tracing_mode="fake")(list(args), list(tangents))
    return _as_tuple(made)


def _as_tuple(module: GraphModule) -> GraphModule:
    """Give a graph's results as a tuple, and take its inputs one by one."""
    (output,) = module.graph.find_nodes(op="output")
    output.args = (tuple(output.args[0]),)
    module.graph.set_codegen(CodeGen())
    module.recompile()
    return module


def tangents_of(
    function: FlatFunction, args: Sequence[Any], requires_grad: Sequence[bool], is_leaf: Sequence[bool], plan: Plan
) -> list[Any]:
    """Fake tensors like the cotangents of what a function gives."""
    run = FunctionalRun(function, args, requires_grad, _cloned(plan, is_leaf))
    roots = [result for result, counts in zip(_results(run, plan), plan.differentiable, strict=True) if counts]
    with excluding(AUTOCAST):
        return [ops.empty_strided(t.shape, t.stride(), dtype=t.dtype, device=t.device) for t in map(_value, roots)]
