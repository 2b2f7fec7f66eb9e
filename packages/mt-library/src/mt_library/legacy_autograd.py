"""The backward of operators of `legacy_ops`: a dict of gradients, made of what another function saved."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from mt_core import Tensor
from mt_core.pytree import tree_flatten, tree_unflatten
from mt_core.tensor_types import tensors_in

from .autograd import autograd_kernel
from .registrations import Operator

__all__ = ["legacy_autograd_kernel"]


def legacy_autograd_kernel(
    operator: Operator, shown: str, save: Callable[..., Any], backward: Callable[..., Any], location: str,
    differentiable: list[bool] | None,
) -> Callable[..., Any]:  # fmt: skip
    """A kernel for the key Autograd.

    Parameters
    ----------
    shown, location
        What messages call the operator, and where its backward was registered.
    save
        ``save(inputs, output)`` returns what the backward is to have; `inputs` is a named tuple.
    backward
        ``backward(ctx, saved, *grads)`` returns a dict of the gradients of the arguments that may be tensors.
    differentiable
        Of each result, whether a gradient passes it; None for all.
    """
    arguments = operator.overload.schema.arguments
    name = operator.overload.packet_name.partition("::")[2]
    named: Any = collections.namedtuple(f"{name}_args", [argument.name for argument in arguments])  # type: ignore[misc]

    def set_context(ctx: Any, inputs: Any, output: Any, keyword_only_inputs: Any = None) -> None:
        given = named(*inputs, *(keyword_only_inputs or {}).values())
        _mark(ctx, output, differentiable)
        leaves, ctx._saved_structure = tree_flatten(save(given, output))
        ctx._tensors_at = [isinstance(leaf, Tensor) for leaf in leaves]
        ctx._plain_leaves = [leaf for leaf in leaves if not isinstance(leaf, Tensor)]
        ctx.save_for_backward(*(leaf for leaf in leaves if isinstance(leaf, Tensor)))
        ctx._kinds = list(map(_described, given))

    def run_backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        tensors, others = iter(ctx.saved_tensors), iter(ctx._plain_leaves)
        leaves = [next(tensors) if is_tensor else next(others) for is_tensor in ctx._tensors_at]
        saved = tree_unflatten(leaves, ctx._saved_structure)
        where = f"In the backward function defined for {shown} at {location} using the CustomOp API, "
        return _Checked(where, arguments, ctx._kinds).in_order(backward(object(), saved, *grads))

    return autograd_kernel(operator, run_backward, set_context, name=f"{name}_customop")


def _described(value: Any) -> Any:
    """What is kept of an argument: whether it is a tensor, or how many are in it."""
    if isinstance(value, (list, tuple)):
        return len(value)
    return type(value)


def _mark(ctx: Any, output: Any, differentiable: list[bool] | None) -> None:
    """Tell the node which results no gradient passes.

    Raises
    ------
    RuntimeError
        Where one that a gradient is to pass is no tensor.
    """
    if differentiable is None:
        return
    passed_by: list[Tensor] = []
    outputs: tuple[Any, ...] = output if isinstance(output, tuple) else (output,)
    value: Any
    for index, (value, passes) in enumerate(zip(outputs, differentiable)):
        if not passes:
            passed_by += tensors_in((value,))
        elif not isinstance(value, (Tensor, list)):
            raise RuntimeError(
                f"With output_differentiability={differentiable}. At idx {index}, we received an object of type "
                f"{type(value)} that is not a Tensor, so it cannot have be marked as differentiable in "
                "output_differentiability."
            )
    ctx.mark_non_differentiable(*passed_by)


class _Checked:
    """Holds what a backward returned to what the operator was given."""

    def __init__(self, where: str, arguments: list[Any], given: list[Any]) -> None:
        self.where = where
        self.arguments = arguments
        self.given = given

    def in_order(self, grads: Any) -> tuple[Any, ...]:
        """The gradients in the order of the positional arguments.

        Raises
        ------
        RuntimeError
            Where they are no such gradients.
        """
        if not isinstance(grads, dict):
            raise self._error(f"expected the output of the backward function to be a dict but got {type(grads)}")
        expected = {argument.name for argument in self.arguments if argument.is_tensor}
        if grads.keys() != expected:
            shown = "{" + ", ".join(repr(a.name) for a in self.arguments if a.is_tensor) + "}"
            raise self._error(
                f"expected the returned grad_input dict to have keys {shown} but got {grads.keys()}. The backward "
                "function must return a gradient (can be None) for each arg to the CustomOp that may be a Tensor or "
                "Sequence[Tensor]. Args declared to be non-Tensor-like types should not appear in the grad_input dict"
            )
        positional = [(a, given) for a, given in zip(self.arguments, self.given) if not a.kwarg_only]
        return tuple(self._of(a.name, grads[a.name], given) if a.is_tensor else None for a, given in positional)

    def _error(self, what: str) -> RuntimeError:
        return RuntimeError(self.where + what)

    def _of(self, name: str, grad: Any, given: Any) -> Any:
        if isinstance(given, int):
            return self._of_list(name, grad, given)
        if grad is None:
            return None
        if not isinstance(grad, Tensor):
            raise self._error(
                f"got object of type {type(grad)} as the gradient for input '{name}', but expected the gradient to be "
                "either None or a Tensor"
            )
        if not issubclass(given, Tensor):
            raise self._error(
                f"got a Tensor as the gradient for input '{name}' but expected None as the gradient because input "
                f"'{name}' was not a Tensor (it was type {given})."
            )
        return grad

    def _of_list(self, name: str, grad: Any, count: int) -> list[Any]:
        if not isinstance(grad, (list, tuple)):
            raise self._error(
                f"for input '{name}' expected the grad_input dict to hold a list of gradients but got object of type "
                f"{type(grad)}."
            )
        if len(grad) != count:
            raise self._error(
                f"for input '{name}' expected the grad_input dict to hold a list of {count} gradients but got "
                f"{len(grad)}"
            )
        for index, item in enumerate(grad):
            if item is not None and not isinstance(item, Tensor):
                raise self._error(
                    f"for input '{name}' expected the grad_input dict to hold a list of None or Tensor gradients but "
                    f"got object of {type(item)} at index {index}"
                )
        return list(grad)
