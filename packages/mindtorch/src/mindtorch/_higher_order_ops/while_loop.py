"""``while_loop``: a function of its own results, as long as another is true of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mt_core import Tensor
from mt_core.pytree import tree_flatten, tree_leaves, tree_unflatten
from mt_library.higher_order import HigherOrderOperator

from ._leaves import check_alike

__all__ = ["WhileLoopOp", "while_loop", "while_loop_op"]


class WhileLoopOp(HigherOrderOperator):
    """``while_loop(cond_fn, body_fn, carried_inputs, additional_inputs)``, on flat tuples."""

    def __init__(self) -> None:
        super().__init__("while_loop")

    def __call__(self, cond_fn: Any, body_fn: Any, carried_inputs: Any, additional_inputs: Any = ()) -> Any:
        if not isinstance(carried_inputs, (tuple, list)):
            raise RuntimeError(f"carried_inputs must be a tuple or list, got {type(carried_inputs)}")
        return super().__call__(cond_fn, body_fn, carried_inputs, additional_inputs)


while_loop_op = WhileLoopOp()


@while_loop_op.py_impl("CompositeImplicitAutograd")
def _run(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried: Any, additional: Any) -> Any:
    carried = tuple(carried)
    while _is_true(cond_fn(*carried, *additional)):
        found = body_fn(*carried, *additional)
        if not isinstance(found, tuple):
            raise RuntimeError(f"body_fn should return a tuple but got {type(found)}")
        check_alike(found, carried, "body_fn_output", "carried_inputs")
        carried = found
    return carried


def _is_true(pred: Any) -> bool:
    if isinstance(pred, Tensor) and pred.numel() != 1 or not isinstance(pred, (Tensor, bool)):
        raise RuntimeError(f"cond_fn must return a boolean scalar tensor or a boolean but got {pred}")
    return bool(pred)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> Any:
    """``val = body_fn(*val)`` while ``cond_fn(*val)``, from `carried_inputs` on.

    Parameters
    ----------
    cond_fn
        Gives a bool or a tensor with one element.
    body_fn
        Gives a tuple of the structure, shapes and dtypes of what it is given.
    carried_inputs : tuple
        Containers of tensors and integers.

    Raises
    ------
    RuntimeError, AssertionError
        For anything else.
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    flat, structure = tree_flatten(carried_inputs)
    if not all(isinstance(leaf, (Tensor, int)) for leaf in flat):
        kinds = tuple(type(leaf) for leaf in flat)
        allowed = "(<class 'torch.Tensor'>, <class 'int'>, <class 'torch.SymInt'>)"
        raise AssertionError(f"{flat} can only be of {allowed} but got {kinds}")

    def flat_cond(*leaves: Any) -> Any:
        return cond_fn(*tree_unflatten(list(leaves), structure))

    def flat_body(*leaves: Any) -> Any:
        return tuple(tree_leaves(body_fn(*tree_unflatten(list(leaves), structure))))

    return tree_unflatten(list(while_loop_op(flat_cond, flat_body, tuple(flat), ())), structure)
