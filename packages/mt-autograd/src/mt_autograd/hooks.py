"""Running what users hang on tensors and nodes, and checking what it returns."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from weakref import ref

from mt_core.autograd_state import no_grad
from mt_core.formats import contiguous_format
from mt_core.hooks import RemovableHandle
from mt_core.tensor import Tensor

from .hook_answers import checked, name_of
from .node import AccumulateGrad, Node, accumulator_of

__all__ = [
    "node_of",
    "register_post_accumulate_grad_hook",
    "register_tensor_hook",
    "retain_grad",
    "run_post_hooks",
    "run_pre_hooks",
    "run_tensor_hooks",
]


def node_of(tensor: Tensor) -> tuple[Node, int]:
    """The node that a tensor's gradient arrives at, and as which of its outputs; for a leaf its `AccumulateGrad`."""
    grad_fn = tensor.grad_fn
    return (accumulator_of(tensor), 0) if grad_fn is None else (grad_fn, tensor._autograd.output_nr)  # type: ignore[union-attr]


# Registration


def register_tensor_hook(tensor: Tensor, hook: Callable[..., Any]) -> RemovableHandle:
    """``Tensor.register_hook`` for a tensor that requires grad."""
    node, output_nr = node_of(tensor)
    registry = node.tensor_hooks(output_nr)
    handle = RemovableHandle(registry)
    registry[handle.id] = hook
    return handle


def register_post_accumulate_grad_hook(leaf: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """``Tensor.register_post_accumulate_grad_hook`` for a leaf that requires grad."""
    state = leaf._autograd
    if state.post_accumulate_grad_hooks is None:  # type: ignore[union-attr]
        state.post_accumulate_grad_hooks = OrderedDict()  # type: ignore[union-attr]
    registry = state.post_accumulate_grad_hooks  # type: ignore[union-attr]
    handle = RemovableHandle(registry)
    registry[handle.id] = hook
    return handle


def retain_grad(tensor: Tensor) -> None:
    """``Tensor.retain_grad`` for a tensor that requires grad and is no leaf."""
    state = tensor._autograd
    if not state.retains_grad:  # type: ignore[union-attr]
        node, output_nr = node_of(tensor)
        node._own_hooks().retains[output_nr] = ref(tensor)
        state.retains_grad = True  # type: ignore[union-attr]


# Running


def run_tensor_hooks(node: Node, grads: Sequence[Any]) -> list[Any]:
    """The arriving gradients after the hooks of the tensors that the node made; retained ones are kept."""
    grads = list(grads)
    if isinstance(node, AccumulateGrad):
        registry = node.variable._autograd.hooks
        if registry:
            grads[0] = _replaced(registry.values(), grads[0])
        return grads
    hooks = node._hooks
    if hooks is not None:
        for output_nr, registry in hooks.tensor.items():
            grads[output_nr] = _replaced(registry.values(), grads[output_nr])
        for output_nr, reference in hooks.retains.items():
            tensor = reference()
            if tensor is not None and grads[output_nr] is not None:
                _retain(tensor, grads[output_nr])
    return grads


def _replaced(hooks: Iterable[Callable[..., Any]], grad: Any) -> Any:
    for hook in list(hooks):
        result = hook(grad)
        if result is not None:
            grad = checked(result, grad, hook)
    return grad


def _retain(tensor: Tensor, grad: Tensor) -> None:
    state = tensor._autograd
    present = state.grad  # type: ignore[union-attr]
    with no_grad() if not grad.requires_grad else _nothing:
        state.grad = grad.clone(memory_format=contiguous_format) if present is None else present + grad  # type: ignore[union-attr]


class _Nothing:
    def __enter__(self) -> None:
        """Leave grad mode as it is."""

    def __exit__(self, *exc_info: object) -> None:
        """Nothing was changed."""


_nothing = _Nothing()


def run_pre_hooks(node: Node, grads: list[Any]) -> list[Any]:
    """The arriving gradients after the node's own pre-hooks."""
    for hook in list(node._hooks.pre.values()) if node._hooks is not None else ():
        result = hook(tuple(grads))
        if result is not None:
            grads = _checked_all(result, grads, hook)
    return grads


def run_post_hooks(node: Node, results: Sequence[Any], grads: Sequence[Any]) -> Sequence[Any]:
    """The node's results after its hooks, which also see what had arrived."""
    for hook in list(node._hooks.post.values()) if node._hooks is not None else ():
        replaced = hook(tuple(results), tuple(grads))
        if replaced is not None:
            results = _checked_all(replaced, results, hook)
    return results


def _checked_all(values: Any, present: Sequence[Any], hook: Callable[..., Any]) -> list[Any]:
    if not isinstance(values, tuple):
        values = (values,)
    if len(values) != len(present):
        raise RuntimeError(
            f"hook '{name_of(hook)}' has returned an incorrect number of values (got {len(values)}, but expected "
            f"{len(present)})"
        )
    return [
        value if value is None or old is None else checked(value, old, hook)
        for value, old in zip(values, present, strict=True)
    ]
