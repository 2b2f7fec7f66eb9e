"""Modules as functions of their parameters: what preceded ``torch.func.functional_call``."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from mt_core import Tensor, stack
from mt_nn.modules.module import Module
from mt_nn.parameter import Parameter
from mt_nn.utils.stateless import _functional_call

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "functional_init",
    "functional_init_with_buffers", "make_functional", "make_functional_with_buffers",
]  # fmt: skip

Tensors = tuple[Tensor, ...]


class _Functional(Module):
    """A module without memory for its parameters and buffers, and their names."""

    def __init__(self, stateless_model: Module, names: Sequence[str], names_map: dict[str, list[str]]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = tuple(names)
        self._names_of = names_map

    def _called(self, given: dict[str, Any], args: Any, kwargs: dict[str, Any]) -> Any:
        everywhere = {other: tensor for name, tensor in given.items() for other in self._names_of[name]}
        return _functional_call(self.stateless_model, everywhere, args, kwargs, tie_weights=False, strict=False)


class FunctionalModule(_Functional):
    """``function(parameters, *args, **kwargs)``."""

    @property
    def names_map(self) -> dict[str, list[str]]:
        """Name of each parameter -> all names that the module has for it."""
        return self._names_of

    def forward(self, params: Iterable[Tensor], *args: Any, **kwargs: Any) -> Any:
        """What the module gives with these parameters, in the order of `param_names`."""
        return self._called(dict(zip(self.param_names, params, strict=True)), args, kwargs)


class FunctionalModuleWithBuffers(_Functional):
    """``function(parameters, buffers, *args, **kwargs)``; the buffers are written to."""

    buffer_names: tuple[str, ...] = ()

    @property
    def all_names_map(self) -> dict[str, list[str]]:
        """Name of each parameter and buffer -> all names that the module has for it."""
        return self._names_of

    def forward(self, params: Iterable[Tensor], buffers: Iterable[Tensor], *args: Any, **kwargs: Any) -> Any:
        """What the module gives with these parameters and buffers, in the order of their names."""
        given = dict(zip(self.param_names, params, strict=True))
        given.update(zip(self.buffer_names, buffers, strict=True))
        return self._called(given, args, kwargs)


def _emptied(module: Module) -> tuple[dict[str, Tensor], dict[str, Tensor], dict[str, list[str]]]:
    """Leave tensors without memory in a module; its parameters and buffers by their first names, all their names."""
    parameters: dict[str, Tensor] = dict(module.named_parameters())
    buffers = dict(module.named_buffers())
    first = {id(tensor): name for name, tensor in (parameters | buffers).items()}
    names: dict[str, list[str]] = {name: [] for name in (*parameters, *buffers)}
    for name, tensor in (
        *module.named_parameters(remove_duplicate=False),
        *module.named_buffers(remove_duplicate=False),
    ):
        names[first[id(tensor)]].append(name)
    for name, others in names.items():
        tensor = parameters[name] if name in parameters else buffers[name]
        empty = tensor.detach().to("meta")
        stand_in = Parameter(empty, tensor.requires_grad) if name in parameters else empty
        for other in others:
            _put(module, other, stand_in)
    return parameters, buffers, names


def _put(module: Module, path: str, tensor: Tensor) -> None:
    prefix, _, name = path.rpartition(".")
    owner = module.get_submodule(prefix)
    tensors: dict[str, Any] = owner._parameters if name in owner._parameters else owner._buffers
    tensors[name] = tensor


def _copies(parameters: Iterable[Tensor], disable_autograd_tracking: bool) -> Tensors:
    made = tuple(parameters)
    if disable_autograd_tracking:
        for parameter in made:
            parameter.requires_grad_(False)
    return made


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, Tensors]:
    """A function with the structure of a module, and copies of its parameters.

    Raises
    ------
    RuntimeError
        For a module with buffers.
    """
    if list(model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    own = copy.deepcopy(model)
    parameters, _, names = _emptied(own)
    return FunctionalModule(own, list(parameters), names), _copies(parameters.values(), disable_autograd_tracking)


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    """A function with the structure of a module, and copies of its parameters and of its buffers."""
    own = copy.deepcopy(model)
    parameters, buffers, names = _emptied(own)
    made = FunctionalModuleWithBuffers(own, list(parameters), names)
    made.buffer_names = tuple(buffers)
    return made, _copies(parameters.values(), disable_autograd_tracking), tuple(buffers.values())


def _stacked(columns: Iterable[Tensors]) -> Tensors:
    return tuple(stack(tensors).detach() for tensors in zip(*columns, strict=True))


def combine_state_for_ensemble(models: Sequence[Module]) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    """A function with the structure of several modules of one class, and their parameters and buffers stacked.

    Raises
    ------
    RuntimeError
        When there are no modules, or they differ in class or mode.
    """
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if any(model.training is not models[0].training for model in models):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if any(type(model) is not type(models[0]) for model in models):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    made = [make_functional_with_buffers(model) for model in models]
    return made[0][0], _stacked(parameters for _, parameters, _ in made), _stacked(buffers for *_, buffers in made)


# The older forms: functions of weights (and buffers) and a tuple of arguments


def _without_buffers(model: Module) -> tuple[Tensors, Callable[..., Any], tuple[str, ...]]:
    if list(model.buffers()):
        raise RuntimeError(
            "make_functional_deprecated_v1(model): `model` has buffers. Please use "
            "make_functional_with_buffers_deprecated_v1(model) instead."
        )
    function, parameters = make_functional(model)

    def called(weights: Tensors, data: tuple[Any, ...]) -> Any:
        return function(weights, *data)

    return parameters, called, function.param_names


def _with_buffers(
    model: Module,
) -> tuple[Tensors, Tensors, Callable[..., Any], tuple[str, ...], tuple[str, ...]]:
    function, parameters, buffers = make_functional_with_buffers(model)

    def called(weights: Tensors, of_buffers: Tensors, data: tuple[Any, ...]) -> Any:
        return function(weights, of_buffers, *data)

    return parameters, buffers, called, function.param_names, function.buffer_names


def _count(ensemble_shape: Sequence[int]) -> int:
    if len(ensemble_shape) > 1:
        raise ValueError("NYI: ensemble_shape with more than 1 element")
    if ensemble_shape[0] <= 0:
        raise ValueError(f"num_models {ensemble_shape[0]} should be > 0")
    return ensemble_shape[0]


def functional_init(
    model_class: Callable[..., Module], ensemble_shape: tuple[int, ...] = (), device: Any = "cpu"
) -> Callable[..., Any]:
    """A function that makes modules of a class, and gives their weights, a function of them, and their names.

    With an `ensemble_shape` of ``(n,)`` the weights are those of n modules, stacked.

    Raises
    ------
    ValueError
        When it is called: for an `ensemble_shape` of more dimensions, or without models.
    RuntimeError
        When it is called: for modules with buffers.
    """

    def made(*args: Any, **kwargs: Any) -> Any:
        if not ensemble_shape:
            return _without_buffers(model_class(*args, **kwargs).to(device))
        models = [model_class(*args, **kwargs).to(device) for _ in range(_count(ensemble_shape))]
        found = [_without_buffers(model) for model in models]
        return _stacked(weights for weights, _, _ in found), *found[0][1:]

    return made


def functional_init_with_buffers(
    model_class: Callable[..., Module], ensemble_shape: tuple[int, ...] = (), device: Any = "cpu"
) -> Callable[..., Any]:
    """As `functional_init`, for weights, buffers, a function of both, and the names of both."""

    def made(*args: Any, **kwargs: Any) -> Any:
        if not ensemble_shape:
            return _with_buffers(model_class(*args, **kwargs).to(device))
        models = [model_class(*args, **kwargs).to(device) for _ in range(_count(ensemble_shape))]
        found = [_with_buffers(model) for model in models]
        weights, buffers = _stacked(row[0] for row in found), _stacked(row[1] for row in found)
        return weights, buffers, *found[0][2:]

    return made
