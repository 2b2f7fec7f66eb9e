"""Exporting: a module runs once on fake tensors, and the operators that it calls are its graph."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from operator import getitem
from typing import Any

from mt_core import Tensor, pytree
from mt_core.dispatch.registry import Overload
from mt_library.defaults import defaults_left_out
from mt_library.ops import number_form_of, operator_of
from mt_nn import Module
from mt_nn.func import functional_call

from .._capturing import exporting, program_stack
from .._dynamo.exc import UserError
from .._subclasses.fake_tensor import FakeTensorMode, is_fake
from ..fx.graph import Graph
from ..fx.node import Node
from ._recording import Recording
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)

__all__ = ["Traced", "argument_names", "trace"]

_CONSTANTS = (int, float, bool, str, type(None))


class Traced:
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
    guards
        Of each argument's leaf: its node's name, the text that reads it, and the leaf.
    """

    signature: ExportGraphSignature
    out_spec: pytree.TreeSpec

    def __init__(self, in_spec: pytree.TreeSpec) -> None:
        self.in_spec = in_spec
        self.graph = Graph()
        self.inputs: list[InputSpec] = []
        self.constants: dict[str, Tensor] = {}
        self.guards: list[tuple[str, str, Any]] = []
        self._nodes: dict[int, Node] = {}
        self._kept: list[Any] = []
        self._last_held: Node | None = None

    # Inputs

    def add_held(self, prefix: str, kind: InputKind, target: str, tensor: Any, persistent: bool | None = None) -> None:
        """An input for a tensor that the module holds."""
        node = self._placeholder(f"{prefix}_{target.replace('.', '_')}")
        self.inputs.append(InputSpec(kind, TensorArgument(node.name), target, persistent))
        self._last_held = node
        self._bind(tensor, node)

    def add_argument(self, name: str, source: str, leaf: Any) -> None:
        """An input for a leaf of the arguments."""
        node = self._placeholder(name)
        argument = TensorArgument(node.name) if isinstance(leaf, Tensor) else ConstantArgument(node.name, leaf)
        self.inputs.append(InputSpec(InputKind.USER_INPUT, argument, None))
        self.guards.append((node.name, source, leaf))
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

    def _lifted(self, tensor: Tensor) -> Node:
        """An input for a tensor that the program writes out."""
        name = f"lifted_tensor_{sum(known.startswith('lifted_tensor_') for known in self.constants)}"
        first = next(iter(self.graph.nodes))
        at = self.graph.inserting_before(first) if self._last_held is None else self._after(self._last_held)
        with at:
            node = self._placeholder(f"c_{name}")
        place = sum(spec.kind is not InputKind.USER_INPUT for spec in self.inputs)
        self.inputs.insert(place, InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(node.name), name))
        self.constants[name] = tensor
        self._last_held = node
        self._bind(tensor, node)
        return node

    def _after(self, node: Node) -> Any:
        return self.graph.inserting_after(node)

    def _bind(self, tensor: Any, node: Node) -> None:
        self._nodes[id(tensor)] = node
        self._kept.append(tensor)
        node.meta["val"] = tensor

    # Steps

    def note(self, overload: Overload, args: tuple[Any, ...], result: Any) -> None:
        """Add the step of an operator."""
        results = [t for t in pytree.tree_leaves(result) if isinstance(t, Tensor)]
        if not results and not overload.schema.is_mutable:
            return
        positional, named = defaults_left_out(overload.schema)(args)
        target = _as_called(overload, args)
        name = self.graph._target_to_str(target.overloadpacket.__name__)
        node = self.graph.create_node(
            "call_function", target, self._arguments(positional), self._argument(named), name=name
        )
        node.stack_trace = program_stack()
        if isinstance(result, Tensor):
            self._bind(result, node)
        else:
            node.meta["val"] = result
            for index, item in enumerate(result or ()):
                if isinstance(item, Tensor):
                    self._bind(item, self.graph.call_function(getitem, (node, index)))

    def _arguments(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(self._argument(value) for value in values)

    def _argument(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self._node_of(value)
        if isinstance(value, (list, tuple)):
            return [self._argument(item) for item in value]
        if isinstance(value, dict):
            return {name: self._argument(item) for name, item in value.items()}
        return value

    def _node_of(self, tensor: Tensor) -> Node:
        node = self._nodes.get(id(tensor))
        if node is not None:
            return node
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
        leaves, self.out_spec = pytree.tree_flatten(result)
        specs = [OutputSpec(OutputKind.USER_OUTPUT, self._output(leaf), None) for leaf in leaves]
        values = tuple(self._node_of(leaf) if isinstance(leaf, Tensor) else leaf for leaf in leaves)
        self.graph.output(values)
        self.signature = ExportGraphSignature(self.inputs, specs)

    def _output(self, leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            return TensorArgument(self._node_of(leaf).name)
        if not isinstance(leaf, _CONSTANTS):
            raise RuntimeError(
                f"Found {type(leaf)} in output, which is not a known type. If this type holds tensors, you need to "
                "register a pytree for it."
            )
        return ConstantArgument("", leaf)


#: Operators to which a number in a tensor's place is one of their operands; others have a form of their own for it.
_ARITHMETIC = frozenset("add sub mul div add_ sub_ mul_ div_".split())


def _as_called(overload: Overload, args: tuple[Any, ...]) -> Any:
    """The operator, in its form for a number where it was given one."""
    target = operator_of(overload)
    is_number = len(args) > 1 and isinstance(args[1], (int, float, complex))
    if is_number and overload.packet_name not in _ARITHMETIC and number_form_of(overload) is not None:
        return target.overloadpacket.Scalar
    return target


def _named_arguments(mod: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Of each leaf of the arguments: a name, the text that reads it, and the leaf."""
    bound = inspect.signature(mod.forward).bind(*args, **kwargs)
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            for key, item in value.items():
                yield from _leaves(item, key, key)
        elif kind is inspect.Parameter.VAR_POSITIONAL:
            for index, item in enumerate(value):
                yield from _leaves(item, f"{name}_{index}", f"{name}_{index}")
        else:
            yield from _leaves(value, name, name)


def argument_names(mod: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """A name for each argument: those by position, then those that are named."""
    bound = inspect.signature(mod.forward).bind_partial(*args)
    names: list[str] = []
    for name, value in bound.arguments.items():
        variadic = bound.signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
        names += [f"{name}_{index}" for index in range(len(value))] if variadic else [name]
    return [*names, *kwargs]


def _leaves(value: Any, name: str, source: str) -> Iterator[tuple[str, str, Any]]:
    for path, leaf in pytree.tree_flatten_with_path(value)[0]:
        words = [str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", "")))) for key in path]
        yield "_".join([name, *words]), source + pytree.keystr(path), leaf


@contextlib.contextmanager
def _attributes_replaced(places: list[tuple[Module, str, Any]]) -> Iterator[None]:
    before = [(module, name, module.__dict__[name]) for module, name, _ in places]
    for module, name, value in places:
        module.__dict__[name] = value
    try:
        yield
    finally:
        for module, name, value in before:
            module.__dict__[name] = value


def _plain_tensors(mod: Module) -> Iterator[tuple[str, Module, str, Tensor]]:
    """Tensors that modules hold as attributes that are neither parameters nor buffers."""
    for prefix, module in mod.named_modules():
        for name, value in module.__dict__.items():
            if isinstance(value, Tensor):
                yield f"{prefix}.{name}".lstrip("."), module, name, value


def trace(mod: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
    """The graph of a call of a module.

    Raises
    ------
    torch._subclasses.fake_tensor.DataDependentOutputException
        Where the program reads elements.
    """
    mode = FakeTensorMode(allow_non_fake_inputs=True, export=True)
    traced = Traced(pytree.tree_structure((args, kwargs)))
    held: dict[str, Any] = {}
    persistent = set(mod.state_dict(keep_vars=True))
    for name, parameter in mod.named_parameters(remove_duplicate=False):
        held[name] = mode.from_tensor(parameter)
        traced.add_held("p", InputKind.PARAMETER, name, held[name])
    for name, buffer in mod.named_buffers(remove_duplicate=False):
        held[name] = mode.from_tensor(buffer)
        traced.add_held("b", InputKind.BUFFER, name, held[name], name in persistent)
    places = []
    for name, module, attribute, tensor in _plain_tensors(mod):
        places.append((module, attribute, mode.from_tensor(tensor)))
        traced.constants[name] = tensor
        traced.add_held("c", InputKind.CONSTANT_TENSOR, name, places[-1][2])
    fake_args, fake_kwargs = pytree.tree_map_only(Tensor, mode.from_tensor, (args, kwargs))
    for name, source, leaf in _named_arguments(mod, fake_args, fake_kwargs):
        traced.add_argument(name, source, leaf)
    with mode, exporting(), _attributes_replaced(places), Recording(traced):
        result = functional_call(mod, held, fake_args, fake_kwargs)
    traced.finish(result)
    return traced
