"""Whether a gradient fits the tensor it is for, and how it is made to fit."""

from __future__ import annotations

from typing import Any

from mt_core.keys import BACKEND_MASK
from mt_core.tensor import Tensor

from .node import Node, OutputSpec, device_of_keys

__all__ = ["fit_gradient", "fitted", "refuse_integers", "sum_to_shape"]


def fit_gradient(grad: Any, spec: OutputSpec, producer: Node, index: int) -> Tensor:
    """The gradient in the shape and dtype of the tensor that `spec` describes; in its own where there is no dtype.

    A formula's gradient may still be broadcast, or of the dtype that the operator computed in: it is summed, its real
    part is taken for a real tensor, and it is converted.

    Raises
    ------
    RuntimeError
        In PyTorch's words, naming the `producer` and which of its gradients it is, where shape or device do not fit.
    """
    shape, dtype, keys = spec
    if grad._array.shape != shape:
        grad = _summed(grad, shape, producer, index)
    if dtype is not None and grad._dtype is not dtype:
        if grad._dtype.is_complex and not dtype.is_complex:
            if producer.strict_gradients:
                raise RuntimeError(
                    f"Function {producer.name()} returned a complex gradient at index {index} for an input of dtype "
                    f"{dtype}"
                )
            grad = grad.real
        refuse_integers(dtype)
        grad = grad.to(dtype)
    if (grad._keys ^ keys) & BACKEND_MASK:
        grad = _on_device(grad, keys, producer, index)
    return grad  # type: ignore[no-any-return]


def refuse_integers(dtype: Any) -> None:
    """Refuse a gradient of integers, which require grad where something that does was written to them.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(
            'isDifferentiableType(grad.scalar_type()) INTERNAL ASSERT FAILED at "/__w/pytorch/pytorch/torch/csrc/'
            'autograd/engine.cpp":998, please report a bug to PyTorch. '
        )


def fitted(grad: Any, producer: Node, index: int, shape: tuple[int, ...], dtype: Any) -> Any:
    """As `fit_gradient`, where there is a gradient at all and its device is known to be right."""
    return None if grad is None else fit_gradient(grad, (shape, dtype, grad._keys), producer, index)


def _summed(grad: Any, shape: tuple[int, ...], producer: Node, index: int) -> Any:
    if not is_expandable(shape, grad._array.shape):
        raise RuntimeError(
            f"Function {producer.name()} returned an invalid gradient at index {index} - got {list(grad.shape)} but "
            f"expected shape compatible with {list(shape)}"
        )
    return sum_to_shape(grad, shape)


def _on_device(grad: Any, keys: int, producer: Node, index: int) -> Any:
    if not grad.dim():
        return grad.to(device_of_keys(keys))
    raise RuntimeError(
        f"Function {producer.name()} returned an invalid gradient at index {index} - expected device "
        f"{device_of_keys(keys)} but got {grad.device}"
    )


def is_expandable(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether a tensor of `shape` broadcasts to `target`."""
    lead = len(target) - len(shape)
    return lead >= 0 and all(size in (1, full) for size, full in zip(shape, target[lead:]))


def sum_to_shape(grad: Any, shape: tuple[int, ...]) -> Any:
    """Undo broadcasting: the sum over the dimensions that were widened from `shape`."""
    full = grad._array.shape
    lead = len(full) - len(shape)
    widened = [i for i in range(len(full)) if i < lead or shape[i - lead] == 1 and full[i] != 1]
    if widened:
        grad = grad.sum(widened, keepdim=True)
    return grad.reshape(shape) if lead else grad
