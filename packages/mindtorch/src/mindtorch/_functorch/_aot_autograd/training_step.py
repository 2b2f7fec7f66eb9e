"""Functions that differentiate themselves: a step of training, with its ``backward`` and the optimizer's update.

The gradients that leaves have before such a function are arguments of its graph, and those that they have afterwards
are results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mt_autograd.api import backward, grad
from mt_core import Tensor

from ...fx.graph_module import GraphModule
from .runtime import NoGradient, Runtime, spent

__all__ = ["TrainingStep", "differentiates"]


def differentiates(module: Any) -> bool:
    """Whether a graph of calls computes gradients itself."""
    if not isinstance(module, GraphModule):
        return False
    nodes = module.graph.nodes
    return any(
        node.target == "backward" if node.op == "call_method" else node.target in (Tensor.backward, backward, grad)
        for node in nodes
        if node.op in ("call_method", "call_function")
    )


class TrainingStep:
    """Carries out calls of a function of flat arguments that differentiates by some of them.

    It is compiled for each set of leaves that have a gradient when it is called.

    Parameters
    ----------
    compile
        Makes of a function, arguments and which of these it differentiates by what carries out calls of it.
    """

    def __init__(
        self, function: Callable[..., Sequence[Any]], args: Sequence[Any],
        compile: Callable[[Callable[..., Sequence[Any]], Sequence[Any], list[bool]], Runtime],
    ) -> None:  # fmt: skip
        self._function, self._compile = function, compile
        self._requires_grad = [isinstance(value, Tensor) and value.requires_grad for value in args]
        self._leaves = [place for place, counts in enumerate(self._requires_grad) if counts]
        if any(not args[place].is_leaf for place in self._leaves):
            raise NotImplementedError("aot_autograd: a function that differentiates by what has a history")
        self._made: dict[tuple[int, ...], tuple[_Step, Runtime]] = {}
        self._step_for(args)

    def __call__(self, flat: Sequence[Any]) -> list[Any]:
        """The leaves of what the function returns."""
        step, run = self._step_for(flat)
        found = run([*flat, *(flat[place].grad for place in step.with_grad)])
        count = len(found) - len(self._leaves)
        for place, gradient in zip(self._leaves, found[count:], strict=True):
            if flat[place].grad is not gradient:
                flat[place].grad = gradient
        return [spent(value) if place in step.spent else value for place, value in enumerate(found[:count])]

    def _step_for(self, flat: Sequence[Any]) -> tuple[_Step, Runtime]:
        with_grad = tuple([place for place in self._leaves if flat[place].grad is not None])
        if with_grad not in self._made:
            step = _Step(self._function, len(flat), self._leaves, with_grad)
            gradients = [flat[place].grad for place in with_grad]
            if any(gradient.requires_grad for gradient in gradients):
                raise NotImplementedError("aot_autograd: gradients that have a history themselves")
            requires_grad = [*self._requires_grad, *(False for _ in gradients)]
            self._made[with_grad] = step, self._compile(step, [*flat, *gradients], requires_grad)
        return self._made[with_grad]


class _Step:
    """The function, of its arguments and gradients of some; it gives all gradients besides.

    Attributes
    ----------
    spent
        Which results have a history that was gone through already.
    """

    def __init__(
        self, function: Callable[..., Sequence[Any]], count: int, leaves: list[int], with_grad: tuple[int, ...]
    ) -> None:
        self._function, self._count, self._leaves, self.with_grad = function, count, leaves, with_grad
        self.spent: set[int] = set()

    def __call__(self, *flat: Any) -> list[Any]:
        for place, gradient in zip(self.with_grad, flat[self._count :], strict=True):
            flat[place].grad = gradient
        leaves = [flat[place] for place in self._leaves]
        outputs = list(self._function(*flat[: self._count]))
        gradients = [leaf.grad for leaf in leaves]
        for place, value in enumerate(outputs):
            if isinstance(value, Tensor) and value.requires_grad and not value.is_leaf:
                outputs[place] = self._without_history(place, value, leaves)
        return [*outputs, *gradients]

    def _without_history(self, place: int, value: Tensor, leaves: list[Tensor]) -> Tensor:
        """A result of which the gradient was asked for already; the history of another would be lost."""
        try:
            grad([value.sum()], leaves, retain_graph=True, allow_unused=True)
        except RuntimeError as error:
            if "backward through the graph a second time" not in str(error):
                raise NoGradient(*error.args) from error
            self.spent.add(place)
            return value.detach()
        raise NotImplementedError(
            "aot_autograd: a function that differentiates and returns what can still be differentiated is not supported"
        )
