"""The graph of a program that runs on fake tensors: each function of ``torch`` that it calls becomes a node."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import mt_core
from mt_core import Tensor, formats
from mt_core.autograd_state import is_grad_enabled
from mt_core.overrides import TorchFunctionMode
from mt_nn.parameter import Buffer, Parameter

from .._C import _set_grad_enabled
from .._capturing import program_stack
from ..fx.graph import Graph
from ..fx.node import Node
from ..fx.proxy import GraphAppendingTracer
from .exc import GraphBreak
from .guards import ProgramState

__all__ = ["CONSTANTS", "GraphInput", "Recorder"]

#: Members of tensors that read elements, or let go of them.
_READERS = frozenset(
    "item tolist numpy __bool__ __int__ __float__ __index__ __complex__ __array__ __dlpack__ data_ptr storage "
    "untyped_storage _typed_storage __contains__ __repr__ __str__ __format__ __deepcopy__ __reduce_ex__ share_memory_ "
    "is_nonzero equal allclose register_hook register_post_accumulate_grad_hook retain_grad".split()
)
#: Properties whose answers are no part of a tensor's layout, and that a graph cannot answer again.
_READ_PROPERTIES = frozenset("grad_fn _version _grad_fn _backward_hooks names is_shared".split())
_INFIX = {
    **{n: getattr(operator, n) for n in "add sub mul truediv floordiv matmul pow mod neg lt le gt ge eq ne".split()},
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "bitwise_not": operator.invert, "div": operator.truediv, "true_divide": operator.truediv,
    "remainder": operator.mod,
}  # fmt: skip
_REFLECTED = {
    f"__r{name}__": getattr(operator, f"{name}_" if name in ("and", "or") else name)
    for name in "add sub mul truediv floordiv matmul pow mod lshift rshift and or xor".split()
}
_ITEMS = {"__getitem__": operator.getitem, "__setitem__": operator.setitem}
#: What may be the answer of a question about a tensor, and is a constant of the program.
CONSTANTS = (
    bool, int, float, complex, str, type(None), mt_core.Size, mt_core.dtype, mt_core.device, formats.layout,
    formats.memory_format, type,
)  # fmt: skip


class GraphInput:
    """A tensor that a graph is given: an argument of the program, by its number, or one that the program holds."""

    __slots__ = ("argument", "tensor")

    def __init__(self, argument: int | None, tensor: Tensor) -> None:
        self.argument, self.tensor = argument, tensor


class Recorder(TorchFunctionMode):
    """Function mode: runs what is called on fakes, and notes it in a graph.

    Parameters
    ----------
    fake_mode
        Makes fakes, and is entered while the program runs.
    state
        Knows the tensors that the program holds.
    """

    def __init__(self, fake_mode: Any, state: ProgramState, paused: Callable[[], Any]) -> None:
        self.graph = Graph()
        self.inputs: list[GraphInput] = []
        self.operators = 0
        #: Why the capture has ended, also where the program has caught the exception that said so.
        self.reason: str | None = None
        self._fake_mode, self._state, self._paused = fake_mode, state, paused
        self._tracer = GraphAppendingTracer(self.graph)
        self._nodes: dict[int, Node] = {}
        self._kept: list[Any] = []  # what has a node stays, so that no id is given again
        self._last_input: Node | None = None
        self._arguments: dict[int, tuple[int, str, Tensor]] = {}
        self._fakes: dict[int, Any] = {}
        self._originals: dict[int, Tensor] = {}
        self._grad = is_grad_enabled()
        self._autocasts: dict[int, Node] = {}

    # Inputs

    def argument(self, number: int, tensor: Tensor, source: str) -> Any:
        """The fake that the program is given for an argument."""
        self._arguments.setdefault(id(tensor), (number, source, tensor))
        return self._fake_of(tensor)

    def original(self, fake: Any) -> Tensor | None:
        """The tensor that a fake stands for, where it stands for one from outside."""
        return self._originals.get(id(fake))

    def _fake_of(self, tensor: Tensor) -> Any:
        fake = self._fakes.get(id(tensor))
        if fake is None:
            fake = self._fakes[id(tensor)] = self._fake_mode.from_tensor(tensor)
            if tensor.is_leaf and tensor.grad is not None:
                fake.grad = self._fake_mode.from_tensor(tensor.grad)
            self._kept += [tensor, fake]
            self._originals[id(fake)] = tensor
        return fake

    def _outside(self, tensor: Tensor) -> tuple[int | None, str]:
        """The argument's number and the source of a tensor from outside."""
        if id(tensor) in self._arguments:
            number, source, _ = self._arguments[id(tensor)]
            return number, source
        if id(tensor) not in self._state.tensors:
            raise GraphBreak(f"a tensor of shape {tuple(tensor.shape)} comes from where it is not seen")
        return None, self._state.tensors[id(tensor)][0]

    def _input(self, tensor: Tensor) -> Node:
        number, source = self._outside(tensor)
        if type(tensor) not in (Tensor, Parameter, Buffer):
            raise GraphBreak(f"{source} is a {type(tensor).__name__}, a subclass of Tensor")
        target = self._fresh(re.sub(r"_+", "_", re.sub(r"\W", "_", source)))
        with self._inserting_inputs():
            node = self.graph.placeholder(target)
        self._last_input = node
        if number is None:
            self._state.needs_layout_of(tensor, source)
        self.inputs.append(GraphInput(number, tensor))
        self._bind(self._fake_of(tensor), node)
        return node

    def _fresh(self, target: str) -> str:
        """A name for an input that no other one has."""
        taken = {node.target for node in self.graph.nodes if node.op == "placeholder"}
        return next(
            name for name in (target, *(f"{target}_{i}" for i in range(1, len(taken) + 2))) if name not in taken
        )

    def _inserting_inputs(self) -> Any:
        if self._last_input is not None:
            return self.graph.inserting_after(self._last_input)
        first = next(iter(self.graph.nodes), None)
        return self.graph.inserting_before(first)

    # Nodes

    def _bind(self, value: Any, node: Node) -> None:
        self._nodes[id(value)] = node
        self._kept.append(value)
        node.meta.setdefault("example_value", value)

    def node_of(self, value: Any) -> Node:
        """The node of a tensor of the program.

        Raises
        ------
        GraphBreak
            When it comes from where calls are not seen.
        """
        fake = self._fakes.get(id(value), value)
        node = self._nodes.get(id(fake))
        if node is not None:
            return node
        original = self._originals.get(id(fake)) if self._is_fake(fake) else value
        if original is None:
            raise GraphBreak(f"a tensor of shape {tuple(value.shape)} was made where calls are not seen")
        return self._input(original)

    def _is_fake(self, value: Any) -> bool:
        return getattr(value, "fake_mode", None) is self._fake_mode

    def add_node(self, target: Callable[..., Any], args: tuple[Any, ...]) -> Node:
        """A step that is no operator of the program's tensors."""
        return self.graph.call_function(target, args)

    def _sync_grad_mode(self) -> None:
        now = is_grad_enabled()
        if now != self._grad:
            self._grad = now
            self.add_node(_set_grad_enabled, (now,))

    def finish(self, outputs: list[Any]) -> None:
        """End the graph with its outputs, tensors of the program."""
        self._sync_grad_mode()
        self.graph.output(tuple(self.node_of(output) for output in outputs))

    # Autocast

    def enter_autocast(self, frame: FrameType) -> None:
        """Note that the program enters `autocast`; the frame is that of its ``__enter__``."""
        from ..amp.autocast_mode import _enter_autocast  # late: it loads all of autocast

        mode = frame.f_locals["self"]
        args = (mode.device, mode.fast_dtype, mode._enabled, mode._cache_enabled)
        self._autocasts[id(mode)] = self.add_node(_enter_autocast, args)
        self._kept.append(mode)

    def exit_autocast(self, frame: FrameType) -> None:
        """Note that it leaves it."""
        from ..amp.autocast_mode import _exit_autocast  # late: it loads all of autocast

        entered = self._autocasts.get(id(frame.f_locals["self"]))
        if entered is None:
            raise GraphBreak("leaves an autocast that was entered before")
        self.add_node(_exit_autocast, (entered,))

    # Calls

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            with self._paused():
                return self._call(func, tuple(args), kwargs or {})
        except GraphBreak as stop:
            self.reason = self.reason or str(stop)
            raise

    def _call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._refuse(func)
        result = func(*self._faked(args), **self._faked(kwargs))
        tensors = list(_tensors_in(result))
        if result is not None and not tensors:
            return self._constant(func, result)
        fresh = {id(t) for t in tensors if not self._is_known(t)}
        if tensors and not fresh and _is_question(func):
            return result
        node = self._recorded(func, args, kwargs)
        self._bind_result(result, node, fresh)
        return result

    def _is_known(self, tensor: Tensor) -> bool:
        return id(tensor) in self._nodes or id(tensor) in self._originals

    def _refuse(self, func: Any) -> None:
        name = _name_of(func)
        if name in _READERS and _is_member(func):
            raise GraphBreak(f"reads elements, or what is no part of a graph, by Tensor.{name}")
        if name in _READERS and name in ("is_nonzero", "equal", "allclose"):
            raise GraphBreak(f"reads elements by torch.{name}")
        if _is_accessor(func) and _property_name(func) in _READ_PROPERTIES:
            raise GraphBreak(f"reads Tensor.{_property_name(func)}")

    def _faked(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return value if self._is_fake(value) else self._seen(value)
        if isinstance(value, tuple):
            items = [self._faked(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        if isinstance(value, list):
            return [self._faked(item) for item in value]
        if isinstance(value, dict):
            return {key: self._faked(item) for key, item in value.items()}
        if isinstance(value, slice):
            return slice(self._faked(value.start), self._faked(value.stop), self._faked(value.step))
        return value

    def _seen(self, tensor: Tensor) -> Any:
        self._outside(tensor)
        return self._fake_of(tensor)

    def _constant(self, func: Any, result: Any) -> Any:
        """The answer of a question, which the graph takes for granted."""
        for part in _parts(result):
            if not isinstance(part, CONSTANTS):
                raise GraphBreak(f"{_name_of(func)} gives a {type(part).__name__}")
        return result

    def _recorded(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Node:
        self._sync_grad_mode()
        kind, target, args, kwargs = _step(func, args, kwargs)
        try:
            node = self._tracer.create_node(kind, target, self._argument(args), self._argument(kwargs))
        except NotImplementedError as error:
            raise GraphBreak(f"{_name_of(func)} has an {error}") from error
        node.stack_trace = program_stack()
        self.operators += 1
        return node

    def _argument(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self.node_of(value)
        if isinstance(value, tuple) and not hasattr(value, "_fields"):
            return tuple(self._argument(item) for item in value)
        if isinstance(value, list):
            return [self._argument(item) for item in value]
        if isinstance(value, dict):
            return {key: self._argument(item) for key, item in value.items()}
        if isinstance(value, slice):
            return slice(self._argument(value.start), self._argument(value.stop), self._argument(value.step))
        return self._tracer.create_arg(value)

    def _bind_result(self, result: Any, node: Node, fresh: set[int]) -> None:
        if isinstance(result, Tensor):
            if id(result) in fresh:
                self._bind(result, node)
            return
        for index, item in enumerate(result or ()):
            if isinstance(item, (Tensor, list, tuple)) and any(id(t) in fresh for t in _tensors_in(item)):
                self._bind_result(item, self.add_node(operator.getitem, (node, index)), fresh)


def _tensors_in(value: Any) -> Iterator[Tensor]:
    for part in _parts(value):
        if isinstance(part, Tensor):
            yield part


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, (tuple, list)) and not isinstance(value, mt_core.Size):
        for item in value:
            yield from _parts(item)
    else:
        yield value


# What a function is


def _name_of(func: Any) -> str:
    return getattr(func, "__name__", str(func))


def _is_accessor(func: Any) -> bool:
    """Whether a function is ``__get__`` or ``__set__`` of a property."""
    return _name_of(func) in ("__get__", "__set__", "__delete__")


def _property_name(func: Any) -> str:
    owner = func.__self__
    return owner.__name__ if hasattr(owner, "__name__") else owner.fget.__name__


def _is_question(func: Any) -> bool:
    """Whether a call that gives nothing new need not be repeated: a property that holds a known tensor."""
    return _is_accessor(func) and _name_of(func) == "__get__"


def _is_member(func: Any) -> bool:
    from ..overrides import is_tensor_method_or_property  # late: it lists all functions

    return is_tensor_method_or_property(func)


def _step(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, Any, tuple[Any, ...], dict[str, Any]]:
    """Kind, target and arguments of the node for a call."""
    name = _name_of(func)
    if name == "__get__":
        return "call_function", getattr, (args[0], _property_name(func)), {}
    if name == "__set__":
        return "call_function", setattr, (args[0], _property_name(func), args[1]), {}
    if not _is_member(func):
        return "call_function", func, args, kwargs
    if name in _ITEMS:
        return "call_function", _ITEMS[name], args, kwargs
    if name in _REFLECTED and len(args) == 2:
        return "call_function", _REFLECTED[name], (args[1], args[0]), {}
    if name in _INFIX and not kwargs and len(args) == (1 if name in ("neg", "bitwise_not") else 2):
        return "call_function", _INFIX[name], args, {}
    return "call_method", name, args, kwargs
