"""Distances and similarities between vectors."""

import mt_core as mt
from mt_core import Tensor

__all__ = ["normalize"]


def normalize(
    input: Tensor, p: float = 2.0, dim: int | tuple[int, ...] = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """x divided by its norm along `dim`.

    Parameters
    ----------
    input
        Any shape.
    p
        Order of the norm.
    dim
        One dimension or several.
    eps
        What the norm is at least taken to be.
    out
        Where to write the result, which then is not differentiable.
    """
    norm = input.norm(p, dim, keepdim=True)
    if out is None:
        return input / norm.clamp_min(eps).expand_as(input)
    return mt.div(input, norm.clamp_min_(eps).expand_as(input), out=out)
