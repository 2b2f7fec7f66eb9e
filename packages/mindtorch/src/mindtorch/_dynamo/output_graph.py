"""The graph of a program that runs on fake tensors: each function of ``torch`` that it calls becomes a node."""

from __future__ import annotations

import contextlib
import operator
import re
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import mt_core
from mt_core import Tensor, formats
from mt_core.autograd_state import is_grad_enabled
from mt_core.overrides import TorchFunctionMode
from mt_core.symbolic import SYMBOLIC
from mt_library.higher_order import HigherOrderOperator
from mt_nn import Module
from mt_nn.parameter import Buffer, Parameter

from .._C import _set_grad_enabled
from .._capturing import branches_here, program_stack
from .._higher_order_ops._branches import Branching, bound_arguments
from .._higher_order_ops.cond import cond_op
from .._higher_order_ops.map import map_impl
from .._higher_order_ops.scan import scan_op
from .._higher_order_ops.while_loop import while_loop_op
from ..fx.experimental._symbolic_slots import SymbolicSlots
from ..fx.graph import Graph
from ..fx.node import Node
from ..fx.proxy import GraphAppendingTracer, Proxy
from .exc import GraphBreak
from .guards import ProgramState
from .sizes import Symbols

__all__ = ["CONSTANTS", "GraphInput", "Recorder"]

#: Members of tensors that read elements, or let go of them.
_READERS = frozenset(
    "item tolist numpy __bool__ __int__ __float__ __index__ __complex__ __array__ __dlpack__ data_ptr storage "
    "untyped_storage _typed_storage __contains__ __repr__ __str__ __format__ __deepcopy__ __reduce_ex__ share_memory_ "
    "is_nonzero equal allclose _is_view register_hook register_post_accumulate_grad_hook retain_grad".split()
)
_TRUTHS = ("__bool__", "is_nonzero")
#: Properties whose answers are no part of a tensor's layout, and that a graph cannot answer again.
_READ_PROPERTIES = frozenset("grad_fn _base _version _grad_fn _backward_hooks names is_shared".split())
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
    """What a graph is given: an argument of the program, by its number, a tensor that it holds, or what is read anew.

    Attributes
    ----------
    example
        What a backend is given in its place; None for that which it is.
    """

    __slots__ = ("argument", "example", "read", "tensor")

    def __init__(
        self, argument: int | None, tensor: Tensor | None, read: Callable[..., Any] | None = None, example: Any = None
    ) -> None:
        self.argument, self.tensor, self.read, self.example = argument, tensor, read, example

    def of(self, tensors: list[Tensor], integers: list[int]) -> Any:
        """What it is for the tensors and integers of a call."""
        if self.read is not None:
            return self.read(tensors, integers)
        return self.tensor if self.argument is None else tensors[self.argument]


class Recorder(Branching, TorchFunctionMode):
    """Function mode: runs what is called on fakes, and notes it in a graph.

    Parameters
    ----------
    fake_mode
        Makes fakes, and is entered while the program runs.
    state
        Knows the tensors that the program holds.
    symbols
        The sizes that vary; None where all are numbers.
    """

    def __init__(self, fake_mode: Any, state: ProgramState, watcher: Any, symbols: Symbols | None = None) -> None:
        self.graph = Graph()
        self._root = Module()
        self._around, self._free = [], {}
        self._tracer = GraphAppendingTracer(self.graph)
        self._inputs: dict[Node, GraphInput] = {}
        self._symbols = symbols
        self._symbol_inputs: dict[Any, Node] = {}
        self._numbers = None if symbols is None else self._watched_numbers(symbols)
        self._is_quiet = False
        self.operators = 0
        #: Why the capture has ended, also where the program has caught the exception that said so.
        self.stop: GraphBreak | None = None
        self._fake_mode, self._state, self._watcher, self._paused = fake_mode, state, watcher, watcher.paused
        self._nodes: dict[int, Node] = {}
        self._kept: list[Any] = []  # what has a node stays, so that no id is given again
        self._last_input: Node | None = None
        self._guarded: set[int] = set()
        #: Argument -> its offset, of those of which the program asked for it.
        self.offsets: dict[int, int] = {}
        self._arguments: dict[int, tuple[int, str, Tensor]] = {}
        self._fakes: dict[int, Any] = {}
        self._originals: dict[int, Tensor] = {}
        self._grad = is_grad_enabled()
        self._autocasts: dict[int, Node] = {}

    # Inputs

    def argument(self, number: int, tensor: Tensor, source: str) -> Any:
        """The fake that the program is given for an argument."""
        self._arguments.setdefault(id(tensor), (number, source, tensor))
        with self._silence():
            fake = self._fake_of(tensor)
            if self._symbols is not None and self._numbers is not None:
                for symbol in self._symbols.symbols_of(fake):
                    self._numbers.enter(self._symbols.env.wrap(symbol), self._reader(symbol))
        return fake

    def integer(self, number: int, value: int, source: str) -> Any:
        """What the program is given for an integer among its arguments."""
        made: Any = value if self._symbols is None else self._symbols.integer(number, value, source)
        if self._numbers is not None and made is not value:
            symbol = made.node._expr
            self._numbers.enter(made, lambda: Proxy(self._symbol_input(symbol, _name_at(source)), self._tracer))
        return made

    def original(self, fake: Any) -> Tensor | None:
        """The tensor that a fake stands for, where it stands for one from outside."""
        return self._originals.get(id(fake))

    def _fake_of(self, tensor: Tensor) -> Any:
        fake = self._fakes.get(id(tensor))
        if fake is None:
            fake = self._fakes[id(tensor)] = self._made(tensor)
            if tensor.is_leaf and tensor.grad is not None:
                fake.grad = self._fake_mode.from_tensor(tensor.grad, static_shapes=True)
            self._kept += [tensor, fake]
            self._originals[id(fake)] = tensor
        return fake

    def _made(self, tensor: Tensor) -> Any:
        if self._symbols is None or id(tensor) not in self._arguments:
            return self._fake_mode.from_tensor(tensor, static_shapes=True)
        number, source, _ = self._arguments[id(tensor)]
        return self._symbols.fake(self._fake_mode, number, tensor, source)

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
        if number is not None and self._symbols is not None:
            for symbol in self._symbols.symbols_of(self._fake_of(tensor)):
                self._symbol_input(symbol)
        rate = self._state.rates.get(id(tensor))
        given = GraphInput(number, tensor, None if rate is None else rate.read)
        node = self._placeholder(_name_at(source), given)
        self._guard_layout(tensor)
        self._bind(self._fake_of(tensor), node)
        return node

    def _placeholder(self, target: str, given: GraphInput) -> Node:
        kind = type(given.example if given.tensor is None else given.tensor)
        with self._inserting_inputs():
            node = self.graph.placeholder(self._fresh(target), type_expr=kind)
        self._last_input = node
        self._inputs[node] = given
        return node

    @property
    def root(self) -> Module:
        """Holds the modules of functions of control flow."""
        return self._root  # type: ignore[no-any-return]

    @property
    def inputs(self) -> list[GraphInput]:
        """What the graph is given, in the order of its placeholders."""
        return [self._inputs[node] for node in self.graph.nodes if node.op == "placeholder"]

    # Numbers

    def _watched_numbers(self, symbols: Symbols) -> SymbolicSlots:
        """Write what the program, and no operator of it, computes of symbols."""
        slots = SymbolicSlots(self._tracer)

        def watcher(function: Any, args: tuple[Any, ...], made: Any) -> None:
            if not self._is_quiet:
                with self._silence():
                    slots.note(function, args, made)

        symbols.env.watcher = watcher
        return slots

    @contextlib.contextmanager
    def _silence(self) -> Iterator[None]:
        """Inside of it, what is computed of symbols is no part of the program, and no call is looked at."""
        before, self._is_quiet = self._is_quiet, True
        try:
            if before:
                yield
            else:
                with self._paused():
                    yield
        finally:
            self._is_quiet = before

    def _reader(self, symbol: Any) -> Callable[[], Proxy]:
        """What makes the input of a symbol, beside those of the other symbols of its tensor."""

        def read() -> Proxy:
            assert self._symbols is not None
            owner = self._symbols.readers[symbol][1]
            tensor = next(tensor for number, _, tensor in self._arguments.values() if number == owner)
            for other in self._symbols.symbols_of(self._fake_of(tensor)):
                self._symbol_input(other)
            return Proxy(self._symbol_inputs[symbol], self._tracer)

        return read

    def _symbol_input(self, symbol: Any, name: str | None = None) -> Node:
        node = self._symbol_inputs.get(symbol)
        if node is None:
            assert self._symbols is not None
            example = self._symbols.env.wrap(symbol)
            given = GraphInput(None, None, self._symbols.read(symbol), example)
            node = self._symbol_inputs[symbol] = self._placeholder(name or str(symbol), given)
            node.meta["example_value"] = example
        return node

    def _number_of(self, value: Any) -> Any:
        """The step that computes a symbolic number; the number itself where it is constant."""
        if self._numbers is None:
            raise GraphBreak(f"uses {value}, a symbolic number from outside")
        if self.is_in_branch:
            raise GraphBreak(f"a function of control flow uses {value}, a size that varies")
        with self._silence():
            found = self._numbers.proxy_of(value)
        return found.node if isinstance(found, Proxy) else found

    def _remove_unused_numbers(self) -> None:
        if self._numbers is None or self._symbols is None:
            return
        with self._silence():
            self._numbers.erase_unused()
        given = {given.argument for given in self._inputs.values()}
        for symbol, node in self._symbol_inputs.items():
            is_free = self._symbols.env.replace(symbol) == symbol
            if not node.users and not (is_free and self._symbols.readers[symbol][1] in given - {None}):
                self.graph.erase_node(node)
        for node in self.graph.nodes:
            if "val" in node.meta:
                node.meta["example_value"] = node.meta.pop("val")

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
        if self.is_in_branch:
            return self._from_outside(fake)
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
        found = tuple(self._number_of(o) if isinstance(o, SYMBOLIC) else self.node_of(o) for o in outputs)
        self.graph.output(found)
        self._remove_unused_numbers()

    # Functions of control flow

    module_names = {
        cond_op: ("cond_true", "cond_false"), while_loop_op: ("cond_fn", "body_fn"), scan_op: ("scan_combine_fn",),
        map_impl: ("map_body",),
    }  # fmt: skip

    def _node_of_tensor(self, tensor: Tensor) -> Node:
        return self.node_of(tensor)

    def _bind_tensor(self, tensor: Tensor, node: Node) -> None:
        self._bind(tensor, node)

    def _refuse_function(self, reason: str) -> Exception:
        return GraphBreak(reason)

    @contextlib.contextmanager
    def _resumed(self) -> Iterator[None]:
        grad, before, tracer = self._grad, self._is_quiet, self._tracer
        self._is_quiet, self._tracer = False, GraphAppendingTracer(self.graph)
        try:
            with self, self._watcher.resumed():
                yield
            self._sync_grad_mode()
        finally:
            self._grad, self._is_quiet, self._tracer = grad, before, tracer

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
            with self._silence():
                return self._call(func, tuple(args), kwargs or {})
        except GraphBreak as stop:
            self.stop = self.stop or stop
            raise

    def _call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._refuse(func)
        if isinstance(func, HigherOrderOperator):
            self.operators += 1
            self._sync_grad_mode()
            return self.control_flow(func, self._faked(bound_arguments(func, args, kwargs)))
        result = func(*self._faked(args), **self._faked(kwargs))
        tensors = list(_tensors_in(result))
        if result is not None and not tensors:
            if _name_of(func) == "storage_offset":
                self._note_offset(args[0])
            return self._constant(func, result)
        fresh = {id(t) for t in tensors if not self._is_known(t)}
        if tensors and not fresh and _is_question(func):
            return result
        node = self._recorded(func, args, kwargs)
        self._bind_result(result, node, fresh)
        return result

    def _note_offset(self, tensor: Tensor) -> None:
        """Offsets of arguments are compared where they count: views of one tensor are often given one after another."""
        original = self._originals.get(id(tensor))
        if original is not None and id(original) in self._arguments:
            self.offsets[self._arguments[id(original)][0]] = original.storage_offset()

    def _is_known(self, tensor: Tensor) -> bool:
        return id(tensor) in self._nodes or id(tensor) in self._originals

    def _refuse(self, func: Any) -> None:
        name = _name_of(func)
        if name in _READERS and _is_member(func):
            is_final = name in ("equal", "allclose", "__contains__") or name in _TRUTHS and branches_here()
            raise GraphBreak(f"reads elements, or what is no part of a graph, by Tensor.{name}", is_final)
        if name in _READERS and name in ("is_nonzero", "equal", "allclose"):
            raise GraphBreak(f"reads elements by torch.{name}", is_final=name != "is_nonzero" or branches_here())
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
        self._guard_layout(tensor)
        return self._fake_of(tensor)

    def _guard_layout(self, tensor: Tensor) -> None:
        """What is asked of a tensor that the program holds is compared at each call, be it an input or not."""
        number, source = self._outside(tensor)
        if number is None and id(tensor) not in self._guarded:
            self._guarded.add(id(tensor))
            self._state.needs_layout_of(tensor, source)

    def _constant(self, func: Any, result: Any) -> Any:
        """The answer of a question, which the graph takes for granted."""
        for part in _parts(result):
            if not isinstance(part, (*CONSTANTS, *SYMBOLIC)):
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
        if isinstance(value, SYMBOLIC):
            return self._number_of(value)
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


def _name_at(source: str) -> str:
    """The name of an input that is read at a place."""
    return re.sub(r"_+", "_", re.sub(r"\W", "_", source))


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
