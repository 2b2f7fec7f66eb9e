"""``torch.nn.utils._per_sample_grad``: gradients of parameters, one for each sample of a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import mt_core as mt
from mt_core.pytree import tree_flatten, tree_map_only, tree_unflatten
from mt_core.transforms.vmapping import vmap

from ..modules.batchnorm import _BatchNorm
from ..modules.module import Module
from ..modules.rnn import RNNBase

__all__ = ["call_for_per_sample_grads"]


def call_for_per_sample_grads(
    module: Module, *, batch_size: int | None = None, loss_reduction: str = "sum", batch_first: bool = True
) -> Callable[..., Any]:
    """A module that leaves a gradient for each sample in ``grad_sample`` of its parameters, and nothing in ``grad``.

    It is carried out for all samples at once, with parameters that each sample has for itself.

    Parameters
    ----------
    batch_size
        How many samples the inputs have; by default that of the tensors among them, which must be one.
    loss_reduction
        ``"mean"`` multiplies the gradients by the number of samples, by which the loss has divided them.
    batch_first
        Whether samples are along the first dimension of inputs and outputs, else they are along the second.

    Raises
    ------
    RuntimeError
        For other arguments in PyTorch's words; where a parameter still has a ``grad_sample``; and for batch norms in
        training, whose samples depend on each other.
    NotImplementedError
        For recurrent modules, whose states have their samples elsewhere.
    """
    if not isinstance(module, Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        raise RuntimeError(f"Batch size passed must be None or an integer, got {type(batch_size).__name__}")
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"Batch size must be positive, got {batch_size}")
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}")
    _refuse_modules(module)

    @functools.wraps(module.forward)
    def call(*args: Any, **kwargs: Any) -> Any:
        wanted = {name: p for name, p in module.named_parameters() if p.requires_grad}
        for parameter in wanted.values():
            if getattr(parameter, "grad_sample", None) is not None:
                raise RuntimeError(
                    "Current Expanded Weights accumulates the gradients, which will be incorrect for multiple calls "
                    f"without clearing gradients. Please clear out the grad_sample parameter of {parameter} or post an "
                    "issue to pytorch/pytorch to prioritize correct behavior"
                )
        dim = 0 if batch_first else 1
        count = batch_size if batch_size is not None else _count_in((args, kwargs), dim)
        factor = count if loss_reduction == "mean" else 1
        expanded = {name: _for_each_sample(parameter, count, factor) for name, parameter in wanted.items()}
        return _carried_out(module, expanded, args, kwargs, count, dim)

    return call


def _refuse_modules(module: Module) -> None:
    for part in module.modules():
        if isinstance(part, _BatchNorm) and part.training:
            raise RuntimeError(
                f"Expanded Weights encountered but cannot handle {type(part).__name__} in training: its samples depend "
                "on each other"
            )
        if isinstance(part, RNNBase):
            raise NotImplementedError(
                f"call_for_per_sample_grads of {type(part).__name__} is not supported by mindtorch. "
                "Use torch.func.vmap of torch.func.grad."
            )


def _count_in(inputs: Any, dim: int) -> int:
    """The number of samples of the tensors in a structure."""
    count = None
    for leaf in tree_flatten(inputs)[0]:
        if not isinstance(leaf, mt.Tensor):
            continue
        own = leaf.shape[dim]
        if count is not None and own != count:
            raise RuntimeError(
                f"When computing batch size, found at least one input with batch size {count} and one with batch size "
                f"{own}. Please specify it explicitly using the batch size kwarg in call_for_per_sample_grads"
            )
        count = own
    if count is None:
        raise RuntimeError(
            "Unable to find a tensor in the passed args and kwargs. They may not be pytree-able and so ExpandedWeights "
            "cannot compute the batch size from the inputs. Please specify it explicitly"
        )
    return int(count)


def _for_each_sample(parameter: Any, count: int, factor: int) -> mt.Tensor:
    """The parameter `count` times, without memory of its own; its gradient becomes the parameter's ``grad_sample``."""
    leaf = parameter.detach().expand(count, *parameter.shape).requires_grad_()

    def hand_over(gradient: mt.Tensor) -> mt.Tensor:
        made = gradient.detach() * factor if factor != 1 else gradient.detach()
        before = getattr(parameter, "grad_sample", None)
        parameter.grad_sample = made if before is None else before + made
        return gradient

    leaf.register_hook(hand_over)
    return leaf  # type: ignore[no-any-return]


def _carried_out(module: Module, expanded: dict[str, mt.Tensor], args: Any, kwargs: Any, count: int, dim: int) -> Any:
    """The outputs of a module whose samples have parameters of their own."""
    from ..func import functional_call  # late: mt_nn.func imports this package's stateless

    leaves, structure = tree_flatten((args, kwargs))
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, mt.Tensor)]
    for place in places:
        if leaves[place].shape[dim] != count:
            raise RuntimeError(
                f"Expected every input tensor to have {count} samples along dimension {dim}, but got "
                f"{tuple(leaves[place].shape)}"
            )

    def of_one(parameters: dict[str, mt.Tensor], *samples: mt.Tensor) -> Any:
        given = list(leaves)
        for place, sample in zip(places, samples, strict=True):
            given[place] = sample.unsqueeze(dim)
        own_args, own_kwargs = tree_unflatten(given, structure)
        made = functional_call(module, parameters, own_args, own_kwargs)
        return tree_map_only(mt.Tensor, lambda each: _without_samples(each, dim), made)

    mapped = vmap(of_one, in_dims=(0, *[dim] * len(places)), out_dims=dim, randomness="different")
    return mapped(expanded, *(leaves[place] for place in places))


def _without_samples(made: mt.Tensor, dim: int) -> mt.Tensor:
    if made.dim() <= dim or made.shape[dim] != 1:
        raise RuntimeError(f"Expected the module's outputs to have samples along dimension {dim}, but got {made.shape}")
    return made.squeeze(dim)
