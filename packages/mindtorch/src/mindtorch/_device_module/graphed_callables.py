"""``torch.<device>.make_graphed_callables``: modules and functions whose forward and backward are graphs.

Each callable is run once while its work is recorded, from fixed input tensors to fixed results, and then its backward,
from fixed gradients of the results to fixed gradients of the inputs and parameters. A call copies its arguments into
the fixed inputs, replays the graph, and gives the fixed results out; one node of the gradient graph does the same
backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mt_core
from mt_autograd import api as autograd
from mt_autograd.function import Function, once_differentiable
from mt_core import Tensor, pytree
from mt_nn.modules.module import Module

from ..amp import autocast_mode
from .streams import Streams

__all__ = ["Recorder", "refuse_unfit"]


def refuse_unfit(callables: Sequence[Any], sample_args: Sequence[Any]) -> None:
    """Refuse what cannot be recorded, whatever the device.

    Raises
    ------
    AssertionError
        For a module with hooks, or with buffers that require grad, and for sample arguments that are not tensors.
    RuntimeError
        Under autocast that keeps its casts: they would be those of the parameters as they are now.
    """
    if autocast_mode.is_autocast_enabled() and autocast_mode.is_autocast_cache_enabled():
        raise RuntimeError(
            "make_graphed_callables does not support the autocast caching. Please set `cache_enabled=False`."
        )
    for program in callables:
        if isinstance(program, Module):
            _refuse_module(program)
    for arguments in sample_args:
        if not all(isinstance(leaf, Tensor) for leaf in pytree.tree_leaves(arguments)):
            raise AssertionError(
                "In the beta API, sample_args for each callable must contain only Tensors. Other types are not allowed."
            )


def _refuse_module(module: Module) -> None:
    if module._backward_hooks or module._forward_hooks or module._forward_pre_hooks:
        raise AssertionError(
            "Modules must not have hooks registered at the time they are passed. However, registering hooks on modules "
            "after passing them through make_graphed_callables is allowed."
        )
    if any(buffer.requires_grad for buffer in module.buffers()):
        raise AssertionError(
            "In any :class:`~torch.nn.Module` passed to :func:`~make_graphed_callables`, only parameters may be "
            "trainable. All buffers must have ``requires_grad=False``."
        )


class Recording:
    """One callable, what it was recorded with, and the two graphs.

    Parameters
    ----------
    program
        The callable: a module's ``forward`` is what is called, its hooks are not.
    sample_args
        The arguments that it is recorded with. Their tensors become its fixed inputs.
    allow_unused
        Whether its results may be independent of an input that requires grad.
    """

    def __init__(self, program: Callable[..., Any], sample_args: Any, allow_unused: bool) -> None:
        self.program = program
        self.sample_args = sample_args
        self.allow_unused = allow_unused
        self.arguments: tuple[Tensor, ...] = tuple(pytree.tree_leaves(sample_args))
        parameters = tuple(program.parameters()) if isinstance(program, Module) else ()
        #: All tensors that gradients may be asked for; these are the inputs of the node.
        self.inputs = self.arguments + parameters
        self.results: tuple[Tensor, ...] = ()
        self.structure: Any = None
        #: Gradients, where they are needed: one for each result, and one for each input.
        self.result_grads: tuple[Tensor | None, ...] = ()
        self.input_grads: tuple[Tensor | None, ...] = ()

    def run_forward(self) -> None:
        """Call the program on its fixed inputs."""
        leaves, self.structure = pytree.tree_flatten(self.program(*self.sample_args))
        self.results = tuple(leaves)

    def make_result_grads(self) -> None:
        """Memory for the gradients of the results."""
        self.result_grads = tuple(mt_core.empty_like(r) if r.requires_grad else None for r in self.results)

    def run_backward(self) -> None:
        """Gradients of the fixed inputs from those of the fixed results; none where nothing requires grad."""
        wanted = [index for index, given in enumerate(self.inputs) if given.requires_grad]
        results = [result for result in self.results if result.requires_grad]
        found: list[Tensor | None] = [None] * len(self.inputs)
        if wanted and results:
            grads = autograd.grad(
                results,
                [self.inputs[index] for index in wanted],
                [grad for grad in self.result_grads if grad is not None],
                allow_unused=self.allow_unused,
            )
            for index, grad in zip(wanted, grads, strict=True):
                found[index] = grad
        self.input_grads = tuple(found)

    def warm_up(self, iterations: int) -> None:
        """Run forward and backward for nothing, so that what is made at a first call is there before it is recorded."""
        for _ in range(iterations):
            self.run_forward()
            self.make_result_grads()
            self.run_backward()
        self.results = self.result_grads = self.input_grads = ()


class Recorder:
    """Makes graphs of callables on one device.

    Parameters
    ----------
    module
        The functions of ``torch.<device>``.
    pool
        Where the memory of all graphs comes from; a pool of their own if None.
    """

    def __init__(self, module: Any, pool: Any) -> None:
        self.module: Streams = module
        self.new_graph: Callable[[], Any] = module.Graph
        self.record: Callable[..., Any] = module.graph
        self.pool = module.graph_pool_handle() if pool is None else pool

    def graphed(
        self, callables: Sequence[Any], sample_args: Sequence[Any], iterations: int, allow_unused: bool
    ) -> tuple[Any, ...]:
        """The callables that replay; a module is returned itself, with another ``forward``."""
        recordings = [Recording(*pair, allow_unused) for pair in zip(callables, sample_args, strict=True)]
        self._warm_up(recordings, iterations)
        forwards = [self._recorded_forward(recording) for recording in recordings]
        # Memory of the pool is freed in this order when the program runs, so it is recorded in it.
        backwards = [self._recorded_backward(recording) for recording in reversed(recordings)][::-1]
        return tuple(map(_in_place_of, recordings, forwards, backwards))

    def _warm_up(self, recordings: Sequence[Recording], iterations: int) -> None:
        self.module.synchronize()
        with self.module.stream(self.module.Stream()):
            for recording in recordings:
                recording.warm_up(iterations)
        self.module.synchronize()

    def _recorded_forward(self, recording: Recording) -> Any:
        graph = self.new_graph()
        with self.record(graph, pool=self.pool):
            recording.run_forward()
        return graph

    def _recorded_backward(self, recording: Recording) -> Any:
        graph = self.new_graph()
        recording.make_result_grads()
        with self.record(graph, pool=self.pool):
            recording.run_backward()
        return graph


def _copied_in(fixed: Sequence[Tensor | None], given: Sequence[Any]) -> None:
    """Bring what a call gives into the fixed tensors, where it is not there already."""
    for target, source in zip(fixed, given, strict=True):
        if target is not None and target.data_ptr() != source.data_ptr():
            target.copy_(source)


def _node(recording: Recording, forward_graph: Any, backward_graph: Any) -> Any:
    """The autograd function that replays; its inputs are those of the recording."""

    class Graphed(Function):
        """Replays a callable."""

        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            given = len(recording.arguments)
            _copied_in(recording.arguments, inputs[:given])
            forward_graph.replay()
            return tuple(result.detach() for result in recording.results)

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, *grads: Any) -> Any:
            _copied_in(recording.result_grads, grads)
            backward_graph.replay()
            return tuple(None if grad is None else grad.detach() for grad in recording.input_grads)

    return Graphed


def _in_place_of(recording: Recording, forward_graph: Any, backward_graph: Any) -> Any:
    node = _node(recording, forward_graph, backward_graph)
    parameters = recording.inputs[len(recording.arguments) :]

    def graphed(*args: Any) -> Any:
        results = node.apply(*pytree.tree_leaves(args), *parameters)
        return pytree.tree_unflatten(results, recording.structure)

    if not isinstance(recording.program, Module):
        return graphed
    _replace_forward(recording.program, graphed)
    return recording.program


def _replace_forward(module: Module, graphed: Callable[..., Any]) -> None:
    """Let a module replay in the mode that it was recorded in, and run as before in the other."""
    recorded_in_training, run = module.training, module.forward

    def forward(*args: Any) -> Any:
        return (graphed if module.training == recorded_in_training else run)(*args)

    module.forward = forward
