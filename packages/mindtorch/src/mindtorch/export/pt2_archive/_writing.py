"""Exported programs as the JSON of PyTorch's schema (``torch._export.serde.schema``, version 8)."""

from __future__ import annotations

import math
from operator import getitem
from typing import Any

from mt_core import Tensor, dtypes, formats, pytree
from mt_core.devices import device
from mt_core.schema import Argument
from mt_core.symbolic import SYMBOLIC
from mt_library.higher_order import HigherOrderOperator
from mt_library.ops import OpOverload

from ..._export._size_functions import NAMES
from ...fx.graph import Graph
from ...fx.graph_module import GraphModule
from ...fx.node import Node
from ...version import __version__
from ..exported_program import ExportedProgram, ModuleCallSignature
from ..graph_signature import (
    ConstantArgument,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)
from ._codes import DTYPES, LAYOUTS, MEMORY_FORMATS, OPSET, SCHEMA_VERSION, code_of
from ._numbers import size_to_json, symbol_ranges, symbolic_to_json, values_of
from ._tensors import tensor_meta

__all__ = ["program_to_json"]

Json = dict[str, Any]
#: What graphs compute sizes with -> its name in files.
_FUNCTIONS = {function: name for name, function in NAMES.items()}
_POSITIONAL, _KEYWORD = 1, 2


def program_to_json(program: ExportedProgram) -> Json:
    """What PyTorch's schema says of a program, without its tensors.

    Raises
    ------
    NotImplementedError
        For what the schema, or mindtorch, has no words for.
    """
    return {
        "graph_module": {
            "graph": _GraphWriter(program.graph_module).graph(program.graph),
            "signature": _signature(program),
            "module_call_graph": [
                {"fqn": entry.fqn, "signature": entry.signature and _call_signature(entry.signature)}
                for entry in program.module_call_graph
            ],
            "metadata": {},
            "treespec_namedtuple_fields": {},
        },
        "opset_version": OPSET,
        "range_constraints": symbol_ranges(program.range_constraints),
        "schema_version": dict(zip(("major", "minor"), SCHEMA_VERSION, strict=True)),
        "verifiers": [program.dialect],
        "torch_version": str(__version__),
        "guards_code": list(program._guards_code),
    }


# Signatures


def _constant(value: Any) -> Json:
    """A plain value, as an argument or as a constant input."""
    if value is None:
        return {"as_none": True}
    for kind, key in ((bool, "as_bool"), (int, "as_int"), (str, "as_string")):
        if isinstance(value, kind):
            return {key: value}
    if isinstance(value, float):
        return {"as_float": _number(value)}
    raise NotImplementedError(f"exported programs cannot be saved with the constant {value!r}")


def _number(value: float) -> float | str:
    """A number as JSON has it: what it lacks is a word."""
    if math.isnan(value):
        return "NaN"
    return value if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def _specified(argument: Any) -> Json:
    if isinstance(argument, TensorArgument):
        return {"as_tensor": {"name": argument.name}}
    if isinstance(argument, ConstantArgument):
        return _constant(argument.value)
    if isinstance(argument, SymIntArgument):
        return {"as_sym_int": {"as_name": argument.name}}
    raise NotImplementedError(f"exported programs cannot be saved with arguments like {argument}")


_HELD = {
    InputKind.PARAMETER: ("parameter", "parameter_name"),
    InputKind.BUFFER: ("buffer", "buffer_name"),
    InputKind.CONSTANT_TENSOR: ("tensor_constant", "tensor_constant_name"),
}
_WRITTEN = {
    OutputKind.BUFFER_MUTATION: ("buffer_mutation", "buffer_name"),
    OutputKind.PARAMETER_MUTATION: ("parameter_mutation", "parameter_name"),
    OutputKind.USER_INPUT_MUTATION: ("user_input_mutation", "user_input_name"),
    OutputKind.GRADIENT_TO_PARAMETER: ("gradient_to_parameter", "parameter_name"),
    OutputKind.GRADIENT_TO_USER_INPUT: ("gradient_to_user_input", "user_input_name"),
}


def _signature(program: ExportedProgram) -> Json:
    signature = program.graph_signature
    return {
        "input_specs": [_input_spec(spec) for spec in signature.input_specs],
        "output_specs": [_output_spec(spec) for spec in signature.output_specs],
    }


def _input_spec(spec: InputSpec) -> Json:
    if spec.kind is InputKind.USER_INPUT:
        if isinstance(spec.arg, ConstantArgument):
            return {"constant_input": {"name": spec.arg.name, "value": _constant(spec.arg.value)}}
        return {"user_input": {"arg": _specified(spec.arg)}}
    if spec.kind not in _HELD:
        raise NotImplementedError(f"exported programs cannot be saved with inputs of the kind {spec.kind.name}")
    key, name = _HELD[spec.kind]
    persistent = {"persistent": spec.persistent} if spec.kind is InputKind.BUFFER else {}
    return {key: {"arg": {"name": spec.arg.name}, name: spec.target, **persistent}}


def _output_spec(spec: OutputSpec) -> Json:
    if spec.kind is OutputKind.USER_OUTPUT:
        return {"user_output": {"arg": _specified(spec.arg)}}
    if spec.kind is OutputKind.LOSS_OUTPUT:
        return {"loss_output": {"arg": {"name": spec.arg.name}}}
    if spec.kind not in _WRITTEN:
        raise NotImplementedError(f"exported programs cannot be saved with outputs of the kind {spec.kind.name}")
    key, name = _WRITTEN[spec.kind]
    return {key: {"arg": {"name": spec.arg.name}, name: spec.target}}


def _call_signature(signature: ModuleCallSignature) -> Json:
    return {
        "inputs": [_specified(argument) for argument in signature.inputs],
        "outputs": [_specified(argument) for argument in signature.outputs],
        "in_spec": pytree.treespec_dumps(signature.in_spec),
        "out_spec": pytree.treespec_dumps(signature.out_spec),
        "forward_arg_names": signature.forward_arg_names,
    }


# Graphs

_LISTS = {"Tensor": "as_tensors", "int": "as_ints", "SymInt": "as_ints", "float": "as_floats", "bool": "as_bools",
          "str": "as_strings"}  # fmt: skip


class _GraphWriter:
    """One graph, and those of the functions that its operators are given."""

    def __init__(self, owner: GraphModule) -> None:
        self._owner = owner
        self._tensors: dict[str, Json] = {}
        self._symbolic: dict[str, dict[str, Json]] = {}
        #: Node -> its name in the file; items of a result that are taken twice have one.
        self._names: dict[Node, str] = {}

    def graph(self, graph: Graph) -> Json:
        """A graph; its result is a tuple, or of a function's graph one tensor."""
        inputs = [self._input(node) for node in graph.find_nodes(op="placeholder")]
        nodes = []
        for node in graph.nodes:
            if node.op == "call_function" and node.target is not getitem:
                nodes.append(self._node(node))
            elif node.op not in ("placeholder", "output", "get_attr", "call_function"):
                raise NotImplementedError(f"exported programs cannot be saved with a step {node.op} {node.target}")
        (result,) = graph.output_node().args
        is_single = isinstance(result, Node)
        results = (result,) if is_single else result
        return {
            "inputs": inputs,
            "outputs": [self._argument(value) for value in results],
            "nodes": nodes,
            "tensor_values": self._tensors,
            "sym_int_values": self._symbolic.get("sym_int_values", {}),
            "sym_bool_values": self._symbolic.get("sym_bool_values", {}),
            "is_single_tensor_return": is_single,
            "custom_obj_values": {},
            "sym_float_values": self._symbolic.get("sym_float_values", {}),
        }

    def _input(self, node: Node) -> Json:
        value = node.meta.get("val")
        return self._made(node.name, value) if isinstance(value, Tensor) else _constant(value)

    def _made(self, name: str, value: Any) -> Json:
        self._tensors[name] = tensor_meta(value, size_to_json)
        return {"as_tensor": {"name": name}}

    # Steps

    def _node(self, node: Node) -> Json:
        if isinstance(node.target, OpOverload):
            target, inputs, is_single = f"torch.ops.{str(node.target).replace('::', '.')}", self._operands(node), None
            outputs = self._results(node)
        elif isinstance(node.target, HigherOrderOperator):
            target, inputs = f"torch.ops.higher_order.{node.target.name()}", self._any_operands(node)
            is_single = isinstance(node.meta["val"], Tensor)
            outputs = [self._made(node.name, node.meta["val"])] if is_single else self._items(node, node.meta["val"])
        elif node.target in _FUNCTIONS and isinstance(node.meta.get("val"), SYMBOLIC):
            target, inputs, is_single = _FUNCTIONS[node.target], self._any_operands(node), None
            for place, item in enumerate(inputs):
                item["name"] = "ab"[place]
            outputs = [self._computed(node)]
        else:
            raise NotImplementedError(f"exported programs cannot be saved with calls of {node.target}")
        return {
            "target": target,
            "inputs": inputs,
            "outputs": outputs,
            "metadata": _metadata(node),
            "is_hop_single_tensor_return": is_single,
            "name": node.name,
        }

    def _computed(self, node: Node) -> Json:
        """The result of a step that computes with sizes."""
        value = node.meta["val"]
        table, described = values_of(value)
        self._symbolic.setdefault(table, {})[node.name] = described
        return symbolic_to_json(value, node.name)

    def _operands(self, node: Node) -> list[Json]:
        arguments = node.target._schema.parsed.arguments  # type: ignore[union-attr]
        known = {argument.name: argument for argument in arguments}
        given = [(argument, value, _POSITIONAL) for argument, value in zip(arguments, node.args, strict=False)]
        given += [(known[name], value, _KEYWORD) for name, value in node.kwargs.items()]
        return [
            {"name": argument.name, "arg": self._argument(value, argument), "kind": kind}
            for argument, value, kind in given
        ]

    def _any_operands(self, node: Node) -> list[Json]:
        given = [("", value, _POSITIONAL) for value in node.args]
        given += [(name, value, _KEYWORD) for name, value in node.kwargs.items()]
        return [{"name": name, "arg": self._argument(value), "kind": kind} for name, value, kind in given]

    def _results(self, node: Node) -> list[Json]:
        returns = node.target._schema.parsed.returns  # type: ignore[union-attr]
        value = node.meta.get("val")
        if not returns:
            return []
        if len(returns) > 1:
            return self._items(node, value)
        if isinstance(value, Tensor):
            return [self._made(node.name, value)]
        if isinstance(value, SYMBOLIC):
            return [self._computed(node)]
        if value is None:
            return [{"as_none": True}]
        if not returns[0].is_list or not isinstance(value, (list, tuple)):
            raise NotImplementedError(f"exported programs cannot be saved with a result like {value!r} of {node}")
        return [{"as_tensors": [item["as_tensor"] for item in self._items(node, value)]}]

    def _items(self, node: Node, values: Any) -> list[Json]:
        """The items of a result, by the names of the steps that take them."""
        taken: dict[int, Node] = {}
        for user in node.users:
            if user.target is getitem:
                taken.setdefault(user.args[1], user)
                self._names[user] = taken[user.args[1]].name
        written = []
        for index, value in enumerate(values):
            name = taken[index].name if index in taken else f"{node.name}_unused_{index}"
            if not isinstance(value, Tensor) and value is not None:
                raise NotImplementedError(f"exported programs cannot be saved with a result like {value!r} of {node}")
            written.append({"as_none": True} if value is None else self._made(name, value))
        return written

    # Arguments

    def _argument(self, value: Any, of: Argument | None = None) -> Json:
        if isinstance(value, Node):
            return self._reference(value)
        if isinstance(value, (list, tuple)):
            return self._sequence(list(value), of)
        if isinstance(value, dict):
            return {"as_string_to_argument": {key: self._argument(item) for key, item in value.items()}}
        if isinstance(value, dtypes.dtype):
            return {"as_scalar_type": code_of(DTYPES, value)}
        if isinstance(value, device):
            return {"as_device": {"type": value.type, "index": value.index}}
        if isinstance(value, formats.memory_format):
            return {"as_memory_format": code_of(MEMORY_FORMATS, value)}
        if isinstance(value, formats.layout):
            return {"as_layout": code_of(LAYOUTS, value)}
        if isinstance(value, complex):
            return {"as_complex": {"real": value.real, "imag": value.imag}}
        if of is not None and of.type == "float" and isinstance(value, int) and not of.is_list:
            value = float(value)
        return _constant(value)

    def _reference(self, node: Node) -> Json:
        if node.op == "get_attr":
            held = self._owner.get_submodule(str(node.target))
            if not isinstance(held, GraphModule):
                raise NotImplementedError(f"exported programs cannot be saved with {node.target}, which is no graph")
            return {"as_graph": {"name": str(node.target), "graph": _GraphWriter(held).graph(held.graph)}}
        value = node.meta.get("val")
        if isinstance(value, SYMBOLIC):
            return symbolic_to_json(value, node.name)
        if not isinstance(value, Tensor):
            return _constant(value)
        return {"as_tensor": {"name": self._names.get(node, node.name)}}

    def _sequence(self, values: list[Any], of: Argument | None) -> Json:
        if of is not None and of.type == "Tensor" and of.optional_items:
            return {"as_optional_tensors": [self._argument(value) for value in values]}
        if not values:
            return {_LISTS.get(of.type if of is not None else "Tensor", "as_tensors"): []}
        written = [self._argument(value) for value in values]
        keys = {key for item in written for key in item}
        if "as_sym_int" in keys and keys <= {"as_sym_int", "as_int"}:
            return {"as_sym_ints": [item.get("as_sym_int", item) for item in written]}
        if keys <= {"as_tensor", "as_none"} and "as_tensor" in keys:
            if "as_none" in keys:
                return {"as_optional_tensors": written}
            return {"as_tensors": [item["as_tensor"] for item in written]}
        if of is not None and of.type == "float" and keys == {"as_int"}:
            return {"as_floats": [float(value) for value in values]}
        if keys == {"as_int", "as_float"}:
            return {"as_floats": [_number(float(value)) for value in values]}
        for key in ("as_int", "as_float", "as_bool", "as_string"):
            if keys == {key}:
                return {key + "s": [item[key] for item in written]}
        if keys == {"as_ints"}:
            return {"as_int_lists": [item["as_ints"] for item in written]}
        if keys == {"as_tensors"}:
            return {"as_nested_tensors": [item["as_tensors"] for item in written]}
        raise NotImplementedError(f"exported programs cannot be saved with a list like {values!r}")


def _metadata(node: Node) -> dict[str, str]:
    written = {}
    if node.meta.get("stack_trace"):
        written["stack_trace"] = node.meta["stack_trace"]
    if node.meta.get("nn_module_stack"):
        written["nn_module_stack"] = ";".join(
            f"{key},{path},{kind}" for key, (path, kind) in node.meta["nn_module_stack"].items()
        )
    if node.meta.get("torch_fn"):
        written["torch_fn"] = ";".join(node.meta["torch_fn"])
    return written
