"""``torch.export.graph_signature``: what the inputs and outputs of an exported graph are."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Collection, Mapping
from typing import Any

__all__ = [
    "ArgumentSpec",
    "ConstantArgument",
    "ExportBackwardSignature",
    "ExportGraphSignature",
    "InputKind",
    "InputSpec",
    "OutputKind",
    "OutputSpec",
    "SymBoolArgument",
    "SymFloatArgument",
    "SymIntArgument",
    "TensorArgument",
]


@dataclasses.dataclass
class TensorArgument:
    """A tensor: the name of its node."""

    name: str


@dataclasses.dataclass
class ConstantArgument:
    """A value that is no tensor, and part of what the graph means."""

    name: str
    value: int | float | bool | str | None


@dataclasses.dataclass
class SymIntArgument:
    """An integer that is computed of sizes: the name of its node."""

    name: str


@dataclasses.dataclass
class SymFloatArgument:
    """A float that is computed of sizes: the name of its node."""

    name: str


@dataclasses.dataclass
class SymBoolArgument:
    """A truth value that is computed of sizes: the name of its node."""

    name: str


ArgumentSpec = TensorArgument | SymIntArgument | SymFloatArgument | SymBoolArgument | ConstantArgument


@dataclasses.dataclass
class ExportBackwardSignature:
    """What the outputs of a graph with its backward pass are."""

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str


class InputKind(enum.Enum):
    """What an input of a graph is."""

    USER_INPUT = enum.auto()
    PARAMETER = enum.auto()
    BUFFER = enum.auto()
    CONSTANT_TENSOR = enum.auto()
    CUSTOM_OBJ = enum.auto()
    TOKEN = enum.auto()


class OutputKind(enum.Enum):
    """What an output of a graph is."""

    USER_OUTPUT = enum.auto()
    LOSS_OUTPUT = enum.auto()
    BUFFER_MUTATION = enum.auto()
    PARAMETER_MUTATION = enum.auto()
    GRADIENT_TO_PARAMETER = enum.auto()
    GRADIENT_TO_USER_INPUT = enum.auto()
    USER_INPUT_MUTATION = enum.auto()
    TOKEN = enum.auto()


@dataclasses.dataclass
class InputSpec:
    """An input of a graph.

    Attributes
    ----------
    target
        Of a parameter, buffer or constant: its name in the module.
    persistent
        Of a buffer: whether it is part of the state dict.
    """

    kind: InputKind
    arg: Any
    target: str | None
    persistent: bool | None = None

    def __post_init__(self) -> None:
        if self.kind is InputKind.BUFFER and self.persistent is None:
            raise AssertionError("Failed to specify persistent flag on BUFFER.")

    def __str__(self) -> str:
        target = "" if self.target is None else f" target={self.target!r}"
        persistent = "" if self.persistent is None else f" persistent={self.persistent}"
        return f"{self.arg.name}: {self.kind.name}{target}{persistent}"


@dataclasses.dataclass
class OutputSpec:
    """An output of a graph.

    Attributes
    ----------
    target
        Of a mutation: the name of what has changed.
    """

    kind: OutputKind
    arg: Any
    target: str | None

    def __str__(self) -> str:
        target = "" if self.target is None else f" target={self.target!r}"
        return f"{self.arg.name}: {self.kind.name}{target}"


@dataclasses.dataclass
class ExportGraphSignature:
    """The inputs and outputs of an exported graph, in order: parameters, buffers and constants, then the user's."""

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]

    def _inputs(self, kind: InputKind) -> list[InputSpec]:
        return [spec for spec in self.input_specs if spec.kind is kind]

    def _outputs(self, kind: OutputKind) -> list[OutputSpec]:
        return [spec for spec in self.output_specs if spec.kind is kind]

    @property
    def parameters(self) -> Collection[str]:
        """The names of the parameters."""
        return tuple(str(spec.target) for spec in self._inputs(InputKind.PARAMETER))

    @property
    def buffers(self) -> Collection[str]:
        """The names of the buffers."""
        return tuple(str(spec.target) for spec in self._inputs(InputKind.BUFFER))

    @property
    def non_persistent_buffers(self) -> Collection[str]:
        """The names of the buffers that no state dict holds."""
        return tuple(str(spec.target) for spec in self._inputs(InputKind.BUFFER) if not spec.persistent)

    @property
    def lifted_tensor_constants(self) -> Collection[str]:
        """The names of the other tensors."""
        return tuple(str(spec.target) for spec in self._inputs(InputKind.CONSTANT_TENSOR))

    @property
    def lifted_custom_objs(self) -> Collection[str]:
        """The names of objects of custom classes: there are none."""
        return tuple(str(spec.target) for spec in self._inputs(InputKind.CUSTOM_OBJ))

    @property
    def user_inputs(self) -> Collection[Any]:
        """The nodes of the user's inputs, and the constants among these."""
        return tuple(_shown(spec.arg) for spec in self._inputs(InputKind.USER_INPUT))

    @property
    def user_outputs(self) -> Collection[Any]:
        """The nodes of the user's outputs, and the constants among these."""
        return tuple(_shown(spec.arg) for spec in self._outputs(OutputKind.USER_OUTPUT))

    @property
    def inputs_to_parameters(self) -> Mapping[str, str]:
        """Node -> parameter."""
        return {spec.arg.name: str(spec.target) for spec in self._inputs(InputKind.PARAMETER)}

    @property
    def inputs_to_buffers(self) -> Mapping[str, str]:
        """Node -> buffer."""
        return {spec.arg.name: str(spec.target) for spec in self._inputs(InputKind.BUFFER)}

    @property
    def inputs_to_lifted_tensor_constants(self) -> Mapping[str, str]:
        """Node -> constant."""
        return {spec.arg.name: str(spec.target) for spec in self._inputs(InputKind.CONSTANT_TENSOR)}

    @property
    def buffers_to_mutate(self) -> Mapping[str, str]:
        """Output -> the buffer that it is the new value of."""
        return {spec.arg.name: str(spec.target) for spec in self._outputs(OutputKind.BUFFER_MUTATION)}

    @property
    def parameters_to_mutate(self) -> Mapping[str, str]:
        """Output -> the parameter that it is the new value of."""
        return {spec.arg.name: str(spec.target) for spec in self._outputs(OutputKind.PARAMETER_MUTATION)}

    @property
    def user_inputs_to_mutate(self) -> Mapping[str, str]:
        """Output -> the user's input that it is the new value of."""
        return {spec.arg.name: str(spec.target) for spec in self._outputs(OutputKind.USER_INPUT_MUTATION)}

    @property
    def backward_signature(self) -> ExportBackwardSignature | None:
        """None: graphs have no backward pass."""
        return None

    @property
    def assertion_dep_token(self) -> Mapping[int, str] | None:
        """None: assertions have no order of their own."""
        return None

    @property
    def input_tokens(self) -> Collection[str]:
        """The nodes of tokens that order effects: there are none."""
        return tuple(spec.arg.name for spec in self._inputs(InputKind.TOKEN))

    @property
    def output_tokens(self) -> Collection[str]:
        """The same of outputs."""
        return tuple(spec.arg.name for spec in self._outputs(OutputKind.TOKEN))

    @property
    def inputs_to_lifted_custom_objs(self) -> Mapping[str, str]:
        """Node -> object of a custom class: there are none."""
        return {spec.arg.name: str(spec.target) for spec in self._inputs(InputKind.CUSTOM_OBJ)}

    def replace_all_uses(self, old: str, new: str) -> None:
        """Call a node of inputs and outputs by another name.

        Raises
        ------
        AssertionError
            Where a name is no text.
        """
        if not isinstance(old, str) or not isinstance(new, str):
            raise AssertionError(f"expected the names of nodes, got {old!r} and {new!r}")
        specs: list[InputSpec | OutputSpec] = [*self.output_specs, *self.input_specs]
        for spec in specs:
            if spec.arg.name == old and not isinstance(spec.arg, ConstantArgument):
                spec.arg.name = new

    def get_replace_hook(self, replace_inputs: bool = False) -> Callable[[Any, str, Any], None]:
        """What `torch.fx.GraphModule` may call where a step takes another's place: outputs are called by the new name.

        Parameters
        ----------
        replace_inputs
            Inputs as well.
        """

        def renamed(old: Any, new: str, user: Any) -> None:
            if user.op == "output" or replace_inputs and old.op == "placeholder":
                self.replace_all_uses(old.name, new)

        return renamed

    def __str__(self) -> str:
        inputs, outputs = ("\n".join(str(spec) for spec in specs) for specs in (self.input_specs, self.output_specs))
        return f"\n# inputs\n{inputs}\n\n# outputs\n{outputs}\n"


def _shown(argument: Any) -> Any:
    return argument.value if isinstance(argument, ConstantArgument) else argument.name
