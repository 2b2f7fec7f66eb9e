"""How masked tensors are made."""

import warnings
from typing import Any

from mt_autograd.function import Function
from mt_core import Tensor

from .core import MaskedTensor, fitted, masked

__all__ = ["as_masked_tensor", "masked_tensor"]


def _warn() -> None:
    warnings.warn(
        "The PyTorch API of MaskedTensors is in prototype stage and will change in the near future. Please open a "
        "Github issue for features requests and see our documentation on the torch.masked module for further "
        "information about the project.",
        UserWarning,
        stacklevel=3,
    )


def masked_tensor(data: Tensor, mask: Tensor, requires_grad: bool = False) -> Any:
    """A masked tensor on elements and a mask of their shape, without the history of the elements; a leaf.

    Parameters
    ----------
    data
        The elements, whose memory it reads; writes to a masked tensor give it elements of its own.
    mask
        bool: true where an element is there.
    """
    _warn()
    return MaskedTensor(data, mask, requires_grad)


class Constructor(Function):
    """A masked tensor with the history of its elements, whose gradient is masked as well."""

    @staticmethod
    def forward(ctx: Any, data: Any, mask: Any) -> Any:
        return masked(data.detach(), mask)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad, None


def as_masked_tensor(data: Tensor, mask: Tensor) -> Any:
    """`masked_tensor` with the history of the elements; their gradient is a masked tensor."""
    _warn()
    data, mask = fitted(data, mask)
    if data.requires_grad:
        warnings.warn(
            "It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid this, you can "
            "use data.detach().clone()",
            UserWarning,
            stacklevel=2,
        )
    return Constructor.apply(data, mask)
