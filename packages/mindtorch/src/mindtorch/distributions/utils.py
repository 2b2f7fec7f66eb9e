"""``torch.distributions.utils``: what distributions share."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Generic, TypeVar, overload

import mt_core as mt
import mt_nn.functional as F
from mt_core import Tensor

from ..overrides import is_tensor_like

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "euler_constant",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060

T = TypeVar("T", contravariant=True)
R = TypeVar("R", covariant=True)


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors and numbers as tensors of one shape; numbers take dtype and device of the first tensor, if there is one.

    Raises
    ------
    ValueError
        For what is neither a tensor nor a number.
    """
    if not all(is_tensor_like(v) or isinstance(v, (int, float, complex)) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    if all(is_tensor_like(v) for v in values):
        return mt.broadcast_tensors(*values)
    options: dict[str, Any] = {"dtype": mt.get_default_dtype()}
    for value in values:
        if isinstance(value, Tensor):
            options = {"dtype": value.dtype, "device": value.device}
            break
    return mt.broadcast_tensors(*[v if is_tensor_like(v) else mt.tensor(v, **options) for v in values])


def standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Normal numbers of mean 0 and variance 1, drawn as `torch.normal` draws them."""
    return mt.normal(mt.zeros(shape, dtype=dtype, device=device), mt.ones(shape, dtype=dtype, device=device))


_standard_normal = standard_normal


def sum_rightmost(value: Any, dim: int) -> Any:
    """The sum over the last `dim` dimensions."""
    return value if dim == 0 else value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


_sum_rightmost = sum_rightmost


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of logarithms of odds (`is_binary`), or of logarithms of shares along the last dimension."""
    return mt.sigmoid(logits) if is_binary else F.softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept one rounding unit away from 0 and 1."""
    eps = mt.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """The inverse of `logits_to_probs`, of `clamp_probs` of the probabilities."""
    inside = clamp_probs(probs)
    return mt.log(inside) - mt.log1p(-inside) if is_binary else mt.log(inside)


class lazy_property(Generic[T, R]):
    """A property that is computed at its first use, with gradients, and kept in the object."""

    def __init__(self, wrapped: Callable[[T], R]) -> None:
        self.wrapped: Callable[[T], R] = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    @overload
    def __get__(self, instance: None, obj_type: Any = None) -> _lazy_property_and_property[T, R]: ...

    @overload
    def __get__(self, instance: object, obj_type: Any = None) -> R: ...

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with mt.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property[T, R], property):
    """What a lazy property is of the class: a property, too, so that its documentation is found."""

    def __init__(self, wrapped: Callable[[T], R]) -> None:
        property.__init__(self, wrapped)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements on and below a diagonal, row by row: (*, n, n) -> (*, elements).

    Raises
    ------
    ValueError
        For a diagonal outside of the matrix.
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows = mt.arange(n, device=mat.device)
    return mat[..., rows < rows.view(-1, 1) + (diag + 1)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The inverse of `tril_matrix_to_vec`, zero above the diagonal: (*, elements) -> (*, n, n).

    Raises
    ------
    ValueError
        Where no n gives as many elements.
    """
    # The positive root of n (n + 1) / 2 + n diag - |diag| (diag + 1) / 2 = elements.
    n = (-(1 + 2 * diag) + math.sqrt((1 + 2 * diag) ** 2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1))) / 2
    if not round(n) - n <= mt.finfo(vec.dtype).eps * 4:
        raise ValueError(
            f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as the lower triangular part of "
            "a square D x D matrix."
        )
    size = round(n)
    made = mt.zeros(vec.shape[:-1] + (size, size), dtype=vec.dtype, device=vec.device)
    rows = mt.arange(size, device=vec.device)
    made[..., rows < rows.view(-1, 1) + (diag + 1)] = vec
    return made
