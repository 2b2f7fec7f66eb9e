"""Calls of a function by its compiled graphs: arguments are written to, views are made, gradients are recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mt_autograd.function import Function
from mt_autograd.saved import FREED
from mt_core import Tensor
from mt_core.api import _functions as ops
from mt_core.autograd_state import enable_grad, is_grad_enabled, no_grad
from mt_core.functionalization.steps import replayed
from mt_core.keys import AUTOCAST
from mt_core.state import excluding

from .schemas import GivenInput, Origin, Output, Plan
from .utils import call_compiled

__all__ = ["NoGradient", "Runtime", "SharedMemory", "differentiated", "spent"]

Flat = Callable[[list[Any]], Sequence[Any]]


class NoGradient(RuntimeError):
    """A function runs, and its gradient does not: eager execution would tell when it is asked for."""


class SharedMemory(NotImplementedError):
    """Arguments share memory that a function writes to, which its graph does not know of."""

    def __init__(self) -> None:
        super().__init__("aot_autograd: arguments that share memory which is written to are not supported")


class Runtime:
    """Carries out a call of a function that was traced.

    A call whose arguments share memory that is written to raises `SharedMemory`, before anything runs.

    Parameters
    ----------
    graph
        What is written to arguments, the results and their bases, from the flat arguments.
    writes_inputs
        Whether it writes to the arguments itself.
    """

    def __init__(self, plan: Plan, graph: Flat, writes_inputs: bool = False) -> None:
        self._plan, self._graph = plan, graph
        self._written = [] if writes_inputs else plan.written

    def __call__(self, flat: Sequence[Any]) -> list[Any]:
        """The leaves of what the function returns."""
        if self._plan.written:
            self._refuse_shared(flat)
        with excluding(AUTOCAST):
            found = list(self._graph(list(flat)))
            results = found[len(self._written) :]
            for one, value in zip(self._written, found, strict=False):
                _write(flat[one.place], value, one)
            return self._made(flat, results)

    def _refuse_shared(self, flat: Sequence[Any]) -> None:
        owners = [_owner(value) if isinstance(value, Tensor) else 0 for value in flat]
        for one in self._plan.written:
            if owners.count(owners[one.place]) > 1:
                raise SharedMemory

    def _made(self, flat: Sequence[Any], results: list[Any]) -> list[Any]:
        outputs = self._plan.outputs
        made = results[: len(outputs)]
        sources = {
            Origin.VIEW_OF_INPUT: flat, Origin.VIEW_OF_OUTPUT: made, Origin.VIEW_OF_BASE: results[len(outputs) :],
        }  # fmt: skip
        for place, output in enumerate(outputs):
            if output.origin is Origin.INPUT:
                made[place] = flat[output.source]
        for place, output in enumerate(outputs):
            if output.origin in sources:
                made[place] = _view(sources[output.origin][output.source], output)
        return made


def _owner(tensor: Any) -> int:
    """What tensors on one memory have in common; one that has none of it is alone there."""
    cell = tensor._cell
    return id(tensor) if cell is None else id(cell.block or cell)


def _view(source: Any, output: Output) -> Any:
    if not output.steps:
        return source
    if output.requires_grad or not source.requires_grad:
        return replayed(source, output.steps)
    with no_grad():
        return replayed(source, output.steps)


def _write(given: Any, value: Any, how: GivenInput) -> None:
    """Do to an argument what the function did to it."""
    if how.is_relaid:
        shape, strides, offset = how.spot
        given.as_strided_(shape, strides, given.storage_offset() + offset)
    if not how.is_written:
        return
    if how.is_hidden and given.requires_grad:
        with no_grad():
            given.copy_(value.detach())
    else:
        given.copy_(value)


def differentiated(
    plan: Plan, forward_graph: Callable[..., Any], backward_graph: Callable[..., Any], layouts: Sequence[Any]
) -> Flat:
    """What calls a forward graph, such that its gradient is computed by a backward graph.

    Parameters
    ----------
    layouts
        Fake tensors like the cotangents that the backward graph was traced for.
    """
    counts = plan.differentiable
    total = len(counts)

    class CompiledFunctionBackward(Function):
        """The gradient, which has none itself."""

        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            return tuple(call_compiled(backward_graph, list(args)))

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            raise RuntimeError("torch.compile with aot_autograd does not currently support double backward")

    class CompiledFunction(Function):
        """The function, with the gradient that its graph has."""

        @staticmethod
        def forward(ctx: Any, *flat: Any) -> Any:
            found = list(call_compiled(forward_graph, list(flat), warns=True))
            saved = found[total:]
            ctx.save_for_backward(*[value for value in saved if isinstance(value, Tensor)])
            ctx.plain = [None if isinstance(value, Tensor) else (value,) for value in saved]
            results = _results(plan, found[:total], flat)
            tensors = zip(results, counts, strict=True)
            ctx.mark_non_differentiable(*[t for t, counted in tensors if isinstance(t, Tensor) and not counted])
            return tuple(results)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            tensors = iter(ctx.saved_tensors)
            saved = [next(tensors) if plain is None else plain[0] for plain in ctx.plain]
            wanted = [grad for grad, counted in zip(grads, counts, strict=True) if counted]
            cotangents = [_laid_out(grad, like) for grad, like in zip(wanted, layouts, strict=True)]
            with excluding(AUTOCAST):
                if is_grad_enabled():
                    return CompiledFunctionBackward.apply(*saved, *cotangents)
                return tuple(call_compiled(backward_graph, [*saved, *cotangents]))

    def called(flat: list[Any]) -> Sequence[Any]:
        found: Sequence[Any] = CompiledFunction.apply(*flat)
        return found

    return called


class _Spent(Function):
    """What has a history that a function went through itself."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, leaf: Tensor) -> Tensor:
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(FREED)


def spent(value: Tensor) -> Any:
    """A result that requires grad, and refuses it, as a loss does after its ``backward``."""
    with enable_grad():
        return _Spent.apply(value, ops.empty(0, requires_grad=True))


def _results(plan: Plan, found: Sequence[Any], flat: Sequence[Any]) -> list[Any]:
    """What the function that is recorded gives: each tensor once, and none that is made of others afterwards."""
    first = len(plan.written)
    later = {first + place for place, output in enumerate(plan.outputs) if output.origin not in _OWN}
    known = {id(value) for value in flat}
    results: list[Any] = []
    for place, value in enumerate(found):
        if place in later:
            value = None
        elif isinstance(value, Tensor):
            value = value.detach() if id(value) in known else value
            known.add(id(value))
        results.append(value)
    return results


#: What a graph computes itself.
_OWN = (Origin.COMPUTED, Origin.CONSTANT)


def _laid_out(grad: Any, like: Any) -> Any:
    """A cotangent in the layout that the graph is for."""
    if grad.stride() == like.stride():
        return grad
    return ops.empty_strided(like.shape, like.stride(), dtype=grad.dtype, device=grad.device).copy_(grad)
