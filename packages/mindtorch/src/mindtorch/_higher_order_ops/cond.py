"""``torch.cond``: one of two functions, chosen by a value."""

from collections.abc import Callable
from typing import Any

from mt_core import Tensor
from mt_core import bool as boolean
from mt_core.api import _functions as ops
from mt_core.pytree import tree_flatten, tree_leaves, tree_unflatten
from mt_core.transforms.batched import hidden_from
from mt_library.higher_order import HigherOrderOperator

from ._leaves import check_alike

__all__ = ["CondOp", "cond", "cond_op"]


class CondOp(HigherOrderOperator):
    """``cond(pred, true_fn, false_fn, operands)``."""

    def __init__(self) -> None:
        super().__init__("cond")

    def __call__(self, pred: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> Any:
        return super().__call__(pred, true_fn, false_fn, operands)


cond_op = CondOp()


@cond_op.py_impl("CompositeImplicitAutograd")
def _chosen(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any) -> Any:
    """The function that is chosen, called; of a predicate that differs between lanes, both."""
    if isinstance(pred, Tensor) and hidden_from(pred):
        return _selected(pred, true_fn(*operands), false_fn(*operands))
    return (true_fn if pred else false_fn)(*operands)


def _selected(pred: Tensor, first: Any, second: Any) -> Any:
    """Two results of one structure, lane by lane one or the other."""
    found, structure = tree_flatten(first)
    others = tree_leaves(second)
    if tree_flatten(second)[1] != structure:
        raise RuntimeError(f"Unmatched output spec from torch.cond branches: {structure} vs {tree_flatten(second)[1]}.")
    check_alike(found, others, "true_fn_output", "false_fn_output")
    condition = pred.reshape(()).to(boolean)
    return tree_unflatten([ops.where(condition, a, b) for a, b in zip(found, others, strict=True)], structure)


def cond(
    pred: bool | int | float | Tensor,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    operands: tuple[Any, ...] | list[Any] = (),
) -> Any:
    """What ``true_fn(*operands)`` returns where `pred` is true, else what ``false_fn(*operands)`` returns.

    Nothing is traced: only the function that is chosen is called, with its gradients, and whether the other would
    return the same structure, shapes and dtypes is not looked at. Under ``vmap``, a predicate that differs between
    lanes has both called.

    Raises
    ------
    RuntimeError
        For a predicate that is neither a number nor a tensor with one element; beside a tensor, for what is no function
        and for operands that are no containers of tensors.
    """
    if isinstance(pred, (bool, int, float)):
        return (true_fn if pred else false_fn)(*operands)
    _check(pred, true_fn, false_fn, operands)
    return cond_op(pred, true_fn, false_fn, operands)


def _check(pred: Any, true_fn: Any, false_fn: Any, operands: Any) -> None:
    if not isinstance(pred, Tensor):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)) or not all(isinstance(leaf, Tensor) for leaf in tree_leaves(operands)):
        raise RuntimeError(
            "Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, but "
            f"got {operands}."
        )
