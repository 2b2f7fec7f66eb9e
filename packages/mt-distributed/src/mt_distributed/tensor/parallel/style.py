"""What can be done to a module: which placements its parameters, inputs and outputs get."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import mt_core as mt
from mt_nn import Embedding, Linear, Module, Parameter

from ...device_mesh import DeviceMesh
from .._api import DTensor, distribute_module, distribute_tensor
from ..placement_types import Placement, Replicate, Shard

__all__ = [
    "ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput",
    "RowwiseParallel", "SequenceParallel",
]  # fmt: skip

Layouts = tuple[Placement, ...]


class ParallelStyle(ABC):
    """What `parallelize_module` does to a module."""

    #: From which rank of the mesh dimension parameters are taken; None for each rank's own.
    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        """Make the module distributed, in place; the module."""


def _as_distributed(tensor: Any, mesh: DeviceMesh, layouts: Sequence[Placement]) -> Any:
    if isinstance(tensor, DTensor):
        return tensor
    return DTensor.from_local(tensor, mesh, layouts, run_check=False)


def _brought(tensor: DTensor, layouts: Sequence[Placement]) -> DTensor:
    return tensor if tensor.placements == tuple(layouts) else tensor.redistribute(placements=layouts)


class _OfLayer(ParallelStyle):
    """A layer with a weight: inputs and outputs are the first argument and the result."""

    #: Class of the layer -> (placement of the weight, of the bias, what the input is brought to).
    _kinds: dict[type, tuple[Placement, Placement, Placement]]

    def __init__(self, inputs: Placement, outputs: Placement, use_local_output: bool) -> None:
        super().__init__()
        self.input_layouts: Layouts = (inputs,)
        self.output_layouts: Layouts = (outputs,)
        self.use_local_output = use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        kind = next((found for cls, found in self._kinds.items() if isinstance(module, cls)), None)
        if kind is None:
            raise NotImplementedError(f"{type(self).__name__} currently only support nn.Linear and nn.Embedding!")
        weight, bias, wanted = kind

        def partition(name: str, part: Module, mesh: DeviceMesh) -> None:
            for key, parameter in list(part.named_parameters(recurse=False)):
                spread = distribute_tensor(
                    parameter.detach(), mesh, [bias if key == "bias" else weight], src_data_rank=self.src_data_rank
                )
                part.register_parameter(key, Parameter(spread, requires_grad=parameter.requires_grad))

        def before(part: Module, inputs: Any, mesh: DeviceMesh) -> Any:
            given = _brought(_as_distributed(inputs[0], mesh, self.input_layouts), _from_front(wanted, inputs[0].ndim))
            return (given, *inputs[1:])

        def after(part: Module, output: Any, mesh: DeviceMesh) -> Any:
            made = _brought(output, _from_front(self.output_layouts[0], output.ndim))
            return made.to_local() if self.use_local_output else made

        return distribute_module(module, device_mesh, partition, before, after)


def _from_front(placement: Placement, ndim: int) -> Layouts:
    if isinstance(placement, Shard) and placement.dim < 0:
        return (Shard(placement.dim + ndim),)
    return (placement,)


class ColwiseParallel(_OfLayer):
    """Each rank has some of the outputs of a ``Linear``, or some columns of an ``Embedding``.

    Parameters
    ----------
    input_layouts
        What a plain input is of the whole; by default the same on all ranks.
    output_layouts
        How the output is to lie; by default split along its last dimension.
    use_local_output
        Whether the output is this rank's part, and no `DTensor`.
    """

    def __init__(
        self, *, input_layouts: Placement | None = None, output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(input_layouts or Replicate(), output_layouts or Shard(-1), use_local_output)
        self._kinds = {
            Linear: (Shard(0), Shard(0), Replicate()),
            Embedding: (Shard(1), Replicate(), Replicate()),
        }


class RowwiseParallel(_OfLayer):
    """Each rank has the weights of some inputs of a ``Linear``, or some rows of an ``Embedding``.

    Parameters
    ----------
    input_layouts
        What a plain input is of the whole; by default split along its last dimension.
    output_layouts
        How the output is to lie; by default the same on all ranks.
    use_local_output
        Whether the output is this rank's part, and no `DTensor`.
    """

    def __init__(
        self, *, input_layouts: Placement | None = None, output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(input_layouts or Shard(-1), output_layouts or Replicate(), use_local_output)
        self._kinds = {
            Linear: (Shard(1), Replicate(), Shard(-1)),
            Embedding: (Shard(0), Replicate(), Replicate()),
        }


class SequenceParallel(ParallelStyle):
    """A module such as ``LayerNorm`` or ``Dropout`` works on a part of the sequence; parameters are on all ranks.

    Parameters
    ----------
    sequence_dim
        The dimension of the input that is split.
    use_local_output
        Whether the output is this rank's part, and no `DTensor`.
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        super().__init__()
        self.sequence_sharding: Layouts = (Shard(sequence_dim),)
        self.use_local_output = use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        def partition(name: str, part: Module, mesh: DeviceMesh) -> None:
            for key, parameter in list(part.named_parameters(recurse=False)):
                # What all ranks have made alike need not travel.
                part.register_parameter(key, Parameter(DTensor.from_local(parameter.detach(), mesh, [Replicate()])))

        def before(part: Module, inputs: Any, mesh: DeviceMesh) -> Any:
            given = inputs[0]
            if not isinstance(given, mt.Tensor):
                raise ValueError(f"expecting input of {part} to be a torch.Tensor or DTensor, but got {given}")
            return (_brought(_as_distributed(given, mesh, self.sequence_sharding), self.sequence_sharding), *inputs[1:])

        def after(part: Module, output: Any, mesh: DeviceMesh) -> Any:
            return output.to_local() if self.use_local_output else output

        return distribute_module(module, device_mesh, partition, before, after)


def _tuple(layouts: Any) -> tuple[Placement | None, ...]:
    return (layouts,) if isinstance(layouts, Placement) else tuple(layouts)


class PrepareModuleInput(ParallelStyle):
    """The inputs of a module become `DTensor` of some placements before its forward.

    Parameters
    ----------
    input_layouts, input_kwarg_layouts
        What plain inputs are of the whole, by position and by name; None for those that are left as they are.
    desired_input_layouts, desired_input_kwarg_layouts
        How they are to lie.
    use_local_output
        Whether the forward gets this rank's parts, and no `DTensor`.
    """

    def __init__(
        self, *, input_layouts: Any = None, desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None, use_local_output: bool = False,
    ) -> None:  # fmt: skip
        self.input_layouts = None if input_layouts is None else _tuple(input_layouts)
        self.desired_input_layouts = None if desired_input_layouts is None else _tuple(desired_input_layouts)
        self.use_local_output = use_local_output
        if self.input_layouts is not None:
            assert self.desired_input_layouts is not None, "desired module inputs should not be None!"
            assert len(self.input_layouts) == len(self.desired_input_layouts), (
                "input_layouts and desired_input_layouts should have same length!"
            )
        self.with_kwargs = input_kwarg_layouts is not None
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        if self.with_kwargs:
            assert len(self.input_kwarg_layouts) == len(self.desired_input_kwarg_layouts), (
                "input_kwarg_layouts and desired_input_kwarg_layouts should have same length!"
            )

    def _prepared(self, value: Any, mesh: DeviceMesh, layout: Placement | None, wanted: Placement | None) -> Any:
        if layout is None or not isinstance(value, mt.Tensor):
            return value
        given = _as_distributed(value, mesh, (layout,))
        if wanted is not None:
            given = _brought(given, _from_front(wanted, given.ndim))
        return given.to_local() if self.use_local_output else given

    def _inputs(self, inputs: Any, mesh: DeviceMesh) -> Any:
        if self.input_layouts is None or self.desired_input_layouts is None:
            return inputs
        inputs = inputs if isinstance(inputs, tuple) else (inputs,)
        if len(inputs) != len(self.input_layouts):
            raise ValueError("module inputs and input_layouts should have same length!")
        return tuple(
            self._prepared(value, mesh, layout, wanted)
            for value, layout, wanted in zip(inputs, self.input_layouts, self.desired_input_layouts, strict=True)
        )

    def _keywords(self, kwargs: dict[str, Any], mesh: DeviceMesh) -> dict[str, Any]:
        return {
            name: self._prepared(
                value, mesh, self.input_kwarg_layouts.get(name), self.desired_input_kwarg_layouts.get(name)
            )
            for name, value in kwargs.items()
        }

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        if self.with_kwargs:
            module.register_forward_pre_hook(
                lambda _, inputs, kwargs: (self._inputs(inputs, device_mesh), self._keywords(kwargs, device_mesh)),
                with_kwargs=True,
            )
        else:
            module.register_forward_pre_hook(lambda _, inputs: self._inputs(inputs, device_mesh))
        return module


class PrepareModuleOutput(ParallelStyle):
    """The outputs of a module become `DTensor` of some placements after its forward.

    Parameters
    ----------
    output_layouts
        What plain outputs are of the whole; None for those that are left as they are.
    desired_output_layouts
        How they are to lie.
    use_local_output
        Whether the result is this rank's parts, and no `DTensor`.
    """

    def __init__(self, *, output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True) -> None:
        self.output_layouts = _tuple(output_layouts)
        self.desired_output_layouts = _tuple(desired_output_layouts)
        self.use_local_output = use_local_output
        assert len(self.output_layouts) == len(self.desired_output_layouts), (
            "output_layouts and desired_output_layouts should have same length!"
        )

    def _outputs(self, outputs: Any, mesh: DeviceMesh) -> Any:
        many = outputs if isinstance(outputs, tuple) else (outputs,)
        if len(many) != len(self.output_layouts):
            raise ValueError("module outputs and output_layouts should have same length!")
        made = []
        for value, layout, wanted in zip(many, self.output_layouts, self.desired_output_layouts, strict=True):
            if layout is None:
                made.append(value)
                continue
            given = _as_distributed(value, mesh, (layout,))
            if wanted is not None:
                given = _brought(given, _from_front(wanted, given.ndim))
            made.append(given.to_local() if self.use_local_output else given)
        return made[0] if len(made) == 1 else tuple(made)

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        module.register_forward_hook(lambda _, inputs, outputs: self._outputs(outputs, device_mesh))
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """`PrepareModuleInput` and `PrepareModuleOutput` of one module; `use_local_input` is the former's choice."""

    def __init__(
        self, *, input_layouts: Any = None, desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None, use_local_input: bool = False,
        output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True,
    ) -> None:  # fmt: skip
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts, desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts, desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )  # fmt: skip
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        self.prepare_module_input._apply(module, device_mesh)
        self.prepare_module_output._apply(module, device_mesh)
        return module
