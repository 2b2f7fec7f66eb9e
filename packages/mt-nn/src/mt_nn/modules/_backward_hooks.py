"""Backward hooks of modules: seeing the gradients that enter and leave a module's `forward`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import mt_core as mt
from mt_autograd import Function
from mt_core import Tensor


class BackwardHookFunction(Function):  # type: ignore[misc]
    """The identity on a group of tensors, recorded as one node, so that their gradients are seen together."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.mark_non_differentiable(*[tensor for tensor in tensors if not tensor.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        return grads


def _spread(positions: Sequence[int], values: Sequence[Any], length: int) -> tuple[Any, ...]:
    """Values at their positions in a tuple of `length`, `None` elsewhere."""
    spread: list[Any] = [None] * length
    for position, value in zip(positions, values, strict=True):
        spread[position] = value
    return tuple(spread)


def _through_one_node(values: tuple) -> tuple[tuple, Any, list[int]]:
    """(values with their tensors passed through one identity node, that node, positions of the tensors)."""
    positions = [position for position, value in enumerate(values) if isinstance(value, Tensor)]
    tensors = [values[position] for position in positions]
    if not (mt.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)):
        return values, None, positions
    passed = BackwardHookFunction.apply(*tensors)
    node = next(tensor.grad_fn for tensor in passed if tensor.grad_fn is not None)
    replaced = list(values)
    for position, tensor in zip(positions, passed, strict=True):
        replaced[position] = tensor
    rebuilt = tuple(replaced) if type(values) is tuple else type(values)(*replaced)
    return rebuilt, node, positions


class BackwardHook:
    """Runs a module's full backward hooks for one call of the module.

    Parameters
    ----------
    module
        What the hooks are given as their first argument.
    user_hooks
        Called with (module, grad_input, grad_output).
    user_pre_hooks
        Called with (module, grad_output) beforehand.
    """

    def __init__(self, module: Any, user_hooks: Sequence[Callable], user_pre_hooks: Sequence[Callable]) -> None:
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.grad_outputs: tuple | None = None
        self._inputs_have_node = False
        self._input_positions: list[int] = []
        self._output_positions: list[int] = []
        self._input_count = self._output_count = 0

    def setup_input_hook(self, args: tuple) -> tuple:
        """The positional inputs, so rebuilt that their gradients come by this object."""
        args, node, self._input_positions = _through_one_node(args)
        self._input_count = len(args)
        if node is not None:
            self._inputs_have_node = True
            node.register_hook(self._on_grad_inputs)
        return args

    def setup_output_hook(self, result: Any) -> Any:
        """The output (a tensor or a tuple), so rebuilt that its gradients come by this object."""
        outputs = result if isinstance(result, tuple) else (result,)
        outputs, node, self._output_positions = _through_one_node(outputs)
        self._output_count = len(outputs)
        if node is not None:
            node.register_prehook(self._on_grad_outputs)
        return outputs if isinstance(result, tuple) else outputs[0]

    def _on_grad_outputs(self, grads: tuple) -> tuple:
        grad_outputs = _spread(self._output_positions, grads, self._output_count)
        for hook in self.user_pre_hooks:
            grad_outputs = self._replaced(hook(self.module, grad_outputs), grad_outputs, "pre hook", "grad_output")
        self.grad_outputs = grad_outputs
        if not self._inputs_have_node:
            self._run_without_grad_inputs()
        return tuple(grad_outputs[position] for position in self._output_positions)

    def _on_grad_inputs(self, grads: tuple, _: tuple) -> tuple | None:
        if self.grad_outputs is None:  # the gradient reached the inputs by a way around the outputs
            return None
        grad_inputs = _spread(self._input_positions, grads, self._input_count)
        for hook in self.user_hooks:
            grad_inputs = self._replaced(
                hook(self.module, grad_inputs, self.grad_outputs), grad_inputs, "hook", "grad_input"
            )
        self.grad_outputs = None
        return tuple(grad_inputs[position] for position in self._input_positions)

    @staticmethod
    def _replaced(returned: Any, grads: tuple, kind: str, which: str) -> tuple:
        if returned is None:
            return grads
        if len(returned) != len(grads):
            raise RuntimeError(
                f"Backward {kind} returned an invalid number of {which}, got {len(returned)}, but expected {len(grads)}"
            )
        return returned

    def _run_without_grad_inputs(self) -> None:
        """No input requires a gradient: the hooks run as soon as those of the outputs are known."""
        if self.user_hooks:
            warnings.warn(
                "Full backward hook is firing when gradients are computed with respect to module outputs since no "
                "inputs require gradients. See "
                "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
                "#torch.nn.Module.register_full_backward_hook "
                "for more details.",
                stacklevel=5,
            )
        nothing = (None,) * self._input_count
        for hook in self.user_hooks:
            returned = hook(self.module, nothing, self.grad_outputs)
            if returned is not None and not (isinstance(returned, tuple) and all(grad is None for grad in returned)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for "
                    "all gradients."
                )
        self.grad_outputs = None


def attach_legacy_backward_hooks(module: Any, hooks: Sequence[Callable], args: tuple, result: Any) -> None:
    """Register regular (not full) backward hooks on the node of the first tensor of a result."""
    output = result
    while not isinstance(output, Tensor):
        output = next(iter(_values(output)))
    node = output.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(lambda grad_input, grad_output, hook=hook: hook(module, grad_input, grad_output))
    _warn_of_missing_gradients(args, result, node)


def _values(nested: Any) -> Iterator[Any]:
    """The entries of a dict's tensors, or of a sequence, in which the first tensor is looked for."""
    if isinstance(nested, dict):
        return (value for value in nested.values() if isinstance(value, Tensor))
    return iter(nested)


_LEGACY = (
    "Using a non-full backward hook when {reason}. This hook will be missing some grad_{which}. Please use "
    "register_full_backward_hook to get the documented behavior."
)


def _warn_of_missing_gradients(args: tuple, result: Any, node: Any) -> None:
    """Say once why a regular hook on one node does not see all gradients of a module."""
    message = _why_gradients_are_missing(args, result, node)
    if message is not None:
        warnings.warn(message, FutureWarning, stacklevel=6)


def _why_gradients_are_missing(args: tuple, result: Any, node: Any) -> str | None:
    outputs = (result,) if isinstance(result, Tensor) else result
    inputs = (args,) if isinstance(args, Tensor) else args
    if not (isinstance(outputs, tuple) and all(isinstance(output, Tensor) for output in outputs)):
        return (
            "Using non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors is "
            "deprecated and will be removed in future versions. This hook will be missing some of the grad_output. "
            "Please use register_full_backward_hook to get the documented behavior."
        )
    if not (isinstance(inputs, tuple) and all(isinstance(value, Tensor) for value in inputs)):
        return (
            "Using non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of "
            "Tensors is deprecated and will be removed in future versions. This hook will be missing some of the "
            "grad_input. Please use register_full_backward_hook to get the documented behavior."
        )
    output_nodes = {output.grad_fn for output in outputs if output.grad_fn is not None}
    if len(output_nodes) > 1 or (output_nodes and node not in output_nodes):
        reason = (
            "outputs are generated by different autograd Nodes is deprecated and will be removed in future versions"
        )
        return _LEGACY.format(reason=reason, which="output")
    input_nodes = {value.grad_fn for value in inputs if value.grad_fn is not None}
    if input_nodes != {following[0] for following in node.next_functions}:
        reason = "the forward contains multiple autograd Nodes is deprecated and will be removed in future versions"
        return _LEGACY.format(reason=reason, which="input")
    return None
