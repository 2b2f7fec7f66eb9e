"""``torch.export.exported_program``: the graph of a module with its tensors."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from mt_core import Tensor, pytree
from mt_nn import Module, Parameter

from .._export.verifier import TrainingIRVerifier, Verifier
from .._unsupported import refusal
from ..fx._codegen import CodeGen, _PyTreeCodeGen, _PyTreeInfo
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule, _assign_attr
from ..fx.node import Node
from ._decompose import decomposed
from ._guarding import Guards
from ._trace import Traced, argument_names
from .decomp_utils import CustomDecompTable
from .graph_signature import ConstantArgument, ExportGraphSignature, InputKind, InputSpec

__all__ = ["CallSpec", "ExportedProgram", "ModuleCallEntry", "ModuleCallSignature", "default_decompositions"]


def default_decompositions() -> CustomDecompTable:
    """A table of the decompositions of what is not of PyTorch's core set of operators, which can be changed."""
    return CustomDecompTable()


@dataclasses.dataclass
class CallSpec:
    """The structure of a call: of arguments and named arguments, and of the result."""

    in_spec: pytree.TreeSpec | None
    out_spec: pytree.TreeSpec | None


@dataclasses.dataclass
class ModuleCallSignature:
    """How a module was called."""

    inputs: list[Any]
    outputs: list[Any]
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec
    forward_arg_names: list[str] | None = None


@dataclasses.dataclass
class ModuleCallEntry:
    """A module that the program calls, and how, where that is known."""

    fqn: str
    signature: ModuleCallSignature | None = None


class ExportedProgram:
    """A module as a graph of operators, of which the tensors that the module held are inputs.

    Attributes
    ----------
    graph_module
        The graph, as a function of all its inputs.
    graph_signature
        What these are.
    state_dict
        The parameters and buffers that the module's state dict held.
    constants
        Other tensors.
    example_inputs
        The arguments and named arguments that it was exported with.
    call_spec
        How these, and the result, are nested.
    range_constraints
        Symbol, or expression of symbols, -> the range of a size that varies.
    verifiers
        The rules that hold of it, by dialect.
    """

    def __init__(
        self, root: Module | dict[str, Any], graph: Graph, graph_signature: ExportGraphSignature,
        state_dict: dict[str, Any], range_constraints: dict[Any, Any], module_call_graph: list[ModuleCallEntry],
        example_inputs: Any = None, constants: dict[str, Any] | None = None, *,
        verifiers: list[type[Verifier]] | None = None, guards_code: list[str] | None = None, symbols: Any = None,
    ) -> None:  # fmt: skip
        graph._codegen = CodeGen()
        self.graph_module = GraphModule(root, graph)
        self.graph_signature = graph_signature
        self.state_dict = state_dict
        self.range_constraints = range_constraints
        self.module_call_graph = module_call_graph
        self.example_inputs = example_inputs
        self.constants = constants or {}
        self.verifiers = verifiers or [Verifier]
        #: What is known of sizes that vary, where the program was exported and not loaded.
        self._symbols = symbols
        #: What `torch.export.draft_export` reports.
        self._report: Any = None
        self._guards_code = list(guards_code or ([] if symbols is None else symbols.guards()))
        if symbols is not None:
            self.range_constraints = symbols.range_constraints()

    @classmethod
    def of_module(cls, mod: Module, traced: Traced, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ExportedProgram:
        """The program of a module that was traced."""
        tensors = dict(mod.named_parameters(remove_duplicate=False)) | dict(mod.named_buffers(remove_duplicate=False))
        names = argument_names(mod, args, kwargs)
        whole = ModuleCallSignature([], [], traced.in_spec, traced.out_spec, names)
        entries = [ModuleCallEntry("", whole)]
        entries += [ModuleCallEntry(name) for name, _ in mod.named_modules() if name]
        passing = set(traced.signature.non_persistent_buffers)
        state = {name: tensor for name, tensor in tensors.items() if name not in passing}
        constants = {**traced.constants, **{name: tensors[name] for name in tensors if name in passing}}
        return cls(
            traced.root, traced.graph, traced.signature, state, {}, entries, (args, kwargs),
            constants, verifiers=[TrainingIRVerifier], symbols=traced.symbols,
        )  # fmt: skip

    # What there is

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self.graph_module.graph

    @property
    def call_spec(self) -> CallSpec:
        """How arguments and result are nested."""
        whole = self._whole()
        return CallSpec(whole.in_spec, whole.out_spec)

    def _whole(self) -> ModuleCallSignature:
        signature = self.module_call_graph[0].signature
        if signature is None:
            raise AssertionError("the first module of a program is the whole of it")
        return signature

    @property
    def verifier(self) -> type[Verifier]:
        """The rules of the first of its dialects."""
        return self.verifiers[0]

    @property
    def dialect(self) -> str:
        """``"TRAINING"``: operators as the program called them; ``"ATEN"``: taken apart, without writes."""
        return self.verifier.dialect

    def validate(self) -> None:
        """Check that the graph follows the rules of its dialects, and agrees with its signature.

        Raises
        ------
        torch._export.verifier.SpecViolationError
            When it does not.
        """
        for verifier in self.verifiers:
            verifier().check(self)

    @property
    def tensor_constants(self) -> dict[str, Any]:
        """The tensors that are neither parameters nor part of the state dict."""
        return self.constants

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Names and parameters."""
        for name in self.graph_signature.parameters:
            yield name, self.state_dict[name]

    def parameters(self) -> Iterator[Parameter]:
        """The parameters."""
        for _, parameter in self.named_parameters():
            yield parameter

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """Names and buffers."""
        for name in self.graph_signature.buffers:
            yield name, self.state_dict[name] if name in self.state_dict else self.constants[name]

    def buffers(self) -> Iterator[Tensor]:
        """The buffers."""
        for _, buffer in self.named_buffers():
            yield buffer

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Not to be called.

        Raises
        ------
        RuntimeError
            Always, as in PyTorch: `module` gives what can be.
        """
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` instead."
        )

    def __str__(self) -> str:
        code = self.graph_module.print_readable(print_output=False)
        body = code.strip("\n").replace("\n", "\n    ")
        signature = str(self.graph_signature).strip("\n").replace("\n", "\n    ")
        return (
            f"ExportedProgram:\n    {body}\n    \nGraph signature: \n    {signature}\n    \n"
            f"Range constraints: {self.range_constraints}\n"
        )

    # What is made of it

    def run_decompositions(
        self, decomp_table: dict[Any, Callable[..., Any]] | None = None, decompose_custom_triton_ops: bool = False
    ) -> ExportedProgram:
        """The program by operators that others are written in, and without writes: what it writes becomes outputs.

        Parameters
        ----------
        decomp_table
            Operator -> function in whose operators it is written; None: `default_decompositions`. Operators that are
            no steps of derivatives are taken apart besides.
        """
        relied = _guards_so_far(self)
        table = default_decompositions() if decomp_table is None else decomp_table
        graph, signature = decomposed(self.graph_module, self.graph_signature, dict(table))
        if self._symbols is None and _guards_so_far(self) != relied:
            raise refusal(
                "run_decompositions of a program that was loaded, where it relies on sizes", "Take it apart first."
            )
        return ExportedProgram(
            Module(), graph, signature, self.state_dict, self.range_constraints, self.module_call_graph,
            self.example_inputs, self.constants, verifiers=[Verifier],
            guards_code=self._guards_code if self._symbols is None else None, symbols=self._symbols,
        )  # fmt: skip

    def module(self, check_guards: bool = True) -> GraphModule:
        """A module that does what the exported one did, for arguments that the graph holds of.

        Its parameters and buffers are this program's.

        Parameters
        ----------
        check_guards
            Compare the arguments with those that the program was exported with: sizes and dtypes of tensors, and the
            values of others.
        """
        return _unlifted(self, check_guards)


def _guards_so_far(program: ExportedProgram) -> int:
    """How many relations of symbols the program relies on."""
    for node in program.graph.find_nodes(op="placeholder"):
        mode = getattr(node.meta["val"], "fake_mode", None)
        if mode is not None and mode.shape_env is not None:
            return len(mode.shape_env.guards)
    return 0


# Calling it


def _arguments_of(program: ExportedProgram) -> list[tuple[str, Any]]:
    """Of each leaf of the arguments: the text that reads it, and what it was when the program was exported."""
    whole = program._whole()
    args, kwargs = pytree.tree_unflatten(range(whole.in_spec.num_leaves), whole.in_spec)
    names = whole.forward_arg_names or [f"args_{index}" for index in range(len(args))]
    sources = [
        source + pytree.keystr(path)
        for source, value in [*zip(names, args, strict=False), *kwargs.items()]
        for path, _ in pytree.tree_flatten_with_path(value)[0]
    ]
    specs = program.graph_signature.input_specs
    values = [
        spec.arg.value if isinstance(spec.arg, ConstantArgument) else node.meta["val"]
        for spec, node in zip(specs, program.graph.find_nodes(op="placeholder"), strict=True)
        if spec.kind is InputKind.USER_INPUT
    ]
    return list(zip(sources, values, strict=True))


def guards_of(program: ExportedProgram) -> Guards:
    """What compares arguments with what a program was exported for."""
    return Guards(_arguments_of(program), program._guards_code, program.range_constraints)


def _unlifted(program: ExportedProgram, check_guards: bool) -> GraphModule:
    """The graph as a module that holds the tensors."""
    root = Module()
    for name, held in program.graph_module.named_children():
        root.add_module(name, held)
    values = {**program.state_dict, **program.constants}
    for name, value in values.items():
        _assign_attr(value, root, name)
    graph = _with_attributes(program, check_guards)
    if check_guards:
        root._guards_fn = guards_of(program)
    whole = program._whole()
    names = whole.forward_arg_names or []
    graph._codegen = _PyTreeCodeGen(_PyTreeInfo(names, whole.in_spec, whole.out_spec))
    made = GraphModule(root, graph)
    for node in made.graph.find_nodes(op="placeholder"):
        node.name = node.target  # a copy of a graph renames what is a function of Python's too
    made.recompile()
    passing = set(program.graph_signature.non_persistent_buffers)
    for name in program.constants:
        owner, _, own = name.rpartition(".")
        holder = made.get_submodule(owner)
        if name in passing:
            holder._non_persistent_buffers_set.add(own)
        elif own in holder._buffers:
            holder.__dict__[own] = holder._buffers.pop(own)  # a constant is an attribute like any other
    made.register_forward_pre_hook(_Structure(whole.in_spec), with_kwargs=True)
    made.train = made.eval = _refuse_mode  # type: ignore[method-assign, assignment]
    return made


def _refuse_mode(mode: bool = True) -> Module:
    raise NotImplementedError("Calling train() or eval() is not supported for exported programs.")


def _with_attributes(program: ExportedProgram, check_guards: bool) -> Graph:
    """The graph with attributes in the place of the inputs that the module holds, and its writes at the end."""
    graph = copy.deepcopy(program.graph)
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    specs = program.graph_signature.input_specs
    nodes = {spec.arg.name: node for spec, node in zip(specs, placeholders, strict=True)}
    held = [spec for spec in specs if spec.kind is not InputKind.USER_INPUT]
    users = [nodes[spec.arg.name] for spec in specs if spec.kind is InputKind.USER_INPUT]
    first = next((node for node in graph.nodes if node.op != "placeholder"), None)
    if first is None:
        raise AssertionError("a graph has an output")
    attributes = {spec.target: _attribute_for(graph, nodes[spec.arg.name], spec) for spec in held}
    if check_guards and users:
        with graph.inserting_before(first):
            graph.call_module("_guards_fn", tuple(users))
    _write_back(graph, program.graph_signature, nodes, attributes)
    return graph


def _attribute_for(graph: Graph, placeholder: Node, spec: InputSpec) -> Node:
    with graph.inserting_before(placeholder):
        attribute = graph.get_attr(str(spec.target))
    attribute.meta = dict(placeholder.meta)
    placeholder.replace_all_uses_with(attribute)
    graph.erase_node(placeholder)
    return attribute


def _write_back(
    graph: Graph, signature: ExportGraphSignature, nodes: dict[str, Node], attributes: dict[str | None, Node]
) -> None:
    """Copy outputs that are new values to what they are values of, and return the others."""
    from mt_library.ops import ops  # late: operators are resolved when a program is called

    (output,) = [node for node in graph.nodes if node.op == "output"]
    kept = []
    for spec, value in zip(signature.output_specs, output.args[0], strict=True):
        if spec.target is None:
            kept.append(value)
            continue
        target = attributes.get(spec.target) or nodes[spec.target]
        with graph.inserting_before(output):
            graph.call_function(ops.aten.copy_.default, (target, value))
    output.args = (tuple(kept),)


class _Structure:
    """Compares how arguments are nested."""

    def __init__(self, in_spec: pytree.TreeSpec) -> None:
        self._spec = in_spec

    def __call__(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        expected = list(self._spec.child(1).context)
        if list(kwargs) != expected:
            if set(kwargs) != set(expected):
                raise ValueError(
                    f"Ran into a kwarg keyword mismatch: Got the following keywords {list(kwargs)} but expected "
                    f"{expected}"
                )
            kwargs = {name: kwargs[name] for name in expected}
        found = pytree.tree_structure((args, kwargs))
        if found != self._spec:
            raise ValueError(
                f"Trying to flatten user inputs with exported input tree spec: \n{self._spec}\nbut actually got inputs "
                f"with tree spec of: \n{found}.\nPlease check that the inputs have the same number and type of args "
                "and kwargs as the ones you used when tracing."
            )
        return args, kwargs
