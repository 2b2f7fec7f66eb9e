"""Limiting gradients before an optimizer's step."""

import types
import warnings
from collections.abc import Iterable

import mt_core as mt
from mt_core import Tensor
from mt_core.api import _functions as ops

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]

Tensors = Tensor | Iterable[Tensor]


def _as_list(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


#: Devices whose tensors may be worked on as lists; others are taken one by one.
_WITH_LISTS = ("cpu", "cuda", "xpu", "mtia")


def _takes_lists(tensors: list[Tensor], device: mt.device, foreach: bool | None) -> bool:
    """Whether tensors of one device are worked on as a list: where that is asked for, or nothing speaks against it.

    Raises
    ------
    RuntimeError
        Where it is asked for and the device cannot.
    """
    supported = device.type in _WITH_LISTS
    if foreach and not supported:
        raise RuntimeError(f"foreach=True was passed, but can't use the foreach API on {device.type} tensors")
    return bool(foreach) or foreach is None and supported and all(type(t) is Tensor for t in tensors)


def _by_device(tensors: list[Tensor]) -> dict[mt.device, list[Tensor]]:
    groups: dict[mt.device, list[Tensor]] = {}
    for tensor in tensors:
        groups.setdefault(tensor.device, []).append(tensor)
    return groups


def _grads(parameters: Tensors) -> list[Tensor]:
    return [param.grad for param in _as_list(parameters) if param.grad is not None]


@mt.no_grad()
def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of all tensors' elements together.

    Parameters
    ----------
    tensors
        One tensor or several.
    norm_type
        Order of the norm; may be infinite.
    error_if_nonfinite
        Whether a norm that is not finite is an error.
    foreach
        Whether the ``torch._foreach_`` operators do it; by default they do where the device has them.
    """
    tensors = _as_list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return mt.tensor(0.0)
    device = tensors[0].device
    norms: list[Tensor] = []
    for place, group in _by_device(tensors).items():
        if _takes_lists(group, place, foreach):
            norms += ops._foreach_norm(group, norm_type)
        else:
            norms += [mt.linalg_vector_norm(tensor, norm_type) for tensor in group]
    norms = [norm.to(device) for norm in norms]
    total_norm = mt.linalg_vector_norm(mt.stack(norms), norm_type)
    if error_if_nonfinite and bool(mt.logical_or(total_norm.isnan(), total_norm.isinf())):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total_norm


@mt.no_grad()
def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale gradients, in place, by ``max_norm / (total_norm + 1e-6)`` where that is below 1.

    Parameters
    ----------
    parameters
        Whose gradients; those without one are passed over.
    max_norm
        The norm to scale down to.
    total_norm
        The present norm.
    foreach
        Whether the ``torch._foreach_`` operators do it; by default they do where the device has them.
    """
    grads = _grads(parameters)
    if not grads:
        return
    # Multiplying by 1 costs less than asking the device whether there is anything to do.
    factor = mt.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
    for place, group in _by_device(grads).items():
        own = factor.to(place)
        if _takes_lists(group, place, foreach):
            ops._foreach_mul_(group, own)
        else:
            for grad in group:
                grad.mul_(own)


@mt.no_grad()
def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale gradients, in place, so that the norm of all of them together is at most `max_norm`.

    Parameters
    ----------
    parameters
        Whose gradients; those without one are passed over.
    max_norm
        The limit.
    norm_type
        Order of the norm; may be infinite.
    error_if_nonfinite
        Whether a norm that is not finite is an error.
    foreach
        Whether the ``torch._foreach_`` operators do it; by default they do where the device has them.

    Returns
    -------
    Tensor
        The norm before.
    """
    if isinstance(parameters, Tensor):
        parameters = [parameters]
    else:
        is_generator = isinstance(parameters, types.GeneratorType)
        parameters = list(parameters)
        if is_generator and not parameters:
            warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3)
    total_norm = get_total_norm(_grads(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total_norm, foreach)
    return total_norm


def clip_grad_norm(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Former name of `clip_grad_norm_`."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@mt.no_grad()
def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Limit each element of gradients, in place, to the range from -`clip_value` to `clip_value`.

    Parameters
    ----------
    parameters
        Whose gradients; those without one are passed over.
    clip_value
        The limit.
    foreach
        Whether the ``torch._foreach_`` operators do it; by default they do where the device has them.
    """
    clip_value = float(clip_value)
    for place, group in _by_device(_grads(parameters)).items():
        if _takes_lists(group, place, foreach):
            ops._foreach_clamp_min_(group, -clip_value)
            ops._foreach_clamp_max_(group, clip_value)
        else:
            for grad in group:
                grad.clamp_(min=-clip_value, max=clip_value)
