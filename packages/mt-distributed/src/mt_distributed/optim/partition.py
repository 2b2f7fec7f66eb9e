"""Which process updates which parameter, and flat memory for what one process updates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import mt_core as mt

__all__ = ["bucket_of", "listed_parameters", "partitioned"]


def partitioned(groups: Sequence[dict[str, Any]], size: int) -> list[list[dict[str, Any]]]:
    """Share the parameters of each group among processes: the largest first, each to who has the fewest elements.

    Returns
    -------
    list
        For each process the groups with its parameters, all options included; a group may be empty.
    """
    held = [0] * size
    parts: list[list[dict[str, Any]]] = [[] for _ in range(size)]
    for group in groups:
        shares: list[list[mt.Tensor]] = [[] for _ in range(size)]
        for parameter in sorted(group["params"], key=lambda one: one.numel(), reverse=True):
            rank = held.index(min(held))
            shares[rank].append(parameter)
            held[rank] += parameter.numel()
        for part, share in zip(parts, shares, strict=True):
            part.append({**group, "params": share})
    return parts


def bucket_of(parameters: Sequence[mt.Tensor]) -> mt.Tensor:
    """Copy parameters to flat memory, of which they are parts from now on."""
    first = parameters[0]
    bucket = mt.empty(sum(p.numel() for p in parameters), dtype=first.dtype, device=first.device)
    start = 0
    for parameter in parameters:
        end = start + parameter.numel()
        part = bucket[start:end].view(parameter.shape)
        part.copy_(parameter.detach())
        parameter.data = part
        start = end
    return bucket


def listed_parameters(params: Any) -> tuple[list[Any], list[mt.Tensor]]:
    """What an optimizer was given as a list, and all tensors in it.

    Raises
    ------
    TypeError
        For what is no iterable of tensors, or of dicts.
    ValueError
        Where there is none, a group lacks ``params``, or the tensors differ in kind: type, layout or device.
    """
    if isinstance(params, mt.Tensor):
        raise TypeError(f"`params` argument should be an iterable of Tensors, but got {params.type()}")
    if not isinstance(params, Iterable):
        raise TypeError(f"`params` argument should be an iterable of Tensors or dicts, but got {type(params).__name__}")
    given = list(params)
    if not given:
        raise ValueError("ZeroRedundancyOptimizer got an empty parameter list")
    if all(isinstance(one, mt.Tensor) for one in given):
        tensors = given
    elif all(isinstance(one, dict) for one in given):
        tensors = []
        for group in given:
            if "params" not in group:
                raise ValueError(
                    "Each parameter group passed-in via `params` must have a 'params' key mapping to the parameters "
                    "in the group"
                )
            inner = group["params"]
            inner = [inner] if isinstance(inner, mt.Tensor) else list(inner)
            group["params"] = inner
            tensors += inner
    else:
        raise TypeError("`params` argument should be an iterable of Tensors or dicts")
    _check_one_kind(tensors)
    return given, tensors


def _check_one_kind(tensors: Sequence[mt.Tensor]) -> None:
    kind = tensors[0].type()
    for tensor in tensors:
        if tensor.type() != kind:
            raise ValueError(
                "ZeroRedundancyOptimizer only supports using the same dense type for all parameters but got both "
                f"{kind} and {tensor.type()}"
            )
