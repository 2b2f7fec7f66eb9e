"""Parameters as one vector."""

from collections.abc import Iterable

import mt_core as mt
from mt_core import Tensor

from .._type_names import type_name

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of parameters, one after another, in one vector."""
    device = None
    flat = []
    for param in parameters:
        device = _check_param_device(param, device)
        flat.append(param.view(-1))
    return mt.cat(flat)


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Let parameters be slices of a vector, in whose memory they then lie."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type_name(vec)}")
    device = None
    start = 0
    for param in parameters:
        device = _check_param_device(param, device)
        count = param.numel()
        param.data = vec[start : start + count].view_as(param).data
        start += count


def _check_param_device(param: Tensor, device: mt.device | None) -> mt.device:
    """The device of all parameters so far, which must be one."""
    if device is not None and param.device != device:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
    return param.device
