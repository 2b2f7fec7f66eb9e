"""``torch.func`` on modules: calls with other parameters, ensembles, batch norm under ``vmap``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mt_core import Tensor, stack

from .modules import BatchNorm1d, BatchNorm2d, BatchNorm3d
from .modules.module import Module
from .utils.stateless import _functional_call

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]

Parameters = dict[str, Tensor]


def functional_call(
    module: Module, parameter_and_buffer_dicts: Parameters | Sequence[Parameters], args: Any = None,
    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """Call a module with other parameters and buffers than its own.

    Parameters
    ----------
    parameter_and_buffer_dicts
        Dotted name -> tensor, or several such dicts without a common name. What is written to a tensor in place shows
        in the dict.
    args
        The positional arguments; what is no tuple is the only one.
    tie_weights
        Whether a tensor given for one name of a shared parameter stands for its other names.
    strict
        Whether all names of the module must be given, and no others.

    Raises
    ------
    ValueError
        For what is no dict, for a name given twice, and for different tensors given for one shared parameter.
    RuntimeError
        With `strict`, for missing and unexpected names.
    """
    given = parameter_and_buffer_dicts
    if not isinstance(given, dict):
        given = _joined(given)
    return _functional_call(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def _joined(given: Sequence[Parameters]) -> Parameters:
    if not isinstance(given, Sequence):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(given)}"
        )
    if not all(isinstance(item, dict) for item in given):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    names = [name for item in given for name in item]
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
    return {name: tensor for item in given for name, tensor in item.items()}


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of several models of one class, stacked along a new first dimension.

    With ``vmap`` over that dimension, `functional_call` runs all models at once.

    Returns
    -------
    tuple of dict
        Parameters, leaves that require grad as the models' do; and buffers.

    Raises
    ------
    RuntimeError
        When there are no models, or they differ in class, in mode, or in whether a parameter requires grad.
    """
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if any(model.training is not models[0].training for model in models):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(model) is not type(models[0]) for model in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    return (
        {name: _stacked_leaf(name, [own[name] for own in parameters]) for name in parameters[0]},
        {name: stack([own[name] for own in buffers]) for name in buffers[0]},
    )


def _stacked_leaf(name: str, tensors: list[Tensor]) -> Tensor:
    if any(tensor.requires_grad is not tensors[0].requires_grad for tensor in tensors):
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    return stack(tensors).detach().requires_grad_(tensors[0].requires_grad)


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Let no batch norm of a module keep running statistics, in place: it normalizes by the batch at hand alone.

    ``vmap`` cannot write what differs between its calls into statistics that they share.
    """
    for module in root.modules():
        if isinstance(module, (BatchNorm1d, BatchNorm2d, BatchNorm3d)):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
