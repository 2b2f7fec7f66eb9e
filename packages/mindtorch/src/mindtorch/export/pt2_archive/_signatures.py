"""Signatures of programs and of calls, from the JSON of PyTorch's schema."""

from __future__ import annotations

import json
from typing import Any

from mt_core import pytree

from ..exported_program import ModuleCallEntry, ModuleCallSignature
from ..graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)  # fmt: skip
from ._fields import Field

__all__ = ["check_leaves", "read_calls", "read_constant", "read_signature"]


def read_constant(field: Field) -> Any:
    """A plain value."""
    kind, value = field.variant()
    if kind == "as_none":
        return None
    if kind not in _CONSTANTS:
        raise field.error(f"should be a plain value, but is {kind}")
    return _CONSTANTS[kind](value)


_CONSTANTS = {"as_int": Field.integer, "as_float": Field.number, "as_string": Field.text, "as_bool": Field.boolean}


def _argument(field: Field) -> Any:
    kind, value = field.variant()
    if kind == "as_tensor":
        return TensorArgument(value["name"].name())
    if kind == "as_sym_int":
        return SymIntArgument(value["as_name"].name())
    return ConstantArgument("", read_constant(field))


_HELD = {
    "parameter": (InputKind.PARAMETER, "parameter_name"),
    "buffer": (InputKind.BUFFER, "buffer_name"),
    "tensor_constant": (InputKind.CONSTANT_TENSOR, "tensor_constant_name"),
}
_WRITTEN = {
    "buffer_mutation": (OutputKind.BUFFER_MUTATION, "buffer_name"),
    "parameter_mutation": (OutputKind.PARAMETER_MUTATION, "parameter_name"),
    "user_input_mutation": (OutputKind.USER_INPUT_MUTATION, "user_input_name"),
    "gradient_to_parameter": (OutputKind.GRADIENT_TO_PARAMETER, "parameter_name"),
    "gradient_to_user_input": (OutputKind.GRADIENT_TO_USER_INPUT, "user_input_name"),
}


def read_signature(field: Field) -> ExportGraphSignature:
    """What the inputs and outputs of a graph are."""
    inputs = [_input(item) for item in field["input_specs"].elements()]
    outputs = [_output(item) for item in field["output_specs"].elements()]
    return ExportGraphSignature(inputs, outputs)


def _input(field: Field) -> InputSpec:
    kind, value = field.variant()
    if kind == "user_input":
        return InputSpec(InputKind.USER_INPUT, _argument(value["arg"]), None)
    if kind == "constant_input":
        argument = ConstantArgument(value["name"].name(), read_constant(value["value"]))
        return InputSpec(InputKind.USER_INPUT, argument, None)
    if kind not in _HELD:
        raise NotImplementedError(f"torch.export.load: {field.where}: inputs of the kind {kind} cannot be loaded")
    found, name = _HELD[kind]
    persistent = value["persistent"].boolean() if found is InputKind.BUFFER else None
    return InputSpec(found, TensorArgument(value["arg"]["name"].name()), value[name].text(), persistent)


def _output(field: Field) -> OutputSpec:
    kind, value = field.variant()
    if kind == "user_output":
        return OutputSpec(OutputKind.USER_OUTPUT, _argument(value["arg"]), None)
    if kind == "loss_output":
        return OutputSpec(OutputKind.LOSS_OUTPUT, TensorArgument(value["arg"]["name"].name()), None)
    if kind not in _WRITTEN:
        raise NotImplementedError(f"torch.export.load: {field.where}: outputs of the kind {kind} cannot be loaded")
    found, name = _WRITTEN[kind]
    return OutputSpec(found, TensorArgument(value["arg"]["name"].name()), value[name].text())


# Calls


def read_calls(field: Field) -> list[ModuleCallEntry]:
    """The modules that the program calls; the first is the whole, whose signature is there."""
    entries = []
    for item in field.elements():
        signature = item.optional("signature")
        entries.append(ModuleCallEntry(item["fqn"].text(), None if signature is None else _call(signature)))
    if not entries or entries[0].signature is None:
        raise field.error("should begin with the whole of the program")
    return entries


def _call(field: Field) -> ModuleCallSignature:
    names = field.optional("forward_arg_names")
    return ModuleCallSignature(
        [_argument(item) for item in field["inputs"].elements()],
        [_argument(item) for item in field["outputs"].elements()],
        _structure(field["in_spec"]),
        _structure(field["out_spec"]),
        None if names is None else [item.name() for item in names.elements()],
    )


#: Factories of defaultdicts that a file may name.
_FACTORIES = frozenset(("int", "float", "bool", "str", "list", "dict", "set", "tuple"))


def _structure(field: Field) -> pytree.TreeSpec:
    """The structure of a tree, of classes that are registered."""
    try:
        parts = Field(json.loads(field.text()), field.where).elements()
    except ValueError as error:
        raise field.error(f"is no JSON: {error}") from error
    if len(parts) != 2:
        raise field.error("should be a version and a structure")
    _check_structure(parts[1])
    try:
        return pytree.treespec_loads(field.text())
    except ValueError as error:
        raise field.error(f"is no structure: {error}") from error


def _check_structure(field: Field) -> None:
    kind = field.optional("type")
    children = field["children_spec"].elements()
    if kind is None:
        if children:
            raise field.error("is a leaf with children")
        return
    context = field["context"]
    if kind.text() == "collections.defaultdict":
        _check_factory(context)
        _check_keys(context["dict_context"], len(children))
    elif kind.text() in ("builtins.dict", "collections.OrderedDict"):
        try:
            keys = json.loads(context.text())
        except ValueError as error:
            raise context.error(f"is no JSON: {error}") from error
        _check_keys(Field(keys, context.where), len(children))
    for child in children:
        _check_structure(child)


def _check_factory(context: Field) -> None:
    module, name = context["default_factory_module"].text(), context["default_factory_name"].text()
    if module != "builtins" or name not in _FACTORIES:
        raise context.error(f"makes its defaults with {module}.{name}: files may name {sorted(_FACTORIES)} alone")


def _check_keys(field: Field, count: int) -> None:
    keys = [item.value for item in field.elements()]
    if any(isinstance(key, (list, dict)) for key in keys) or len(set(keys)) != count:
        raise field.error(f"should be the keys of {count} items")


def check_leaves(field: Field, signature: ExportGraphSignature, whole: Any) -> None:
    """Refuse structures that have other numbers of leaves than the graph has of inputs or outputs."""
    counts = (
        (len(signature.user_inputs), whole.in_spec, "inputs"),
        (len(signature.user_outputs), whole.out_spec, "outputs"),
    )
    for count, spec, what in counts:
        if spec.num_leaves != count:
            raise field.error(f"has {count} {what} in its signature, and {spec.num_leaves} in their structure")
    if whole.in_spec.type is not tuple or [child.type for child in whole.in_spec.children_specs] != [tuple, dict]:
        raise field.error("has arguments that are no tuple and dict")
    named = sum(child.num_children for child in whole.in_spec.children_specs)
    if whole.forward_arg_names is not None and len(whole.forward_arg_names) != named:
        raise field.error(f"names {len(whole.forward_arg_names)} arguments, and has {named}")
