"""``torch.cond``: one of two functions, chosen by a value."""

from collections.abc import Callable
from typing import Any

from mt_core import Tensor

__all__ = ["cond"]


def cond(
    pred: bool | int | float | Tensor,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    operands: tuple[Any, ...] | list[Any] = (),
) -> Any:
    """What ``true_fn(*operands)`` returns where `pred` is true, else what ``false_fn(*operands)`` returns.

    Nothing is traced: only the function that is chosen is called, with its gradients, and whether the other would
    return the same structure, shapes and dtypes is not looked at.

    Raises
    ------
    RuntimeError
        When `pred` is a tensor of another number of elements than one.
    """
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    return (true_fn if pred else false_fn)(*operands)
