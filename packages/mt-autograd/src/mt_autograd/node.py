"""Nodes of the graph: what was computed, from what, and what happens when a gradient passes by.

An *edge* says where a gradient goes: ``(node, output_nr)``, or ``(leaf, LEAF)`` with the leaf tensor itself in the node's
place, or None where no gradient is wanted. A graph holds its leaves, a leaf holds its `AccumulateGrad` weakly: no cycle.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

from mt_core.devices import device
from mt_core.dtypes import dtype
from mt_core.hooks import RemovableHandle
from mt_core.keys import AUTOGRAD, BACKEND_MASK
from mt_core.size import Size

__all__ = ["LEAF", "AccumulateGrad", "Edge", "Hooks", "InputMetadata", "Node", "accumulator_of", "next_sequence_nr", "output_spec"]

#: In an edge: the first item is a leaf tensor, not a node.
LEAF = -1

Edge = tuple[Any, int]

#: Numbers nodes in the order of their making. One counter serves all threads, so along every edge numbers fall.
next_sequence_nr: Callable[[], int] = itertools.count().__next__

#: `AccumulateGrad` runs before everything else that is ready.
_FIRST = 2**64 - 1

#: (shape, dtype, key bits) of an output of the operator, which a gradient that arrives for it must fit.
OutputSpec = tuple[tuple[int, ...], dtype, int]


def output_spec(tensor: Any) -> OutputSpec:
    """The output specification that describes a tensor."""
    return tensor._array.shape, tensor._dtype, tensor._keys


class Hooks:
    """What has been hung on a node; few nodes have any.

    Attributes
    ----------
    tensor : dict of int to OrderedDict
        Hooks of the tensors that the node made, by output number; they see and may replace the incoming gradient.
    retains : dict of int to weakref
        Tensors whose ``.grad`` is to be filled (``retain_grad``), by output number.
    pre, post : OrderedDict
        Hooks of the node itself: ``pre(grad_outputs)``, ``post(grad_inputs, grad_outputs)``.
    metadata : dict
        ``grad_fn.metadata``.
    """

    __slots__ = ("metadata", "post", "pre", "retains", "tensor")

    def __init__(self) -> None:
        self.tensor: dict[int, OrderedDict[int, Any]] = {}
        self.retains: dict[int, ref[Any]] = {}
        self.pre: OrderedDict[int, Any] = OrderedDict()
        self.post: OrderedDict[int, Any] = OrderedDict()
        self.metadata: dict[Any, Any] = {}


class InputMetadata:
    """Shape, dtype and device of a gradient that a node expects (``grad_fn._input_metadata``)."""

    __slots__ = ("_spec",)

    def __init__(self, spec: OutputSpec) -> None:
        self._spec = spec

    @property
    def shape(self) -> Size:
        return Size(self._spec[0])

    @property
    def dtype(self) -> dtype:
        return self._spec[1]

    @property
    def device(self) -> device:
        return device_of_keys(self._spec[2])

    is_nested_tensor = is_cpp_nested_tensor = False


def device_of_keys(keys: int) -> device:
    """The device that a tensor's backend bit stands for."""
    from mt_core.devices import device_type_of

    return device(device_type_of(keys & BACKEND_MASK))


class Node:
    """A recorded operation, ``torch.autograd.graph.Node``.

    Attributes
    ----------
    next_edges : tuple of Edge or None
        One per differentiable input of the operation.
    sequence_nr : int
        Of two nodes that are ready, the engine runs the one with the higher number first.
    output_specs : tuple of OutputSpec
        One per output of the operation.
    hooks : Hooks or None
    """

    __slots__ = ("__weakref__", "hooks", "next_edges", "output_specs", "sequence_nr")

    next_edges: tuple[Edge | None, ...]
    sequence_nr: int
    output_specs: tuple[OutputSpec, ...]
    hooks: Hooks | None

    def attach(self, edges: Sequence[Edge | None], specs: Sequence[OutputSpec]) -> Node:
        """Set what every node has; recorders on the hot path do the same in place."""
        self.next_edges = tuple(edges)
        self.output_specs = tuple(specs)
        self.sequence_nr = next_sequence_nr()
        self.hooks = None
        return self

    def apply(self, grads: Sequence[Any], needed: Sequence[bool] | None) -> Sequence[Any]:
        """Gradients for the next edges from those of the outputs (None: zero).

        `needed` tells which edges lead somewhere, None all of them; the others' gradients may be left out as None.
        """
        raise NotImplementedError(f"{type(self).__name__} has no backward")

    def release(self) -> None:
        """Forget what was saved for backward."""

    #: Whether the engine refuses complex gradients of real inputs, instead of taking the real part as formulas expect.
    strict_gradients = False

    # What Python programs see

    def __call__(self, *grads: Any) -> Any:
        """Apply the node to gradients of its outputs: one gradient, or a tuple of them."""
        results = tuple(self.apply(list(grads), None))
        return results[0] if len(results) == 1 else results

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    def name(self) -> str:
        """The name that error messages and graph printers use."""
        return type(self).__name__

    @property
    def requires_grad(self) -> bool:
        return True

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """(node, output number) for every differentiable input; (None, 0) for those without history."""
        self.next_edges = edges = tuple(None if e is None else materialized(e) for e in self.next_edges)
        return tuple((None, 0) if e is None else e for e in edges)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for whoever wants to leave something at the node."""
        return self._own_hooks().metadata

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        return tuple(InputMetadata(spec) for spec in self.output_specs)

    def _sequence_nr(self) -> int:
        return self.sequence_nr

    def _set_sequence_nr(self, sequence_nr: int) -> None:
        self.sequence_nr = sequence_nr

    def _own_hooks(self) -> Hooks:
        hooks = self.hooks
        if hooks is None:
            hooks = self.hooks = Hooks()
        return hooks

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` after the node; what it returns replaces ``grad_inputs``."""
        return _register(self._own_hooks().post, fn)

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` before the node; what it returns replaces ``grad_outputs``."""
        return _register(self._own_hooks().pre, fn)

    def tensor_hooks(self, output_nr: int) -> OrderedDict[int, Any]:
        """The hooks of one of the tensors that the node made, by id of their handles."""
        return self._own_hooks().tensor.setdefault(output_nr, OrderedDict())


def _register(registry: OrderedDict[int, Any], fn: Callable[..., Any]) -> RemovableHandle:
    handle = RemovableHandle(registry)
    registry[handle.id] = fn
    return handle


def materialized(edge: Edge) -> tuple[Node, int]:
    """The edge with a node in the place of a leaf tensor."""
    target, output_nr = edge
    return (accumulator_of(target), 0) if output_nr == LEAF else edge


class AccumulateGrad(Node):
    """Where a gradient arrives at a leaf and is added to its ``.grad``."""

    __slots__ = ("variable",)

    def __init__(self, variable: Any) -> None:
        self.variable = variable
        self.next_edges = ()
        self.sequence_nr = _FIRST
        self.hooks = None

    @property
    def output_specs(self) -> tuple[OutputSpec, ...]:  # type: ignore[override]
        return (output_spec(self.variable),)

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def apply(self, grads: Sequence[Any], needed: Sequence[bool] | None) -> Sequence[Any]:
        from .accumulation import accumulate

        variable = self.variable
        accumulate(variable, grads)
        registry = variable._autograd.post_accumulate_grad_hooks
        if registry and grads[0] is not None:
            for hook in list(registry.values()):
                hook(variable)
        return ()

    def tensor_hooks(self, output_nr: int) -> OrderedDict[int, Any]:
        meta = self.variable._autograd
        if meta.hooks is None:
            meta.hooks = OrderedDict()
        return meta.hooks  # type: ignore[no-any-return]


def accumulator_of(leaf: Any) -> AccumulateGrad:
    """The one living `AccumulateGrad` of a leaf, made if there is none."""
    meta = leaf._autograd
    reference = meta.accumulator
    node = None if reference is None else reference()
    if node is None:
        node = AccumulateGrad(leaf)
        meta.accumulator = ref(node)
    return node


def is_leaf(tensor: Any) -> bool:
    """Whether no recorded operation made the tensor."""
    return not tensor._keys & AUTOGRAD or tensor._autograd is None or tensor._autograd.grad_fn is None
