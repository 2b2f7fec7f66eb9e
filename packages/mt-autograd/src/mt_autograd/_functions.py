"""``torch.autograd._functions``: what PyTorch has kept of the functions that came before operators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mt_core.tensor import Tensor

from .function import Function

__all__ = ["Resize"]


class Resize(Function):
    """``Resize.apply(tensor, sizes)``: the elements in another shape; a view of what is contiguous, else a copy.

    Raises
    ------
    RuntimeError
        For a shape with another number of elements.
    """

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, sizes: Sequence[int]) -> Tensor:
        """The result, and the former shape for `backward`."""
        if math.prod(sizes) != tensor.numel():
            wanted, given = ("x".join(map(str, shape)) for shape in (sizes, tensor.shape))
            raise RuntimeError(
                f"requested resize to {wanted} ({math.prod(sizes)} elements in total), but the given tensor has a size "
                f"of {given} ({tensor.numel()} elements). autograd's resize can only change the shape of a given "
                "tensor, while preserving the number of elements. "
            )
        ctx.input_sizes = tensor.size()
        return tensor.contiguous().view(tuple(sizes))

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
        """The gradient in the former shape."""
        return grad_output.contiguous().view(ctx.input_sizes), None
