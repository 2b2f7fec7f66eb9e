"""``opcheck``'s last check: an operator gives the same when its forward and backward are graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mt_autograd.api import grad
from mt_core import Tensor, pytree
from mt_core.random import fork_rng

from ...testing import assert_close
from ..aot_autograd import aot_function
from ..compilers import nop

__all__ = ["aot_autograd_check"]


def aot_autograd_check(
    function: Callable[..., Any], args: Sequence[Any], atol: float | None = None, rtol: float | None = None, *,
    dynamic: bool = False,
) -> None:  # fmt: skip
    """Compare what a function gives with what it gives compiled: results, gradients, and what it writes to.

    Random numbers begin at the same place in both. With `dynamic`, the sizes of arguments are symbols in the graphs.

    Raises
    ------
    AssertionError
        Where they differ.
    """
    expected = _outcome(function, args)
    found = _outcome(aot_function(function, nop, dynamic=dynamic), args)
    for what, one, other in zip(("outputs", "inputs after the call", "gradients"), found, expected, strict=True):
        _compare(what, one, other, atol, rtol)


def _outcome(function: Callable[..., Any], args: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """The tensors that a function gives, those that it was given, and the gradients."""
    with fork_rng():
        leaves, structure = pytree.tree_flatten(tuple(args))
        given = [_copied(leaf) for leaf in leaves]
        inputs = [_with_history(leaf) for leaf in given]
        outputs = pytree.tree_leaves(function(*pytree.tree_unflatten(inputs, structure)))
        roots = [t for t in (*outputs, *inputs) if isinstance(t, Tensor) and t.requires_grad and t.grad_fn is not None]
        wanted = [t for t in given if isinstance(t, Tensor) and t.requires_grad]
        cotangents = [t.detach().clone() for t in roots]
        grads: Any = grad(roots, wanted, cotangents, allow_unused=True) if roots and wanted else []
    return outputs, inputs, list(grads)


def _copied(value: Any) -> Any:
    return value.detach().clone().requires_grad_(value.requires_grad) if isinstance(value, Tensor) else value


def _with_history(value: Any) -> Any:
    """A tensor that may be written to although it requires grad."""
    return value.clone() if isinstance(value, Tensor) and value.requires_grad else value


def _compare(what: str, found: Sequence[Any], expected: Sequence[Any], atol: float | None, rtol: float | None) -> None:
    if len(found) != len(expected):
        raise AssertionError(f"{len(found)} {what} from the compiled operator, but {len(expected)} from the operator")
    for one, other in zip(found, expected, strict=True):
        if isinstance(one, Tensor) and isinstance(other, Tensor):
            assert_close(one, other, atol=atol, rtol=rtol, equal_nan=True, msg=lambda m: f"the {what} differ: {m}")
            if one.requires_grad != other.requires_grad:
                raise AssertionError(f"of the {what}, only one requires grad: compiled {one.requires_grad}")
        elif type(one) is not type(other) or not isinstance(one, Tensor) and one != other:
            raise AssertionError(f"the {what} differ: {one} compiled, {other} otherwise")
