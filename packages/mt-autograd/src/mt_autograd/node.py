"""Nodes of the graph: what was computed, from what, and what happens when a gradient passes by.

An *edge* says where a gradient goes: a node and the number of one of its outputs, or a leaf tensor and `LEAF`, or None
and 0 where no gradient is wanted. A node keeps its edges in one flat tuple: a graph of n operations is then a third as
many objects for the garbage collector to walk over. A graph holds its leaves, a leaf holds its `AccumulateGrad` weakly:
no cycle.
"""

import itertools
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any
from weakref import ref

from mt_core.autograd_state import OWN_DTYPE, AutogradState
from mt_core.devices import device, device_type_of
from mt_core.dtypes import dtype
from mt_core.hooks import RemovableHandle
from mt_core.keys import AUTOGRAD, BACKEND_MASK, CPU
from mt_core.size import Size
from mt_core.state import unqueued

from .accumulation import accumulate
from .hook_answers import checked

__all__ = [
    "AccumulateGrad",
    "EMPTY_SPEC",
    "Edge",
    "Hooks",
    "InputMetadata",
    "LEAF",
    "NO_EDGE",
    "Node",
    "Underivable",
    "accumulator_of",
    "device_of_keys",
    "leave_identity",
    "leave_layout",
    "next_sequence_nr",
    "output_spec",
    "pairs",
    "target_nodes",
    "underivable",
]

#: In an edge: the first item is a leaf tensor, not a node.
LEAF = -1

Edge = tuple[Any, int]

#: The edge of a tensor that wants no gradient.
NO_EDGE: Edge = (None, 0)

#: Numbers nodes in the order of their making. One counter serves all threads, so along every edge numbers fall.
next_sequence_nr: Callable[[], int] = itertools.count().__next__

#: `AccumulateGrad` runs before everything else that is ready.
_FIRST = 2**64 - 1

#: (shape, dtype, key bits) of an output of the operation, which a gradient that arrives for it must fit.
OutputSpec = tuple[tuple[int, ...], dtype, int]


def output_spec(tensor: Any) -> OutputSpec:
    """The output specification that describes a tensor."""
    return tensor._array.shape, tensor._dtype, tensor._keys


#: The output specification of what is no tensor.
EMPTY_SPEC: Any = ((), None, 0)


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


_CPU_DEVICE = device("cpu")


def device_of_keys(keys: int) -> device:
    """The device that a tensor's backend bit stands for."""
    if keys & CPU:
        return _CPU_DEVICE
    return device(device_type_of(keys & BACKEND_MASK))


def operation_name(node: "Node") -> str:
    """A node's name as PyTorch's messages give it: without ``Backward0``; of another number, that stays."""
    return re.sub(r"Backward(?:0$|(?=\d*$))", "", node.name())


class Node:
    """A recorded operation, ``torch.autograd.graph.Node``.

    Attributes
    ----------
    _edges : tuple
        Node or leaf, output number, node or leaf, output number, ...: a pair for each differentiable input.
    _sequence : int
        Of two nodes that are ready, the engine runs the one with the higher number first.
    _shape, _dtype, _keys
        Of the (first) output: what a gradient that arrives for it must fit.
    _more_outputs : tuple of OutputSpec
        The same of further outputs.
    _hooks : Hooks or None

    The node of a custom function is its ``ctx``, where programs keep what they like: plain names are theirs.
    """

    __slots__ = ("__weakref__", "_dtype", "_edges", "_hooks", "_keys", "_more_outputs", "_sequence", "_shape")

    _edges: tuple[Any, ...]
    _sequence: int
    _shape: tuple[int, ...]
    _dtype: dtype
    _keys: int
    _hooks: Hooks | None
    _more_outputs: tuple[OutputSpec, ...]

    def attach(self, edges: Iterable[Edge], specs: Sequence[OutputSpec]) -> "Node":
        """Set what every node has; recorders on the hot path do the same in place."""
        self._edges = tuple(itertools.chain.from_iterable(edges))
        self._sequence = next_sequence_nr()
        self._hooks = None
        self.set_outputs(specs)
        return self

    def set_outputs(self, specs: Sequence[OutputSpec]) -> None:
        """Set what gradients must fit."""
        self._shape, self._dtype, self._keys = specs[0] if specs else EMPTY_SPEC
        self._more_outputs = tuple(specs[1:])

    def output_spec(self, output_nr: int) -> OutputSpec:
        """Shape, dtype and key bits of an output."""
        return self._more_outputs[output_nr - 1] if output_nr else (self._shape, self._dtype, self._keys)

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
        """Apply the node to gradients of its outputs: one gradient, or a tuple of them.

        Raises
        ------
        TypeError
            For more or fewer of them than it has outputs that can have a gradient.
        """
        wanted = sum(self._can_have_gradient(nr) for nr in range(1 + len(self._more_outputs)))
        if len(grads) != wanted:
            raise TypeError(f"expected {wanted} arguments, got {len(grads)} instead")
        with unqueued():
            results = tuple(self.apply(list(grads), None))
        return results[0] if len(results) == 1 else results

    def _can_have_gradient(self, output_nr: int) -> bool:
        d = self.output_spec(output_nr)[1]
        return d.is_floating_point or d.is_complex

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    def name(self) -> str:
        """The name that error messages and graph printers use."""
        return type(self).__name__

    @property
    def requires_grad(self) -> bool:
        return True

    @property
    def next_functions(self) -> "tuple[tuple[Node | None, int], ...]":
        """(node, output number) for every differentiable input; (None, 0) for those without history."""
        functions = tuple(materialized(edge, self) for edge in pairs(self._edges))
        # The graph keeps the accumulators that the program may now put hooks on.
        self._edges = tuple(itertools.chain.from_iterable(functions))
        return functions

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for whoever wants to leave something at the node."""
        return self._own_hooks().metadata

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        return tuple(InputMetadata(self.output_spec(nr)) for nr in range(1 + len(self._more_outputs)))

    def _sequence_nr(self) -> int:
        return self._sequence

    def _set_sequence_nr(self, sequence_nr: int) -> None:
        self._sequence = sequence_nr

    def _own_hooks(self) -> Hooks:
        hooks = self._hooks
        if hooks is None:
            hooks = self._hooks = Hooks()
        return hooks

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` after the node; what it returns replaces ``grad_inputs``."""
        return _register(self._own_hooks().post, fn)

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` before the node; what it returns replaces ``grad_outputs``."""
        return _register(self._own_hooks().pre, fn)

    def _register_hook_dict(self, tensor: Any) -> None:
        """Have the node call the hooks that hang on one of its tensors: they are at the node already.

        Raises
        ------
        TypeError
            Of what is no tensor.
        """
        if not hasattr(tensor, "_autograd"):
            raise TypeError("_register_hook_dict expected a variable")

    def tensor_hooks(self, output_nr: int) -> OrderedDict[int, Any]:
        """The hooks of one of the tensors that the node made, by id of their handles."""
        return self._own_hooks().tensor.setdefault(output_nr, OrderedDict())


def _register(registry: OrderedDict[int, Any], fn: Callable[..., Any]) -> RemovableHandle:
    handle = RemovableHandle(registry)
    registry[handle.id] = fn
    return handle


def pairs(edges: Sequence[Any]) -> Iterator[Edge]:
    """The edges of a flat tuple, one by one."""
    items = iter(edges)
    return zip(items, items, strict=True)


def materialized(edge: Edge, user: Node | None = None) -> "tuple[Node, int]":
    """The edge, of a node `user` if one is given, with a node in the place of a leaf tensor."""
    target, output_nr = edge
    return (accumulator_of(target, user), 0) if output_nr == LEAF else edge


class AccumulateGrad(Node):
    """Where a gradient arrives at a leaf and is added to its ``.grad``.

    `fixed` is (shape, dtype, key bits) of the leaf where it has been laid out otherwise since (``.data =``).
    """

    __slots__ = ("fixed", "variable")

    def __init__(self, variable: Any, fixed: OutputSpec | None = None) -> None:
        self.variable = variable
        self.fixed = fixed
        self._edges = ()
        self._sequence = _FIRST
        self._more_outputs = ()
        self._hooks = None

    # What a leaf is may change; the gradient must fit what it was when it was used.

    @property
    def _shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.variable._array.shape if self.fixed is None else self.fixed[0]  # type: ignore[no-any-return]

    @property
    def _dtype(self) -> dtype | None:  # type: ignore[override]
        chosen = self.variable._autograd.grad_dtype
        own = self.variable._dtype if self.fixed is None else self.fixed[1]
        return own if chosen is OWN_DTYPE else chosen  # type: ignore[no-any-return]

    @property
    def _keys(self) -> int:  # type: ignore[override]
        return self.variable._keys if self.fixed is None else self.fixed[2]  # type: ignore[no-any-return]

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def apply(self, grads: Sequence[Any], needed: Sequence[bool] | None) -> Sequence[Any]:
        variable = self.variable
        accumulate(variable, grads)
        registry = variable._autograd.post_accumulate_grad_hooks
        if registry and grads[0] is not None:
            for hook in list(registry.values()):
                _refuse_answer(hook(variable), variable, hook)
        return ()

    def tensor_hooks(self, output_nr: int) -> OrderedDict[int, Any]:
        state = self.variable._autograd
        if state.hooks is None:
            state.hooks = OrderedDict()
        return state.hooks  # type: ignore[no-any-return]


def _refuse_answer(answer: Any, variable: Any, hook: Callable[..., Any]) -> None:
    """Refuse another tensor than the variable from a hook that is called when its gradient has been accumulated."""
    if answer is not None and checked(answer, variable, hook) is not variable:
        raise RuntimeError("Tensor post accumulate grad hooks should return None.")


class _SwappedAccumulateGrad(AccumulateGrad):
    """Stands where a graph used a leaf that has become another tensor since, and refuses its gradient."""

    __slots__ = ()

    def apply(self, grads: Sequence[Any], needed: Sequence[bool] | None) -> Sequence[Any]:
        raise RuntimeError(_SWAPPED)


_SWAPPED = (
    "Trying to execute AccumulateGrad node that was poisoned by swap_tensors this can happen when you try to run "
    "backward on a tensor that was swapped. For a module m with `torch.__future__.set_swap_module_params_on_conversion"
    "(True)` you should not change the device or dtype of the module (e.g. `m.cpu()` or `m.half()`) between running "
    "forward and backward. To resolve this, please only change the device/dtype before running forward (or after both "
    "forward and backward)."
)

#: How many earlier layouts of a leaf are kept for graphs that may still use them.
_MOST_FORMER = 64


class _Former:
    """What a leaf was for the nodes that were made before the number `until`.

    Attributes
    ----------
    spec : OutputSpec or None
        What its gradients must fit there; None where they are refused.
    is_target
        Whether ``autograd.grad`` finds the leaf there.
    """

    __slots__ = ("_node", "is_target", "spec", "until")

    def __init__(self, spec: OutputSpec | None, is_target: bool, node: "ref[AccumulateGrad] | None") -> None:
        self.until = next_sequence_nr()
        self.spec = spec
        self.is_target = is_target
        self._node = node

    def accumulator(self, leaf: Any) -> AccumulateGrad:
        """The one living accumulator of that time."""
        with _making:
            node = None if self._node is None else self._node()
            if node is None:
                node = AccumulateGrad(leaf, self.spec) if self.spec is not None else _SwappedAccumulateGrad(leaf)
                self._node = ref(node)
        return node


def leave_layout(leaf: Any, keeps_place: bool) -> None:
    """Note what a leaf is that is about to be laid out otherwise: graphs that used it hand it gradients of that form.

    With `keeps_place`, ``autograd.grad`` still finds the leaf in those graphs.
    """
    state = leaf._autograd
    living = state.accumulator
    node = None if living is None else living()
    if node is not None:
        node.fixed = output_spec(leaf)
    state.accumulator = None
    former = [*(state.former or ()), _Former(output_spec(leaf), keeps_place, living)]
    if len(former) > _MOST_FORMER:
        del former[0]
        former[0].spec = None
    state.former = former


def leave_identity(leaf: Any) -> None:
    """Note that what used the object so far used another tensor (``swap_tensors``): its gradients are refused."""
    state = leaf._autograd
    if state is None:
        state = leaf._autograd = AutogradState()
    state.accumulator = None
    state.former = [_Former(None, False, None)]


#: Threads that run graphs with common leaves must find one accumulator for each.
_making = threading.Lock()


def accumulator_of(leaf: Any, user: Node | None = None) -> AccumulateGrad:
    """The one living `AccumulateGrad` of a leaf, made if there is none: that of the time when a node used the leaf."""
    state = leaf._autograd
    if state is None:
        return _new_accumulator(leaf)
    if state.former is not None and user is not None:
        for former in state.former:
            if user._sequence < former.until:
                return former.accumulator(leaf)  # type: ignore[no-any-return]
    node = None if state.accumulator is None else state.accumulator()
    return _new_accumulator(leaf) if node is None else node


def target_nodes(edge: Edge) -> list[Node]:
    """The nodes at which the gradient of an edge's target arrives: several for a leaf that was laid out otherwise."""
    node, _ = materialized(edge)
    if edge[1] != LEAF or edge[0]._autograd.former is None:
        return [node]
    return [node, *(former.accumulator(edge[0]) for former in edge[0]._autograd.former if former.is_target)]


def _new_accumulator(leaf: Any) -> AccumulateGrad:
    with _making:
        state = leaf._autograd
        if state is None:  # detached since it was used
            state = leaf._autograd = AutogradState()
        node = None if state.accumulator is None else state.accumulator()
        if node is None:
            node = AccumulateGrad(leaf)
            state.accumulator = ref(node)
        return node


def is_leaf(tensor: Any) -> bool:
    """Whether no recorded operation made the tensor."""
    return not tensor._keys & AUTOGRAD or tensor._autograd is None or tensor._autograd.grad_fn is None


class Underivable(Node):
    """Stands in the graph where an operator has no derivative, and raises `error` when a gradient arrives."""

    __slots__ = ("error",)

    def __init__(self, error: Exception) -> None:
        self.error = error

    def name(self) -> str:
        return "torch::autograd::NotImplemented"

    def apply(self, grads: Sequence[Any], needed: Sequence[bool] | None) -> Sequence[Any]:
        error = type(self.error)(*self.error.args)
        for note in getattr(self.error, "__notes__", ()):
            error.add_note(note)
        raise error


@cache
def _shown() -> type[Underivable]:
    """The class under the name that programs see; no module has that name."""
    return type("NotImplemented", (Underivable,), {"__slots__": ()})


def underivable(error: Exception) -> Underivable:
    """A node that no gradient passes: `error` is raised where one arrives."""
    return _shown()(error)
