"""Exported programs from the JSON of PyTorch's schema. Nothing in a file is run, and targets are operators."""

from __future__ import annotations

from operator import getitem
from typing import Any

from mt_core.symbolic import SymInt, has_symbols
from mt_library.higher_order import HigherOrderOperator
from mt_library.ops import OpOverload, OpOverloadPacket, ops
from mt_nn import Module

from ..._export._size_functions import NAMES, SIZE_FUNCTIONS
from ..._export.verifier import VERIFIERS
from ..._subclasses.fake_tensor import FakeTensorMode
from ...fx.graph import Graph
from ...fx.graph_module import GraphModule
from ...fx.node import Node
from .._guarding import guard_evaluator
from ..exported_program import ExportedProgram
from ._codes import DTYPES, LAYOUTS, MEMORY_FORMATS, SCHEMA_VERSION
from ._fields import Field, damaged, identifier
from ._signatures import check_leaves, read_calls, read_constant, read_signature
from ._tensors import Geometry, read_device, read_geometry

__all__ = ["program_from_json"]

_ADDRESSABLE = 2**62


def program_from_json(
    model: Field, state_dict: dict[str, Any], constants: dict[str, Any], example_inputs: Any
) -> ExportedProgram:
    """The program that a record describes, with its tensors.

    Raises
    ------
    RuntimeError
        For what is not as the schema says, and for operators that there are not.
    NotImplementedError
        For symbols and objects.
    """
    try:
        return _program(model, state_dict, constants, example_inputs)
    except RecursionError as error:
        raise damaged(model.where, "is nested too deeply") from error


def _program(model: Field, state_dict: dict[str, Any], constants: dict[str, Any], example_inputs: Any) -> Any:
    version = model["schema_version"]
    major = version["major"].integer()
    if major != SCHEMA_VERSION[0]:
        raise version.error(
            f"says schema version ({major}, {version['minor'].integer()}), which does not match our current schema "
            f"version {SCHEMA_VERSION}."
        )
    for name in [*state_dict, *constants]:
        _check_path(name, model.where)
    verifiers = [_verifier(item) for item in model["verifiers"].elements()]
    described = model["graph_module"]
    signature = read_signature(described["signature"])
    calls = read_calls(described["module_call_graph"])
    expressions = _expressions(model, described["graph"])
    env = None if expressions is None else expressions.env
    mode = FakeTensorMode(allow_non_fake_inputs=True, export=True, shape_env=env)
    root: dict[str, Any] = {}
    names = [spec.arg.name for spec in signature.input_specs]
    graph = _GraphReader(mode, root, names, expressions).read(described["graph"])
    check_leaves(described, signature, calls[0].signature)
    held = {spec.target for spec in signature.input_specs if spec.target is not None}
    missing = sorted(held - state_dict.keys() - constants.keys())
    if missing:
        raise described.error(f"uses {missing[0]}, which is neither a weight nor a constant of the file")
    program = ExportedProgram(
        root, graph, signature, state_dict, {} if expressions is None else expressions.range_constraints, calls,
        example_inputs, constants, verifiers=verifiers, guards_code=_guards(model),
    )  # fmt: skip
    program.validate()
    return program


def _expressions(model: Field, graph: Field) -> Any:
    """The symbols of a program; None where all sizes are numbers."""
    if not any(True for _ in model["range_constraints"].items()):
        return None
    from ._expressions import Expressions  # late: with sympy, which is not needed for the rest

    found = Expressions(model["range_constraints"])
    found.enter(graph)
    return found


def _guards(model: Field) -> list[str]:
    """What is asked of sizes when the program is called."""
    field = model.optional("guards_code")
    found = [] if field is None else [item.text() for item in field.elements()]
    for text in found:
        guard_evaluator(text)
    return found


def _verifier(field: Field) -> Any:
    if field.text() not in VERIFIERS:
        raise field.error(f"is no dialect: {field.text()!r}")
    return VERIFIERS[field.text()]


def _check_path(path: str, where: str) -> None:
    """Refuse names of tensors that cannot be attributes of a module, or would change what it does."""
    for part in path.split("."):
        if (
            not part
            or hasattr(Module, part)
            or not part.isprintable()
            or part.startswith("__")
            or set(part) & {*"\"\\'"}
        ):
            raise damaged(where, f"has a tensor of the name {path!r}, which no attribute can have")


class _GraphReader:
    """One graph, and those of functions that its operators are given, which become modules in `root`."""

    def __init__(
        self, mode: FakeTensorMode, root: dict[str, Any], input_names: list[str] | None, expressions: Any = None
    ) -> None:
        self._mode = mode
        self._expressions = expressions
        self._root = root
        self._input_names = input_names
        self._graph = Graph()
        self._nodes: dict[str, Node] = {}
        self._geometries: dict[str, Field] = {}
        self._numbers: dict[str, Field] = {}

    def read(self, field: Field) -> Graph:
        """The graph that a field describes."""
        for values in ("sym_int_values", "sym_bool_values", "sym_float_values", "custom_obj_values"):
            found = field.get(values)
            readable = self._expressions is not None and values == "sym_int_values"
            if found is not None and readable:
                self._numbers = dict(found.items())
            elif found is not None and any(True for _ in found.items()):
                raise NotImplementedError(f"torch.export.load: {found.where}: symbols and objects cannot be loaded")
        self._geometries = dict(field["tensor_values"].items())
        inputs = field["inputs"].elements()
        if self._input_names is not None and len(inputs) != len(self._input_names):
            raise field["inputs"].error(f"has {len(inputs)} inputs, and the signature {len(self._input_names)}")
        for index, item in enumerate(inputs):
            self._input(index, item)
        for item in field["nodes"].elements():
            self._step(item)
        outputs = [self._value(item) for item in field["outputs"].elements()]
        single = field.get("is_single_tensor_return")
        is_single = single is not None and single.boolean()
        if is_single and len(outputs) != 1:
            raise field["outputs"].error("should be one tensor")
        self._graph.output(outputs[0] if is_single else tuple(outputs))
        return self._graph

    def _input(self, index: int, field: Field) -> None:
        kind, value = field.variant()
        if kind == "as_tensor":
            name = value["name"].name()
        elif self._input_names is not None:
            name = self._input_names[index]
        else:
            raise field.error("should be a tensor: constants are no inputs of functions")
        node = self._graph.placeholder(name)
        self._enter(node, name, field)
        node.target = name
        node.meta["val"] = self._fake(name, field) if kind == "as_tensor" else read_constant(field)

    def _enter(self, node: Node, name: str, field: Field) -> None:
        if name in self._nodes:
            raise field.error(f"is the second value of the name {name}")
        if node.name != name:
            node.name = name
        self._nodes[name] = node

    def _fake(self, name: str, field: Field) -> Any:
        """A fake tensor that lies as the graph says of a value."""
        if name not in self._geometries:
            raise field.error(f"names {name}, of which the graph does not say what tensor it is")
        if self._expressions is None:
            geometry = read_geometry(self._geometries[name])
        else:
            geometry = read_geometry(self._geometries[name], self._expressions.size)
        sizes, strides, (offset,) = map(_in_example, (geometry.sizes, geometry.strides, [geometry.offset]))
        last = offset + sum((size - 1) * step for size, step in zip(sizes, strides, strict=True))
        if max(last, *sizes, *strides, 0) * 16 >= _ADDRESSABLE:
            raise self._geometries[name].error("describes more memory than there can be")
        if self._expressions is None:
            return _laid_out(self._mode, geometry, last + 1)
        end = geometry.offset
        for size, step in zip(geometry.sizes, geometry.strides, strict=True):
            end = end + (size - 1) * step
        with self._expressions.env.suppress_guards():
            return _laid_out(self._mode, geometry, end + 1)

    # Steps

    def _step(self, field: Field) -> None:
        target = _operator(field["target"])
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for item in field["inputs"].elements():
            kind = item.optional("kind")
            value = self._value(item["arg"])
            if kind is not None and kind.integer() == 2:
                kwargs[item["name"].name()] = value
            else:
                args.append(value)
        outputs = field["outputs"].elements()
        name = field.optional("name")
        own = _sole_name(outputs) if name is None else name.name()
        node = self._graph.create_node("call_function", target, tuple(args), kwargs, name=own)
        _annotate(node, field["metadata"])
        self._results(node, own, field, outputs)

    def _results(self, node: Node, own: str, field: Field, outputs: list[Field]) -> None:
        """Enter the result of a step, or the items of it that have names of their own."""
        is_operator = isinstance(node.target, OpOverload)
        if node.target in SIZE_FUNCTIONS:
            self._whole(node, own, outputs[0])
            return
        returns = node.target._schema.parsed.returns if is_operator else ()  # type: ignore[union-attr]
        single = field.optional("is_hop_single_tensor_return")
        one = len(returns) == 1 if is_operator else single is not None and single.boolean()
        if not outputs:
            self._enter(node, own, field)
            node.meta["val"] = None
        elif one and len(outputs) == 1:
            self._whole(node, own, outputs[0])
        else:
            self._enter(node, own, field)
            node.meta["val"] = tuple(self._item(node, index, item) for index, item in enumerate(outputs))

    def _whole(self, node: Node, own: str, output: Field) -> None:
        kind, value = output.variant()
        if kind == "as_tensor":
            name = value["name"].name()
            self._enter(node, name, output)
            node.meta["val"] = self._fake(name, output)
            return
        self._enter(node, own, output)
        if kind == "as_none":
            node.meta["val"] = None
        elif kind == "as_sym_int":
            node.meta["val"] = self._symbolic(own, output)
        elif kind == "as_tensors":
            items = [Field({"as_tensor": item.value}, item.where) for item in value.elements()]
            node.meta["val"] = [self._item(node, index, item) for index, item in enumerate(items)]
        else:
            raise output.error(f"is a result of the kind {kind}, which operators do not have here")

    def _symbolic(self, name: str, field: Field) -> Any:
        """The symbolic number of a step, as the graph says of it."""
        if self._expressions is None or name not in self._numbers:
            raise field.error(f"names {name}, of which the graph does not say what number it is")
        return self._expressions.size(self._numbers[name])

    def _item(self, node: Node, index: int, output: Field) -> Any:
        kind, value = output.variant()
        if kind == "as_none":
            return None
        if kind != "as_tensor":
            raise output.error(f"is a result of the kind {kind}, which operators do not have here")
        name = value["name"].name()
        taken = self._graph.create_node("call_function", getitem, (node, index), name=name)
        self._enter(taken, name, output)
        taken.meta["val"] = self._fake(name, output)
        return taken.meta["val"]

    # Arguments

    def _value(self, field: Field) -> Any:
        kind, value = field.variant()
        if kind in ("as_tensor", "as_none", "as_optional_tensor"):
            return self._tensor(field) if kind != "as_optional_tensor" else self._tensor(value)
        if kind == "as_tensors":
            return [self._named(item["name"]) for item in value.elements()]
        if kind == "as_optional_tensors":
            return [self._tensor(item) for item in value.elements()]
        if kind == "as_nested_tensors":
            return [[self._named(item["name"]) for item in row.elements()] for row in value.elements()]
        if kind == "as_sym_int":
            return self._sized(value)
        if kind == "as_sym_ints":
            return [self._sized(item) for item in value.elements()]
        if kind in _LISTS:
            return [_LISTS[kind](item) for item in value.elements()]
        if kind in _LISTS_OF_LISTS:
            return [[_LISTS_OF_LISTS[kind](item) for item in row.elements()] for row in value.elements()]
        if kind in _PLAIN:
            return _PLAIN[kind](value)
        if kind == "as_string_to_argument":
            return {key: self._value(item) for key, item in value.items()}
        if kind == "as_graph":
            return self._function(value)
        raise NotImplementedError(f"torch.export.load: {field.where}: arguments {kind} cannot be loaded")

    def _tensor(self, field: Field) -> Any:
        kind, value = field.variant()
        return None if kind == "as_none" else self._named(value["name"])

    def _sized(self, field: Field) -> Any:
        """A number, or the step that computes it."""
        kind, value = field.variant()
        return value.integer() if kind == "as_int" else self._named(value)

    def _named(self, field: Field) -> Node:
        name = field.name()
        if name not in self._nodes:
            raise field.error(f"is {name}, which no step before gives")
        return self._nodes[name]

    def _function(self, field: Field) -> Node:
        name = field["name"].name()
        if hasattr(Module, name) or name in self._root:
            raise field.error(f"is a function of the name {name}, which is taken")
        inner: dict[str, Any] = {}
        graph = _GraphReader(self._mode, inner, None).read(field["graph"])
        self._root[name] = GraphModule(inner, graph)
        return self._graph.create_node("get_attr", name, name=name)


_PLAIN: dict[str, Any] = {
    "as_int": Field.integer,
    "as_float": Field.number,
    "as_bool": Field.boolean,
    "as_string": Field.text,
    "as_scalar_type": lambda field: field.one_of(DTYPES, "dtype"),
    "as_memory_format": lambda field: field.one_of(MEMORY_FORMATS, "memory format"),
    "as_layout": lambda field: field.one_of(LAYOUTS, "layout"),
    "as_complex": lambda field: complex(field["real"].number(), field["imag"].number()),
    "as_device": read_device,
}
_LISTS = {"as_ints": Field.integer, "as_floats": Field.number, "as_bools": Field.boolean, "as_strings": Field.text}
_LISTS_OF_LISTS = {"as_int_lists": Field.integer, "as_float_lists": Field.number}


def _operator(field: Field) -> Any:
    """The operator of a name: those of ``torch.ops``, what sizes are computed with, and no other function."""
    if field.text() in NAMES:
        return NAMES[field.text()]
    parts = field.text().split(".")
    if parts[:2] == ["torch", "ops"] and len(parts) in (4, 5) and all(identifier(part) for part in parts):
        packet = getattr(getattr(ops, parts[2], None), parts[3], None)
        if isinstance(packet, HigherOrderOperator):
            return packet
        found = getattr(packet, parts[4], None) if isinstance(packet, OpOverloadPacket) and len(parts) == 5 else None
        if isinstance(found, OpOverload):
            return found
    raise field.error(
        f"is {field.text()[:80]!r}, which is no operator here. If it is one of your own, import the module that "
        "registers it before loading the program"
    )


def _in_example(numbers: list[Any]) -> list[int]:
    return [number.node.hint if isinstance(number, SymInt) else number for number in numbers]


def _sole_name(outputs: list[Field]) -> str:
    """The name of a step that has none but those of its outputs."""
    for output in outputs:
        kind, value = output.variant()
        if kind == "as_tensor":
            return value["name"].name()
    return "step"


def _annotate(node: Node, metadata: Field) -> None:
    """Take over where a step was traced."""
    for key, field in metadata.items():
        if key == "stack_trace":
            node.meta[key] = field.text()
        elif key == "torch_fn":
            node.meta[key] = tuple(field.text().split(";"))
        elif key == "nn_module_stack":
            entries = [entry.split(",") for entry in field.text().split(";") if entry]
            if any(len(entry) < 3 for entry in entries):
                raise field.error("should be entries of a key, a path and a class")
            node.meta[key] = {entry[0]: (",".join(entry[1:-1]), entry[-1]) for entry in entries}


def _laid_out(mode: FakeTensorMode, geometry: Geometry, extent: Any) -> Any:
    from mt_core.api._functions import empty, empty_strided  # late: operators are resolved when they are called

    with mode:
        sizes, strides = geometry.sizes, geometry.strides
        if isinstance(geometry.offset, SymInt) or geometry.offset:
            least: Any = extent if has_symbols((extent, geometry.offset)) else max(extent, geometry.offset)
            whole = empty(least, dtype=geometry.dtype, device=geometry.device)
            offset: Any = geometry.offset
            made = whole.as_strided(sizes, strides, offset).detach()
        else:
            made = empty_strided(sizes, strides, dtype=geometry.dtype, device=geometry.device)
    return made.requires_grad_(geometry.requires_grad)
