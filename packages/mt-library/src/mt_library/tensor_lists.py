"""``Function`` classes whose arguments and results may be lists of tensors."""

from __future__ import annotations

from typing import Any

from mt_core import Tensor
from mt_core.pytree import TreeSpec, tree_flatten, tree_unflatten

__all__ = ["supports_tensorlist"]


def supports_tensorlist(cls: Any) -> Any:
    """Let a ``Function`` take and return lists of tensors, and its backward be given and return lists of gradients.

    ``ctx.needs_input_grad`` has the structure of the arguments. ``forward`` and ``backward`` are reached through
    ``apply`` alone from now on.

    Raises
    ------
    NotImplementedError
        From ``forward`` and ``backward`` when they are called directly.
    """
    forward, backward, apply = cls.forward, cls.backward, cls.apply

    def flat_forward(ctx: Any, *args: Any) -> Any:
        call: Any = args[0] if args and isinstance(args[0], _Call) else None
        if call is None:
            raise NotImplementedError(
                "NYI: calling supports_tensorlist autograd.Function.forward directly. You should probably be calling "
                ".apply instead."
            )
        leaves = args[1:]
        ctx._arguments = call.arguments
        needed = ctx.needs_input_grad
        ctx.needs_input_grad = tuple(tree_unflatten(list(needed[1:]), call.arguments))
        results, call.results = tree_flatten(forward(ctx, *tree_unflatten(list(leaves), call.arguments)))
        ctx._results = call.results
        return tuple(results)

    def flat_backward(ctx: Any, *grads: Any) -> Any:
        if not hasattr(ctx, "_results"):
            raise NotImplementedError(
                "NYI: calling supports_tensorlist autograd.Function.backward directly. This will automatically get "
                "called by PyTorch autograd."
            )
        grad = tree_unflatten(list(grads), ctx._results)
        given = backward(ctx, *grad) if isinstance(grad, tuple) else backward(ctx, grad)
        return None, *_in_order(given, ctx._arguments)

    def flat_apply(*args: Any) -> Any:
        leaves, structure = tree_flatten(args)
        call = _Call(structure)
        results = apply(call, *leaves)
        return tree_unflatten(list(results), call.results)

    cls.forward, cls.backward, cls.apply = staticmethod(flat_forward), staticmethod(flat_backward), flat_apply
    return cls


class _Call:
    """The structures of the arguments and results of one call."""

    def __init__(self, arguments: TreeSpec) -> None:
        self.arguments = arguments
        self.results: Any = None


def _in_order(given: Any, arguments: TreeSpec) -> list[Any]:
    """Gradients for the leaves of the arguments.

    Raises
    ------
    RuntimeError
        Where they have another structure than the arguments.
    """
    given = given if isinstance(given, tuple) else (given,)
    shape = tree_unflatten([0] * arguments.num_leaves, arguments)
    return [leaf for grad, of in zip(given, shape, strict=True) for leaf in _leaves_of(grad, of, given)]


def _leaves_of(grad: Any, of: Any, given: Any) -> list[Any]:
    if not isinstance(of, (list, tuple)):
        return [grad]
    if grad is None:
        return [None] * len(of)
    if isinstance(grad, (list, tuple)) and len(grad) == len(of):
        return [item if isinstance(item, Tensor) else None for item in grad]
    raise RuntimeError(
        "Expected the return from backward to be of the same structure as the inputs. Got: "
        f"{tree_flatten(given)[1]} (return from backward), a list of {len(of)} (inputs)"
    )
