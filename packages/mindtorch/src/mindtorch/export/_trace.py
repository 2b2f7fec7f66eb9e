"""Exporting: a module runs once on fake tensors, and the operators that it calls are its graph."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
from collections.abc import Iterator
from operator import getitem
from threading import get_ident
from typing import Any

from mt_autograd.function import watchers
from mt_core import Tensor, pytree
from mt_core.autograd_state import is_grad_enabled
from mt_core.dispatch.registry import Overload
from mt_core.keys import TRACING
from mt_core.state import excluding, tls
from mt_core.symbolic import SYMBOLIC, SymBool, SymFloat, SymInt, is_symbolic, plain
from mt_core.torch_names import torch_name
from mt_library.defaults import defaults_left_out
from mt_library.ops import form_for_numbers, operator_of, ops
from mt_nn import Module

from .._C import _set_grad_enabled
from .._capturing import exporting, program_stack
from .._dynamo.exc import UserError
from .._dynamo.guards import ProgramState
from .._higher_order_ops._branches import Branching, bound_arguments
from .._higher_order_ops.cond import cond_op
from .._higher_order_ops.map import map_impl
from .._higher_order_ops.scan import scan_op
from .._higher_order_ops.while_loop import while_loop_op
from .._subclasses.fake_tensor import FakeTensorMode, is_fake
from ..fx.graph import Graph
from ..fx.node import Node
from ._recording import Recording
from .dynamic_shapes import leaves_with_dims, names_dynamic_sizes
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)

__all__ = ["Traced", "argument_names", "trace"]

_CONSTANTS = (int, float, bool, str, type(None))
_COMPUTED: dict[type, Any] = {SymInt: SymIntArgument, SymFloat: SymFloatArgument, SymBool: SymBoolArgument}


class Traced(Branching):
    """The graph of a module, and what its inputs and outputs are.

    Attributes
    ----------
    graph
        Its inputs are the parameters, the buffers, other tensors, and the leaves of the arguments.
    signature
        What they are.
    constants
        Name -> tensor that is neither parameter nor argument: those that the module holds and the program writes out.
    in_spec, out_spec
        The structure of the arguments and of the result.
    symbols
        The sizes that vary, or None.
    """

    signature: ExportGraphSignature
    out_spec: pytree.TreeSpec

    def __init__(self, in_spec: pytree.TreeSpec, symbols: Any = None) -> None:
        self.in_spec = in_spec
        self.symbols = symbols
        self.graph = Graph()
        self._root = Module()
        self._around, self._free = [], {}
        self.inputs: list[InputSpec] = []
        self.constants: dict[str, Tensor] = {}
        self._nodes: dict[int, Node] = {}
        #: Of each fake tensor that stands for an attribute's: the attribute, and its tensor.
        self._attributes: dict[int, tuple[str, Tensor]] = {}
        self._kept: list[Any] = []
        self._last_held: Node | None = None
        self._grad = is_grad_enabled()
        #: The modules that the program is in: what tells the call from others -> name and class.
        self.module_stack: dict[str, tuple[str, str]] = {}
        if symbols is not None:
            symbols.watch(self.graph, self.module_stack)

    # Inputs

    def add_held(self, prefix: str, kind: InputKind, target: str, tensor: Any, persistent: bool | None = None) -> None:
        """An input for a tensor that the module holds."""
        node = self._placeholder(f"{prefix}_{target.removeprefix('self_').replace('.', '_')}")
        self.inputs.append(InputSpec(kind, TensorArgument(node.name), target, persistent))
        self._last_held = node
        self._bind(tensor, node)

    def add_argument(self, name: str, leaf: Any) -> None:
        """An input for a leaf of the arguments."""
        node = self._placeholder(name)
        argument = TensorArgument(node.name) if isinstance(leaf, Tensor) else ConstantArgument(node.name, leaf)
        self.inputs.append(InputSpec(InputKind.USER_INPUT, argument, None))
        if isinstance(leaf, Tensor):
            self._bind(leaf, node)
        else:
            node.meta["val"] = leaf

    def _placeholder(self, name: str) -> Node:
        """An input of exactly this name, be it a function of Python's too."""
        taken = {node.name for node in self.graph.nodes}
        node = self.graph.placeholder(name)
        if node.name != name and name not in taken:
            node.name = node.target = name
        return node

    def may_use(self, target: str, fake: Any, tensor: Tensor) -> None:
        """An input for a tensor that the module holds as an attribute, at its first use."""
        self._attributes.setdefault(id(fake), (target, tensor))
        self._kept.append(fake)

    def _lifted(self, tensor: Tensor, name: str = "", held: Tensor | None = None) -> Node:
        """An input for a tensor that the program writes out, or for one that an attribute of the module holds."""
        name = name or f"lifted_tensor_{sum(known.startswith('lifted_tensor_') for known in self.constants)}"
        first = next(iter(self.graph.nodes))
        last = self._last_held
        with self.graph.inserting_before(first) if last is None else self.graph.inserting_after(last):
            node = self._placeholder(f"c_{name.removeprefix('self_').replace('.', '_')}")
        place = sum(spec.kind is not InputKind.USER_INPUT for spec in self.inputs)
        self.inputs.insert(place, InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(node.name), name))
        self.constants[name] = tensor if held is None else held
        self._last_held = node
        self._bind(tensor, node)
        return node

    def _bind(self, tensor: Any, node: Node) -> None:
        self._nodes[id(tensor)] = node
        self._kept.append(tensor)
        node.meta["val"] = tensor
        if self.symbols is not None and not self.is_in_branch:
            self.symbols.note_layout(tensor, node)

    # Functions of control flow

    module_names = {
        cond_op: ("true_graph", "false_graph"), while_loop_op: ("while_loop_cond_graph", "while_loop_body_graph"),
        scan_op: ("scan_combine_graph",), map_impl: ("body_graph",),
    }  # fmt: skip

    @property
    def root(self) -> Module:
        """Holds the modules of functions of control flow."""
        return self._root  # type: ignore[no-any-return]

    def note_control_flow(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Add the step of an operator on functions, and give what it gives."""
        self._follow_grad_mode()
        with excluding(TRACING):
            return self.control_flow(operator, bound_arguments(operator, args, kwargs))

    def _node_of_tensor(self, tensor: Tensor) -> Node:
        return self._node_of(tensor)

    def _bind_tensor(self, tensor: Tensor, node: Node) -> None:
        node.meta.setdefault("nn_module_stack", dict(self.module_stack))
        self._bind(tensor, node)

    def _refuse_function(self, reason: str) -> Exception:
        return UserError(reason)

    @contextlib.contextmanager
    def _resumed(self) -> Iterator[None]:
        grad, left_out = self._grad, tls.exclude & TRACING
        tls.exclude &= ~TRACING
        tls.refresh()
        try:
            yield
            self._follow_grad_mode()
        finally:
            self._grad = grad
            tls.exclude |= left_out
            tls.refresh()

    # Steps

    def note(self, overload: Overload, args: tuple[Any, ...], result: Any) -> None:
        """Add the step of an operator."""
        results = [t for t in pytree.tree_leaves(result) if isinstance(t, Tensor)]
        if not results and not overload.schema.is_mutable:
            return
        self._follow_grad_mode()
        if self.symbols is not None and overload.packet_name.startswith("squeeze"):
            self.symbols.note_removal(args[0])
        positional, named = defaults_left_out(overload.schema)(args)
        target = _as_called(overload, args)
        name = self.graph._target_to_str(target.overloadpacket.__name__)
        node = self.graph.create_node(
            "call_function", target, self._arguments(positional), self._argument(named), name=name
        )
        node.stack_trace = program_stack().strip()
        node.meta["nn_module_stack"] = dict(self.module_stack)
        if isinstance(result, Tensor):
            self._bind(result, node)
        else:
            node.meta["val"] = result
            for index, item in enumerate(result or ()):
                if isinstance(item, Tensor):
                    taken = self.graph.call_function(getitem, (node, index))
                    taken.meta["nn_module_stack"] = node.meta["nn_module_stack"]
                    self._bind(item, taken)

    def _follow_grad_mode(self) -> None:
        """A step that switches gradients, where the program has switched them since the last one."""
        now = is_grad_enabled()
        if now != self._grad:
            self._grad = now
            self.graph.call_function(_set_grad_enabled, (now,))

    def assign(self, held: Tensor, value: Tensor) -> None:
        """Add the step that writes what the program has put in the place of a buffer."""
        self.graph.call_function(ops.aten.copy_.default, (self._node_of(held), self._node_of(value)))

    def _arguments(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(self._argument(value) for value in values)

    def _argument(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self._node_of(value)
        if isinstance(value, (list, tuple)):
            return [self._argument(item) for item in value]
        if isinstance(value, dict):
            return {name: self._argument(item) for name, item in value.items()}
        if is_symbolic(value) and self.is_in_branch:
            raise UserError(f"a function of control flow uses {value}, a size that varies")
        return self.symbols.node_of(value) if is_symbolic(value) else value

    def _node_of(self, tensor: Tensor) -> Node:
        node = self._nodes.get(id(tensor))
        if node is not None:
            return node
        if self.is_in_branch:
            return self._from_outside(tensor)
        if id(tensor) in self._attributes:
            target, held = self._attributes[id(tensor)]
            return self._lifted(tensor, target, held)
        if is_fake(tensor):
            raise UserError(f"a tensor of shape {tuple(tensor.shape)} was made by no operator that the graph has")
        return self._lifted(tensor)

    # Outputs

    def finish(self, result: Any) -> None:
        """End the graph with what the program returns.

        Raises
        ------
        RuntimeError
            For a leaf that is neither a tensor nor a plain value, in PyTorch's words.
        """
        self._follow_grad_mode()
        leaves, self.out_spec = pytree.tree_flatten(result)
        leaves = [plain(leaf) for leaf in leaves]
        for leaf in leaves:
            self._check_output(leaf)
        values = tuple(self._argument(leaf) if isinstance(leaf, (Tensor, *SYMBOLIC)) else leaf for leaf in leaves)
        output = self.graph.output(values)
        if self.symbols is not None:
            self.symbols.check()
            self.symbols.tidy(self.graph)
        specs = [
            OutputSpec(OutputKind.USER_OUTPUT, self._output(leaf, value), None)
            for leaf, value in zip(leaves, output.args[0], strict=True)
        ]
        self.signature = ExportGraphSignature(self.inputs, specs)

    def _check_output(self, leaf: Any) -> None:
        if not isinstance(leaf, (Tensor, *SYMBOLIC, *_CONSTANTS)):
            raise RuntimeError(
                f"Found {type(leaf)} in output, which is not a known type. If this type holds tensors, you need to "
                "register a pytree for it."
            )

    def _output(self, leaf: Any, value: Any) -> Any:
        if isinstance(leaf, Tensor):
            return TensorArgument(value.name)
        for kind, argument in _COMPUTED.items():
            if isinstance(leaf, kind):
                return argument(value.name)
        return ConstantArgument("", leaf)


def _as_called(overload: Overload, args: tuple[Any, ...]) -> Any:
    """The operator, in its form for a number where it was given one.

    What the program writes out is made anew at each call of it: the graph has a copy where the program lifts a tensor.
    """
    if overload.name == "lift_fresh":
        return ops.aten.lift_fresh_copy.default
    is_number = len(args) > 1 and isinstance(args[1], (int, float, complex, *SYMBOLIC))
    return (form_for_numbers(overload) if is_number else None) or operator_of(overload)


def _named_arguments(mod: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Of each leaf of the arguments, in the order in which they are given: a name, and the leaf."""
    inspect.signature(mod.forward).bind(*args, **kwargs)
    for name, value in zip(argument_names(mod, args, kwargs), [*args, *kwargs.values()], strict=True):
        yield from _leaves(value, name)


def argument_names(mod: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """A name for each argument: those by position, then those that are named."""
    bound = inspect.signature(mod.forward).bind_partial(*args)
    names: list[str] = []
    for name, value in bound.arguments.items():
        variadic = bound.signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
        names += [f"{name}_{index}" for index in range(len(value))] if variadic else [name]
    return [*names, *kwargs]


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    for path, leaf in pytree.tree_flatten_with_path(value)[0]:
        words = [str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", "")))) for key in path]
        yield "_".join([name, *words]), leaf


@dataclasses.dataclass
class _Held:
    """A tensor that a module holds, and the fake one that stands in its place while the module runs."""

    kind: InputKind
    target: str
    places: dict[str, Any]
    name: str
    tensor: Tensor
    fake: Any


_PREFIXES = {InputKind.PARAMETER: "p", InputKind.BUFFER: "b"}


def _held_by(mod: Module, mode: FakeTensorMode) -> Iterator[_Held]:
    """The parameters, then the buffers, then tensors that are plain attributes; shared ones in each of their places."""
    for kind, attribute in ((InputKind.PARAMETER, "_parameters"), (InputKind.BUFFER, "_buffers"), (None, "__dict__")):
        for prefix, module in mod.named_modules(remove_duplicate=False):
            places = getattr(module, attribute)
            for name, value in places.items():
                if isinstance(value, Tensor):
                    target = f"{prefix}.{name}".lstrip(".")
                    fake = mode.from_tensor(value, static_shapes=True)
                    yield _Held(kind or InputKind.CONSTANT_TENSOR, target, places, name, value, fake)


def trace(mod: Module, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any = None) -> Traced:
    """The graph of a call of a module, which is afterwards as it was.

    Parameters
    ----------
    dynamic_shapes
        Which sizes may vary.

    Raises
    ------
    torch._subclasses.fake_tensor.DataDependentOutputException
        Where the program reads elements.
    """
    symbols = _symbols_of(mod, args, kwargs, dynamic_shapes)
    env = None if symbols is None else symbols.env
    mode = FakeTensorMode(allow_non_fake_inputs=True, export=True, shape_env=env)
    traced = Traced(pytree.tree_structure((args, kwargs)), symbols)
    persistent = set(mod.state_dict(keep_vars=True))
    held = list(_held_by(mod, mode))
    for one in held:
        if one.kind is InputKind.CONSTANT_TENSOR:
            traced.may_use(one.target, one.fake, one.tensor)
            continue
        is_persistent = one.target in persistent if one.kind is InputKind.BUFFER else None
        traced.add_held(_PREFIXES[one.kind], one.kind, one.target, one.fake, is_persistent)
    fake_args, fake_kwargs = _fakes_of(mod, args, kwargs, mode, symbols)
    for name, leaf in _named_arguments(mod, fake_args, fake_kwargs):
        traced.add_argument(name, leaf)
    before = ProgramState(compares=False)
    before.note(mod, "self")
    try:
        for one in held:
            one.places[one.name] = one.fake
        with mode, exporting(), _functions_watched(), _calls_told(mod, traced), Recording(traced):
            result = mod(*fake_args, **fake_kwargs)
        _write_assigned(held, traced)
    finally:
        before.restore()
    traced.finish(result)
    return traced


def _arguments_by_name(mod: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    return dict(inspect.signature(mod.forward).bind(*args, **kwargs).arguments)


def _symbols_of(mod: Module, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any) -> Any:
    """The sizes that vary; None where nothing is said of any."""
    if dynamic_shapes is None:
        return None
    leaves = leaves_with_dims(_arguments_by_name(mod, args, kwargs), dynamic_shapes)
    if not names_dynamic_sizes(leaves):
        return None
    from ._symbols import Symbols  # late: with sympy, which is not needed for the rest

    return Symbols(leaves)


def _fakes_of(
    mod: Module, args: tuple[Any, ...], kwargs: dict[str, Any], mode: FakeTensorMode, symbols: Any
) -> tuple[Any, Any]:
    """The arguments with fake tensors in place of tensors."""
    if symbols is None:
        return pytree.tree_map_only(Tensor, mode.from_tensor, (args, kwargs))  # type: ignore[no-any-return]
    made = symbols.fakes(mode)
    bound = inspect.signature(mod.forward).bind(*args, **kwargs)
    for name, value in bound.arguments.items():
        bound.arguments[name] = pytree.tree_unflatten(made[name], pytree.tree_structure(value))
    by_name = {**bound.arguments, **bound.kwargs}
    return bound.args[: len(args)], {name: by_name[name] for name in kwargs}


@contextlib.contextmanager
def _calls_told(mod: Module, traced: Traced) -> Iterator[None]:
    """Context manager: the calls of the modules in `mod` are told to the graph by hooks."""
    counts: dict[str, int] = {}

    def enter(path: str, kind: str) -> Any:
        def hook(module: Module, args: Any) -> None:
            count = counts[path] = counts.get(path, -1) + 1
            key = f"L__self__{path}" + (f"@{count}" if count else "")
            traced.module_stack[key] = (path, kind)

        return hook

    def leave(module: Module, args: Any, result: Any) -> None:
        traced.module_stack.popitem()

    handles = []
    for path, module in mod.named_modules():
        own = type(module).__module__, type(module).__qualname__
        kind = ".".join(torch_name(*own) or own)
        handles += [module.register_forward_pre_hook(enter(path, kind), prepend=True)]
        handles += [module.register_forward_hook(leave)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextlib.contextmanager
def _functions_watched() -> Iterator[None]:
    """Context manager: an `autograd.Function` is refused where its backward counts, which the graph cannot hold."""

    def apply(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if is_grad_enabled():
            raise UserError(
                f"the backward of the autograd.Function {cls.__name__} would be lost: export under torch.no_grad()"
            )
        with _watched_by(before):
            return cls.apply(*args, **kwargs)

    before = watchers.get(get_ident())
    with _watched_by(apply):
        yield


@contextlib.contextmanager
def _watched_by(watcher: Any) -> Iterator[None]:
    before = watchers.pop(get_ident(), None)
    if watcher is not None:
        watchers[get_ident()] = watcher
    try:
        yield
    finally:
        watchers.pop(get_ident(), None)
        if before is not None:
            watchers[get_ident()] = before


def _write_assigned(held: list[_Held], traced: Traced) -> None:
    """Buffers that the program has put other tensors in the place of are written to, once for each of them."""
    written = set()
    for one in held:
        now = one.places.get(one.name)
        if one.kind is InputKind.BUFFER and now is not one.fake and id(one.fake) not in written:
            if not isinstance(now, Tensor):
                raise UserError(f"the buffer {one.target} is taken away or replaced by a {type(now).__name__}")
            written.add(id(one.fake))
            traced.assign(one.fake, now)
